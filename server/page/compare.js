/*
 * compare.js - "unlocked, then locked": the same buyers at a sale without a lock and at one with, of an
 * item that nobody else sells. The verdict counts both: what buyers were told, and what the service
 * has on its books (GET /stock).
 */
import { learn, setBusy, token } from './admin.js';
import { figure } from './numbers.js';
import { stockChart, stockKeys } from './charts.js';
import { byId, room, say } from './dom.js';
import { crowd, randomId, startSale, stock } from './service.js';
import { legend } from './svg.js';
import { add } from './tables.js';
import { summary } from './try.js';

/* Five connections do not always meet in the gap between reading and writing. */
const TRIES = 3;
const SPEAK_MS = 1000; /* no more often is it said how far it is */

class NotStarted extends Error {}

/* A sale and its crowd, as the chart wants it: {strategy, stock, sold, oversold, stock_curve, told, books}. */
async function held(item, strategy, plan, step) {
  const sale = await startSale({ item, stock: plan.stock, strategy, hold_ms: plan.hold }, token());
  learn(sale.code);
  if (!sale.sale) throw new NotStarted(`${strategy} could not be started (${sale.code}): ${sale.detail}.`);
  const began = performance.now(), run = { strategy, stock: plan.stock, sold: 0, oversold: 0, lost_updates: 0, stock_curve: [] };
  let remaining = plan.stock, answers = 0, spoken = began;
  run.told = await crowd(item, sale.sale, plan.buyers, bought => {
    answers++;
    if (bought.outcome === 'sold') {
      run.sold++;
      remaining = Math.min(remaining, bought.remaining);
      run.stock_curve.push({ t_s: (performance.now() - began) / 1000, units: run.sold, remaining });
    }
    if (performance.now() - spoken < SPEAK_MS) return;
    spoken = performance.now();
    step(`${strategy}: ${figure(answers)} of ${figure(plan.buyers)} buyers have an answer…`);
  });
  const books = await stock(item);
  run.books = books && books.sale === sale.sale ? books : null;
  run.sold = run.told.sold || 0;
  run.oversold = Math.max(0, run.sold - plan.stock, run.books ? run.books.oversold : 0);
  run.lost_updates = run.books ? run.books.lost_updates : 0;
  return run;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

function onBooks({ books }) {
  return books ? `the orders hold ${figure(books.units)} units` : 'the orders could not be read';
}

function isCertain({ told, books }) {
  return books !== null && !told.unknown;
}

/* What is wrong with it for certain; '' = nothing that is known. */
function fault({ oversold, lost_updates: missing, told, sold, books }) {
  if (oversold > 0) return `OVERSOLD by ${figure(oversold)}`;
  if (missing > 0) return `${figure(missing)} sales are missing from the stock`;
  if (books && sold > books.units) return `${figure(sold - books.units)} units that were told as sold are in no order`;
  const refused = Object.values(told).reduce((sum, number) => sum + number, 0) - sold - (told.unknown || 0);
  return books && books.remaining > 0 && refused > 0 ? `${figure(books.remaining)} units are left, though ${figure(refused)} buyers were refused` : '';
}

function sentence(run) {
  const { told, sold } = run, unknown = told.unknown || 0;
  const verdict = fault(run) || (isCertain(run) ? 'nothing oversold' : 'not certain');
  return `${run.strategy}: ${verdict}. Of ${figure(run.stock)} units, ${figure(sold)} were told as sold; ${onBooks(run)}${unknown ? `; ${figure(unknown)} buyers do not know` : ''}.`;
}

/* A sale that was tried until it failed is not told as if it had failed at once. */
function onTries(unlocked, tries) {
  if (unlocked.oversold === 0)
    return !isCertain(unlocked) ? '' : `\nWithout a lock nothing was oversold in ${tries} sales, by luck. Press again, or send more buyers.`;
  return tries > 1 ? `\nThis is sale ${tries} without a lock. The ${tries - 1} before it oversold nothing, by luck.` : '';
}

/* For those who read it by a program: 0 only where it is certain. */
function oversoldOf(run) {
  return run.oversold > 0 || isCertain(run) ? run.oversold : 'unknown';
}

function verdict(unlocked, locked, tries) {
  const place = say('verdict', `${sentence(unlocked)}\n${sentence(locked)}${onTries(unlocked, tries)}`);
  place.dataset.oversoldUnlocked = oversoldOf(unlocked);
  place.dataset.oversoldLocked = oversoldOf(locked);
  place.classList.toggle('bad', fault(locked) !== '');
}

/* ---- the page -------------------------------------------------------------------------------- */

const NAMES = { unlocked: 'Without a lock', locked: 'With a lock' };
const AHEAD = { unlocked: 'Buyers are on their way.', locked: 'Comes next.' };
const curves = {};

function draw(which) {
  const run = curves[which], place = byId(which + '-curve');
  if (!run) return;
  place.replaceChildren();
  stockChart(place, run, { height: room(place.id), least: 150 });
}

function result(which, run) {
  const oversold = oversoldOf(run), safe = oversold === 0;
  curves[which] = run;
  say(which + '-title', `${NAMES[which]} (${run.strategy})`);
  say(which + '-oversold', Number.isFinite(oversold) ? figure(oversold) : '?').className = safe ? 'good' : 'bad';
  say(which + '-told', summary(run.told));
  draw(which);
}

/* Nothing of a run before is left beside what is under way. */
function clear(which) {
  delete curves[which];
  say(which + '-title', NAMES[which]);
  say(which + '-oversold', '–').className = '';
  say(which + '-told', '');
  byId(which + '-curve').replaceChildren();
  add(byId(which + '-curve'), 'p', AHEAD[which], 'soft');
}

async function compare() {
  const plan = { stock: byId('compare-stock').valueAsNumber, buyers: byId('compare-buyers').valueAsNumber, hold: byId('compare-hold').valueAsNumber };
  const item = 'TRY-' + randomId(4), place = byId('verdict'), step = words => say('verdict', words);
  let tries = 1;
  delete place.dataset.oversoldUnlocked;
  delete place.dataset.oversoldLocked;
  place.classList.remove('bad');
  Object.keys(NAMES).forEach(clear);
  step('Selling without a lock…');
  let unlocked = await held(item, 'none', plan, step);
  for (; unlocked.oversold === 0 && tries < TRIES; tries++) unlocked = await held(item, 'none', plan, step);
  result('unlocked', unlocked);
  const locked = await held(item, byId('compare-strategy').value, plan, step);
  result('locked', locked);
  verdict(unlocked, locked, tries);
}

export function setUpComparison() {
  legend(byId('curve-keys'), stockKeys(false));
  byId('compare-form').addEventListener('submit', async event => {
    event.preventDefault();
    setBusy('compare', true);
    try {
      await compare();
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      say('verdict', error.message);
    } finally {
      setBusy('compare', false);
      byId('compare').focus();
    }
  });
  addEventListener('resize', () => Object.keys(NAMES).forEach(draw));
}
