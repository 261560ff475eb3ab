/*
 * stale.js - the stale write, as it was recorded (stale.json): once where the holder's word is taken,
 * once where each write is checked by its fence. A run is shown whole, or step by step: three lanes, with who
 * holds the lock and who stands still as bars in them.
 */
import { figure } from './numbers.js';
import { add } from './tables.js';
import { byId, say } from './dom.js';

const STEP_MS = 1600;
let runs = [], run = null, next = 0, timer = null;

function drawState(step) {
  say('stale-lock', step && step.lock ? step.lock : 'nobody');
  say('stale-remaining', step ? step.remaining : run.stock);
  say('stale-orders', step ? step.orders : 0).classList.toggle('bad', step !== null && step.orders > run.stock);
}

/* Whether A stands still after this step. */
function isStill(number) {
  const before = run.steps.slice(0, number + 1).map(({ does }) => does);
  return before.includes('stop') && !before.includes('continue');
}

function drawStep(step, number) {
  const place = add(byId('stale-steps'), 'li');
  Object.assign(place.dataset, { who: step.who, does: step.does, lock: step.lock });
  if (isStill(number)) place.dataset.still = 'yes';
  if (step.orders > run.stock) place.dataset.bad = 'yes';
  add(place, 'b', step.does === 'continue' ? 'resume' : step.does, 'does');
  add(place, 'span', figure(step.at_ms), 'at');
  add(place, 'span', `${step.who}, at ${figure(step.at_ms)} ms: ${step.text}`, 'heard');
  place.title = step.text;
}

function drawEnd() {
  const safe = run.verdict === 'SAFE', orders = run.steps[run.steps.length - 1].orders;
  say('stale-verdict', safe ? `✓ ${run.verdict}: stale write refused` : `✗ ${run.verdict}: ${orders} orders, ${run.stock} unit`).className = safe ? 'good' : 'bad';
}

function pause() {
  clearInterval(timer);
  timer = null;
  say('stale-play', 'Play');
}

/* Nothing has happened yet. */
function reset() {
  pause();
  next = 0;
  byId('stale-steps').replaceChildren();
  say('stale-verdict', '–').className = '';
  say('stale-text', 'A and B want the same unit, for a buyer each.');
  drawState(null);
}

function show(number) {
  drawStep(run.steps[number], number);
  drawState(run.steps[number]);
  say('stale-text', `Step ${number + 1} of ${run.steps.length}, at ${figure(run.steps[number].at_ms)} ms: ${run.steps[number].text}`);
  if (number + 1 === run.steps.length) drawEnd();
}

/* From the end it starts anew. */
function step() {
  if (next >= run.steps.length) reset();
  show(next++);
  if (next >= run.steps.length) pause();
}

function play() {
  if (timer) return pause();
  step();
  say('stale-play', 'Pause');
  timer = setInterval(step, STEP_MS);
}

function choose() {
  run = runs[byId('stale-run').selectedIndex];
  reset();
  while (next < run.steps.length) show(next++);
}

export async function loadStale() {
  const reply = await fetch('/page/stale.json').catch(() => null);
  if (!reply || !reply.ok) return say('stale-text', 'The recorded runs could not be loaded.');
  const recorded = await reply.json();
  runs = recorded.runs;
  runs.forEach(({ guarded, strategy }) =>
    add(byId('stale-run'), 'option', `${guarded ? 'fence checked' : 'fence not checked'} (strategy ${strategy})`));
  say('stale-source', `Colour: holds the lock. Hatch: stands still. Recorded from real instances on ${recorded.recorded}, by ${recorded.by}.`);
  byId('stale-step').addEventListener('click', () => {
    pause();
    step();
  });
  byId('stale-play').addEventListener('click', play);
  byId('stale-reset').addEventListener('click', reset);
  byId('stale-run').addEventListener('change', choose);
  choose();
}
