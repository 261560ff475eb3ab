// buy.js - k6 buys from a sale that it starts, each buy with a request id of its own.
//
//   k6 run -e STRATEGY=combined loadtest/examples/buy.js
//
// Further -e: TARGETS (127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002; the users take them in turn,
// the first one is asked for the stock), ITEM (P0001), STRATEGY (combined), STOCK (1000), USERS
// (100), REQUESTS (5000) and FLASHSALE_ADMIN_TOKEN.
//
// The last line compares what buyers were told with GET /stock; k6 exits with 99 when more was sold
// than there was, or updates of the stock were lost. `unknown` counts buyers without a yes or a no.

import exec from 'k6/execution';
import http from 'k6/http';
import { Counter, Gauge } from 'k6/metrics';

const targets = (__ENV.TARGETS || '127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002').split(',');
const item = __ENV.ITEM || 'P0001';
const strategy = __ENV.STRATEGY || 'combined';
const stock = Number(__ENV.STOCK || 1000);
const answer_time = '15s'; // the service answers within 10 s, or the sale's wait_ms + 1 s

const sold = new Counter('told_sold');
const unknown = new Counter('told_unknown');
const seen = {};
for (const name of ['initial', 'orders', 'oversold', 'lost_updates'])
  seen[name] = new Gauge(`stock_${name}`);

export const options = {
  scenarios: {
    buyers: {
      executor: 'shared-iterations',
      vus: Number(__ENV.USERS || 100),
      iterations: Number(__ENV.REQUESTS || 5000),
      maxDuration: '10m',
    },
  },
  thresholds: {
    stock_oversold: ['value==0'],
    stock_lost_updates: ['value==0'],
  },
  summaryTrendStats: ['med', 'p(99)'],
};

http.setResponseCallback(http.expectedStatuses({ min: 200, max: 499 }, 503));

export function setup() {
  const headers = { 'Content-Type': 'application/json' };
  if (__ENV.FLASHSALE_ADMIN_TOKEN)
    headers.Authorization = `Bearer ${__ENV.FLASHSALE_ADMIN_TOKEN}`;
  const body = JSON.stringify({ item, stock, strategy });
  const answer = http.post(`http://${targets[0]}/sales`, body, { headers });
  if (answer.status !== 201) exec.test.abort(`POST /sales: ${answer.status} ${answer.body}`);
  return { sale: answer.json('sale') };
}

export default function (data) {
  const target = targets[exec.vu.idInTest % targets.length];
  const id = `${data.sale}-${exec.scenario.iterationInTest}`;
  const url = `http://${target}/buy?item=${item}&sale=${data.sale}&user=u${exec.vu.idInTest}`;
  const answer = http.post(url, null, {
    headers: { 'Idempotency-Key': id },
    timeout: answer_time,
    tags: { name: 'buy' },
  });
  if (answer.status === 201) sold.add(1);
  else if (answer.status < 400 || (answer.status >= 500 && answer.status !== 503)) unknown.add(1);
}

export function teardown(data) {
  const now = http.get(`http://${targets[0]}/stock?item=${item}`);
  if (now.status !== 200 || now.json('sale') !== data.sale)
    exec.test.abort(`GET /stock: ${now.status} ${now.body}`);
  for (const name in seen) seen[name].add(now.json(name));
}

export function handleSummary(data) {
  if (!data.metrics.stock_orders) // nothing was started, or the stock can not be asked
    return { stdout: `${strategy}: NOT CHECKED, as the stock is not known\n` };
  const value = (name, of) => (data.metrics[name] ? data.metrics[name].values[of] : 0);
  const told = value('told_sold', 'count'), open = value('told_unknown', 'count');
  const orders = value('stock_orders', 'value'), times = data.metrics.http_req_duration.values;
  let verdict = orders >= told && orders <= told + open ? 'agrees' : 'DIFFERS';
  if (value('stock_lost_updates', 'value') > 0) verdict = 'LOST UPDATES';
  if (value('stock_oversold', 'value') > 0) verdict = 'OVERSOLD';
  return {
    stdout:
      `median ${times.med.toFixed(1)} ms, p99 ${times['p(99)'].toFixed(1)} ms\n` +
      `${strategy}: told sold ${told}, unknown ${open}; ` +
      `stock: ${orders} orders of ${value('stock_initial', 'value')}, ` +
      `oversold ${value('stock_oversold', 'value')}, ` +
      `lost updates ${value('stock_lost_updates', 'value')}: ${verdict}\n`,
  };
}
