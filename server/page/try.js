/* try.js - buying: one, or a burst of buyers. */
import { figure } from './numbers.js';
import { byId, say } from './dom.js';
import { count } from './gauge.js';
import { buy, crowd, randomId, settle, stock } from './service.js';

export const user = 'page-' + randomId(4);

/* What was wanted is 'bought' or 'reserved'. */
function told(bought, wanted) {
  switch (bought.outcome) {
    case 'sold': return `Bought: order ${bought.order}, ${bought.remaining} left then.`;
    case 'reserved': return `Reserved: order ${bought.order}, ${bought.remaining} left then.`;
    case 'cancelled': case 'expired': return `It was reserved, and is ${bought.outcome} by now. The unit is for sale again.`;
    case 'unknown': return `Still unknown: it may have been ${wanted}, or not. Ask for /orders/${bought.request} later.`;
    case 'not_bought': return `Not ${wanted}: no answer came, and by now it is certain that there is no order.`;
  }
  const { outcome, reserved, detail } = bought;
  if (outcome === 'sold_out' && reserved > 0) return `Not ${wanted}, sold out for now: ${count(reserved)} ${reserved === 1 ? 'is' : 'are'} reserved and may come back.`;
  return `Not ${wanted} (${outcome}): ${detail || 'refused'}.`;
}

/* Every buy names its sale, or a retry could buy in the next one. */
async function currentSale(item) {
  const current = await stock(item);
  return current && current.sale || '';
}

/* Buys one, or reserves it for so many seconds. What became of it. */
export async function buyOne(item, reserve_s = 0) {
  const wanted = reserve_s > 0 ? 'reserved' : 'bought';
  say('said', reserve_s > 0 ? 'Reserving…' : 'Buying…');
  const first = await buy(item, await currentSale(item), user, reserve_s);
  if (first.outcome === 'unknown') say('said', `No answer: ${wanted} or not is unknown as yet. Asking for the order until it is certain…`);
  const bought = await settle(first);
  say('said', told(bought, wanted));
  return bought;
}

/* "200 sold, 3 sold out", what is unknown last and by its name. */
export function summary(outcomes) {
  const { unknown = 0, ...others } = outcomes;
  const words = Object.entries(others).sort((a, b) => b[1] - a[1]).map(([name, number]) => `${figure(number)} ${name.replace(/_/g, ' ')}`);
  return words.concat(unknown ? [`${figure(unknown)} unknown: sold or not, nobody could say`] : []).join(', ');
}

async function burst(item) {
  const sale = await currentSale(item), buyers = byId('burst-buyers').valueAsNumber, started = performance.now();
  let answers = 0, spoken = 0;
  const seconds = () => (performance.now() - started) / 1000;
  const outcomes = await crowd(item, sale, buyers, () => {
    answers++;
    if (seconds() - spoken < 1) return;
    spoken = seconds();
    say('burst-said', `${figure(answers)} of ${figure(buyers)} buyers have an answer…`);
  });
  say('burst-said', `${figure(buyers)} buyers in ${figure(seconds())} s: ${summary(outcomes)}.`);
}

/* A button that is off while its work goes on; the focus stays on it. */
export function during(id, work) {
  const button = byId(id);
  return async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    try {
      await work();
    } finally {
      button.removeAttribute('aria-disabled');
    }
  };
}

/* shown() is the item that the page shows. */
export function setUpBuying(shown) {
  const one = during('buy', () => buyOne(shown())), many = during('start-burst', () => burst(shown()));
  byId('buy').addEventListener('click', one);
  byId('burst').addEventListener('submit', event => {
    event.preventDefault();
    many();
  });
}
