/* sale.js - starting a sale. One that would close another with stock left takes a second press. */
import { learn, setBusy, token } from './admin.js';
import { count } from './gauge.js';
import { byId, say } from './dom.js';
import { startSale, stock } from './service.js';

const START = 'Start', SURE_MS = 8000;
let sure = null, timer = null; /* the item whose running sale may be closed, and for how long */

function forget() {
  clearTimeout(timer);
  sure = null;
  say('start-sale', START);
}

/* Whether it may be started now; otherwise the button says what it would close. */
async function mayClose(item) {
  if (sure === item) return true;
  const running = await stock(item);
  if (running && !(running.remaining > 0) && !(running.reserved > 0)) return true;
  const left = !running ? 'what is left is unknown' : `${count(running.remaining)} left` + (running.reserved > 0 ? `, ${count(running.reserved)} reserved` : '');
  forget();
  sure = item;
  say('start-sale', `Close the running one (${left}), and start`);
  say('sale-said', running ? `The sale of ${item} has ${left}. Press again to close it and start the new one.`
    : `Whether there is a sale of ${item}, and what is left of it, could not be read. Press again to close it and start the new one.`);
  timer = setTimeout(forget, SURE_MS);
  return false;
}

async function start(changed) {
  const item = byId('sale-item').value;
  if (!await mayClose(item)) return;
  forget();
  const terms = { item, stock: byId('sale-stock').valueAsNumber, strategy: byId('sale-strategy').value, hold_ms: byId('sale-hold').valueAsNumber,
    per_user_limit: byId('sale-limit').valueAsNumber, reserve_max_s: byId('sale-reserve').valueAsNumber };
  const started = await startSale(terms, token());
  if (started.sale) {
    say('sale-said', `Started: sale ${started.sale} of ${item} by ${terms.strategy}.`);
    changed(item);
  } else if (started.code === 'unknown') {
    say('sale-said', 'Unknown: no answer came in time. Look whether the sale above has become another.');
  } else {
    learn(started.code);
    say('sale-said', `Not started (${started.code}): ${started.detail}.`);
  }
}

/* changed(item) is called when a sale has begun. */
export function setUpSales(changed) {
  byId('sale-item').addEventListener('input', forget);
  byId('new-sale').addEventListener('submit', async event => {
    event.preventDefault();
    setBusy('start-sale', true);
    try {
      await start(changed);
    } finally {
      setBusy('start-sale', false);
      byId('start-sale').focus();
    }
  });
}
