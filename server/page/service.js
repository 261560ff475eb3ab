/*
 * service.js - what the page asks of the service besides the numbers: to sell, and to start a sale.
 *
 * "Unknown" is an answer of its own: a buy of which no answer came was made or was not, and is asked
 * for by its request id until that is certain.
 */
const PATIENCE_MS = { GET: 10000, POST: 90000 }; /* more than the service takes for an answer */
const ASK_AGAIN_MS = 1000, ASK_FOR_MS = 30000, START_KNOWN_MS = 2500;
export const TOGETHER = 5; /* a browser opens six connections to a host; one is for the numbers */

const pause = ms => new Promise(done => setTimeout(done, ms));

/* 128 random bits: whoever knows a request id may see its order. */
export function randomId(bytes = 16) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), byte => byte.toString(16).padStart(2, '0')).join('');
}

/* {status, ...members}; status 0 = no answer came, or none that can be read. */
async function ask(method, path, params, more = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value));
  try {
    const reply = await fetch(`${path}?${query}`, { method, cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS[method]), ...more });
    return { ...await reply.json(), status: reply.status };
  } catch (error) {
    return { status: 0, code: 'unknown', detail: 'no answer came' };
  }
}

export async function strategies() {
  return (await ask('GET', '/strategies', {})).strategies || null;
}

/* GET /stock; {sale: null} where there is none; null: that could not be read. */
export async function stock(item) {
  const answer = await ask('GET', '/stock', { item });
  if (answer.code === 'no_such_item') return { sale: null };
  return answer.status === 200 ? answer : null;
}

function isDefinite(answer) {
  return answer.code !== 'unknown' && (answer.status < 500 ? answer.status >= 400 : answer.status === 503);
}

/* The order's state where it was done, the code of a refusal, or 'unknown'. */
function outcomeOf(answer, done) {
  return answer.status === done ? answer.state || 'sold' : isDefinite(answer) ? answer.code || 'refused' : 'unknown';
}

/*
 * Buys one with a request id of its own, or reserves it for so many seconds: {outcome, request,
 * ...answer}. The outcome is 'sold', 'reserved', the code of a refusal, or 'unknown'. `sale` may be ''.
 */
export async function buy(item, sale, user, reserve_s = 0) {
  const request = randomId();
  const answer = await ask('POST', '/buy', { item, sale, user, reserve_s }, { headers: { 'Idempotency-Key': request } });
  return { ...answer, sale: answer.sale || sale, item, request, outcome: outcomeOf(answer, 201) };
}

/* Pays what is reserved ('confirm'), or gives it back ('cancel'): {outcome, ...answer}. It is done
   once, however often it is asked for. */
export async function end({ item, sale, request }, how, user) {
  const answer = await ask('POST', `/orders/${request}/${how}`, { item, sale, user });
  return { ...answer, outcome: outcomeOf(answer, 200) };
}

/* The order as it stands now: {outcome, ...answer}. */
export async function look({ item, sale, request }) {
  const answer = await ask('GET', '/orders/' + request, { item, sale });
  return { ...answer, outcome: outcomeOf(answer, 200) };
}

/* What became of a buy that is unknown, in ASK_FOR_MS; still unknown when nobody could say. */
export async function settle(bought) {
  const until = performance.now() + ASK_FOR_MS, { request } = bought;
  while (bought.outcome === 'unknown' && performance.now() < until) {
    const answer = await look(bought);
    if (answer.status === 200) return answer;
    if (answer.status === 404 && answer.final) return { ...answer, request, outcome: 'not_bought' };
    await pause(ASK_AGAIN_MS);
  }
  return bought;
}

/* work(0), work(1), ... up to `count`, so many at once as may be. */
async function inTurns(count, work) {
  let next = 0;
  await Promise.all(Array.from({ length: TOGETHER }, async () => {
    while (next < count) await work(next++);
  }));
}

/* So many buyers of one each; answered(bought) is called as each is told. In the end, how many were
   told what: {sold: 200, sold_out: 3, ...}. */
export async function crowd(item, sale, buyers, answered) {
  const all = [], told = {};
  await inTurns(buyers, async i => {
    all[i] = await buy(item, sale, 'page-' + i);
    answered(all[i]);
  });
  await Promise.all(all.map(async bought => {
    const { outcome } = await settle(bought);
    told[outcome] = (told[outcome] || 0) + 1;
  }));
  return told;
}

function bearer(token) {
  return token ? { Authorization: 'Bearer ' + token } : {};
}

/* Stops the holder of the item's lock for a while: {instance, fence, ...}, or the refusal. */
export function stopHolder(item, token) {
  return ask('POST', '/locks/stop', { item }, { headers: bearer(token) });
}

/* Starts a sale: {sale, ...terms}, or {sale: null, code, detail}. */
export async function startSale(terms, token) {
  const headers = { 'Content-Type': 'application/json', ...bearer(token) };
  const answer = await ask('POST', '/sales', {}, { headers, body: JSON.stringify(terms) });
  if (answer.status === 201) return answer;
  const named = answer.status === 504 ? answer.sale : null, until = performance.now() + START_KNOWN_MS;
  while (named && performance.now() < until) {
    const current = await stock(terms.item);
    if (current && current.sale === named) return current;
    await pause(ASK_AGAIN_MS / 4);
  }
  return { ...answer, sale: null };
}
