/*
 * reserve.js - the visitor's own reservation: one unit, for a while. It is paid, it is cancelled, or its
 * time runs out. The time is the service's: the page calculates it from what each document says.
 */
import { byId, say, show } from './dom.js';
import { end, look } from './service.js';
import { buyOne, during, user } from './try.js';

const FOR_S = 60, TICK_MS = 250, ASK_AGAIN_MS = 1000;
const BUTTONS = { confirm: 'pay', cancel: 'cancel' }, LABELS = { pay: 'Pay', cancel: 'Cancel' };
let mine = null; /* the order that is open */
let longest_s = 0; /* of the sale that is shown; 0 = it has no reservations */
let ahead_ms = 0; /* how far the service's clock is before the page's: as by the document that was here soonest */

/* What is certain. All of these end it. */
const OVER = 'The reservation is over. The unit is for sale again.';
const ENDS = {
  sold: 'Paid: the unit is yours.',
  cancelled: 'Cancelled. The unit is for sale again.',
  expired: OVER,
  reservation_expired: OVER,
  order_cancelled: 'This order was cancelled before. Nothing was paid.',
  order_sold: 'This order is paid already. Only the admin can cancel it.',
  no_such_order: 'The service has no such order of yours.',
};

function open(order) {
  mine = order;
  show('mine', order !== null);
  Object.keys(LABELS).forEach(id => say(id, LABELS[id]));
}

/* The focus does not get lost with the buttons. */
function over(outcome) {
  const focused = byId('mine').contains(document.activeElement);
  open(null);
  say('said', ENDS[outcome]);
  if (focused) byId(longest_s > 0 ? 'reserve' : 'buy').focus();
}

/* Pays or cancels it. What was not answered may be sent again, for it is done once only. */
async function settle(how) {
  const order = mine, pays = how === 'confirm', done = pays ? 'paid' : 'cancelled';
  if (!order) return;
  say('said', pays ? 'Paying…' : 'Cancelling…');
  const answer = await end(order, how, user);
  if (mine !== order) return; /* how it ended is said already */
  if (ENDS[answer.outcome]) over(answer.outcome);
  else if (answer.outcome === 'unknown') {
    say('said', `No answer. It may be ${done}, or not. Send it again: it is never done twice.`);
    say(BUTTONS[how], 'Send it again');
  } else say('said', `Not ${done} (${answer.outcome}): ${answer.detail || 'refused'}. You can try again.`);
}

/* Counts down. What became of it in the end is the service's to say, and not while it is not certain. */
async function tick(order) {
  if (mine !== order) return;
  const left_ms = order.expires_us / 1000 - ahead_ms - performance.now();
  say('mine-left', `${Math.max(0, Math.ceil(left_ms / 1000))} s`);
  if (left_ms <= 0) {
    const { outcome, final = true } = await look(order);
    if (mine !== order) return;
    if (final && ENDS[outcome]) return over(outcome);
  }
  setTimeout(tick, left_ms > 0 ? TICK_MS : ASK_AGAIN_MS, order);
}

async function reserve(item) {
  if (mine) return say('said', 'You have one reserved. Pay it, cancel it, or wait.');
  const bought = await buyOne(item, Math.min(FOR_S, longest_s));
  if (bought.outcome !== 'reserved') return;
  open(bought);
  tick(bought);
}

export function drawReserving({ sale, now_ms = 0 }) {
  ahead_ms = Math.max(ahead_ms, now_ms - performance.now());
  longest_s = sale && sale.reserve_max_s || 0;
  show('reserve', longest_s > 0);
  say('reserve', `Reserve one for ${Math.min(FOR_S, longest_s)} s`);
}

export function setUpReserving(shown) {
  byId('reserve').addEventListener('click', during('reserve', () => reserve(shown())));
  Object.entries(BUTTONS).forEach(([how, id]) => byId(id).addEventListener('click', during(id, () => settle(how))));
}
