/*
 * The page of a run or a comparison: what the data says, from the verdict down to the raw numbers. What is
 * said of a verdict stands in the data.
 */
import { LATENCY_KEYS, latencyChart, stockChart, stockKeys, throughputChart, UNANSWERED_KEY } from '../parts/charts.js';
import { figure } from '../parts/numbers.js';
import { legend } from '../parts/svg.js';
import { add, addCell, emptyTable, plainTable } from '../parts/tables.js';
import { data, main, raw, redraws, section, start } from './page.js';
import { barsChart, percentilesChart, priceChart } from './spread.js';

const runs = data.runs, several = runs.length > 1;
const OUTCOMES = ['sold', 'sold_out', 'limit_reached', 'busy', 'unavailable', 'unknown', 'error', 'unanswered'];
const STATES = { ok: '✓ yes', violated: '✗ NO', unchecked: '? unchecked', nothing: '– nothing to check' };
const SMALL = 170; /* high is one of many charts */

function tone(verdict) {
  return verdict === 'SAFE' ? 'good' : verdict === 'INVALID' || verdict === 'COUNTS_ONLY' ? 'doubt' : 'bad';
}

/* A symbol for those who do not see the colour. */
function symbol(verdict) {
  return { good: '✓ ', doubt: '? ', bad: '✗ ' }[tone(verdict)];
}

function measured(run) {
  return run.timeline && run.timeline.bins.length > 0;
}

/* A member of a member, or null. */
function at(run, ...names) {
  const found = names.reduce((value, name) => value === null || value === undefined ? null : value[name], run);
  return found === undefined ? null : found;
}

/* ---- the banner ---- */

function banner() {
  add(main, 'h1', 'flashsale load test · ' + (data.environment.date || ''));
  const verdict = several ? data.verdict : (runs[0] || data).verdict, box = add(main, 'div', null, 'banner ' + tone(verdict));
  add(box, 'div', symbol(verdict) + (several || !runs.length ? data.headline : verdict), 'word');
  if (runs.length === 1) add(box, 'p', `${runs[0].strategy}: ${runs[0].sentence}`);
  if (runs.some(run => run.partial)) add(box, 'p', 'PARTIAL REPORT: the run was interrupted.', 'verdict doubt');
  runs.forEach(run => run.invalid_because.slice(several ? 0 : run.verdict === 'INVALID').forEach(reason =>
    add(box, 'p', `${run.strategy}: ${reason}`, 'verdict doubt')));
  const load = data.load;
  add(box, 'p', `${load.model} model, ${figure(load.users)} users, stock ${figure(load.stock)}` +
    (load.think_ms ? `, ${figure(load.think_ms)} ms think time` : '') +
    (load.rate_rps ? `, ${figure(load.rate_rps)} requests/s (${load.arrivals})` : '') +
    `, ${load.targets.length} target${load.targets.length > 1 ? 's' : ''}` +
    (load.runs > 1 ? `, ${load.runs} interleaved runs of each strategy` : '') +
    (load.run_length_s ? `. One sale as planned tells what was sold; the runs after it tell how fast: users ask for ${figure(load.run_length_s)} s, and about half of that time there is stock left. All are judged` : '') + '.', 'soft');
  if (runs.length === 1 && measured(runs[0])) keyFigures(runs[0]);
}

function keyFigures(run) {
  const list = add(main, 'ul', null, 'figures'), unanswered = at(run, 'latency_by_outcome', 'unanswered', 'n');
  [['sold out after', figure(run.sellout_s) + (run.sellout_s === null ? '' : ' s')],
  ['answers/s', figure(run.throughput_rps)], ['sales/s', figure(run.goodput_sps)],
  ['p50', figure(run.latency_ms.p50) + ' ms'], ['p99', figure(run.latency_ms.p99) + ' ms'],
  ['unanswered', unanswered && figure(unanswered)], ['longest silence', at(run, 'silence_s', 'length') && figure(run.silence_s.length) + ' s'],
  ['CPU a sale', at(run, 'cpu_us_per_sale', 'total') && figure(run.cpu_us_per_sale.total) + ' µs'],
  ['fairness', figure(run.fairness)]].filter(([, value]) => value).forEach(([name, value]) => {
    const item = add(list, 'li');
    add(item, 'b', value);
    add(item, 'span', name);
  });
}

/* ---- charts ---- */

/* A figure that is drawn anew when the width changes, or by what is returned. */
function drawn(parent, caption, draw, shown) {
  const element = add(parent, 'figure'), title = add(element, 'figcaption', caption);
  if (shown) add(title, 'span', symbol(shown) + shown, 'verdict ' + tone(shown));
  const redraw = () => {
    while (element.lastChild !== title) element.removeChild(element.lastChild);
    if (draw(element) === false) add(element, 'p', 'Too few samples.', 'soft');
  };
  redraws.push(redraw);
  return redraw;
}

/* What each strategy does a second, and what a sale costs it. */
function price() {
  if (!several) return;
  const row = (run, value, range) => ({ name: run.strategy, value, low: at(range, 'low'), high: at(range, 'high'), unsafe: tone(run.verdict) === 'good' ? '' : run.verdict });
  const pair = add(section('The price of safety', 'A bar is the run that stands for its strategy, the line across its end the range of all of them. What is not safe has no price: it stands apart.'), 'div', null, 'pair');
  drawn(pair, 'Answers a second: more is better', element => priceChart(element, 'Answers a second by strategy', runs.map(run => row(run, run.throughput_rps, run.range.throughput_rps))));
  if (runs.some(run => at(run, 'cpu_us_per_sale', 'total') !== null))
    drawn(pair, 'CPU of service and Redis, µs a sale: less is better', element => priceChart(element, 'CPU a sale by strategy', runs.map(run => row(run, at(run, 'cpu_us_per_sale', 'total'), at(run, 'range', 'cpu_us_per_sale')))));
}

/* One chart for each strategy, those that are not safe first; a run alone has it in full. */
function multiples(title, note, keys, shown, draw) {
  const place = section(title, note + (several ? ' Each has its own axis of time.' : ''));
  if (several) legend(place, keys);
  const grid = add(place, 'div', null, several ? 'multiples' : '');
  const safe = run => tone(run.verdict) === 'good';
  shown.filter(run => !safe(run)).concat(shown.filter(safe)).forEach(run => drawn(grid, several ? run.strategy + ' ' : '', element => draw(element, run), several ? run.verdict : ''));
}

function overTime(shown) {
  const reserves = runs.some(run => run.reserved > 0);
  multiples('Stock over time', 'Units left, and units sold' + (reserves ? ', of which some are only reserved' : '') + '. The hatched area is what was sold without being there.', stockKeys(reserves), shown,
    (element, run) => stockChart(element, run, several && { height: SMALL }));
  const bins = [].concat(...shown.map(run => run.timeline.bins.filter(bin => bin.p99_ms > 0)));
  const small = several && { height: SMALL, low: Math.min(...bins.map(bin => bin.p50_ms)), high: Math.max(...bins.map(bin => bin.p99_ms)) };
  const lost = shown.some(run => run.timeline.bins.some(bin => bin.unanswered));
  multiples('Latency over time', 'From the moment a request was due.' + (lost ? ' Red bars: requests that got no answer.' : '') + (shown.some(run => run.silence_s) ? ' Grey: the longest time in which nobody got an answer.' : ''),
    lost ? LATENCY_KEYS.concat(UNANSWERED_KEY) : LATENCY_KEYS, shown,
    (element, run) => latencyChart(element, run, undefined, small));
}

/* One run in full; which one can be chosen. */
function oneRun(shown) {
  let run = shown.find(other => other.verdict === 'SAFE') || shown[0];
  const place = section(several ? 'One strategy in full ' : 'In full'), pair = add(place, 'div', null, 'pair');
  const draws = [
    drawn(pair, 'Answers a second by outcome', element => throughputChart(element, run, OUTCOMES)),
    drawn(pair, 'Latency by percentile', element => percentilesChart(element, run)),
    drawn(pair, 'Answers per target', element => barsChart(element, 'Answers per target', run.targets.map(t => ({ label: t.target.replace(/^https?:\/\//, ''), value: t.answers })), 'targets', 'answers')),
    drawn(pair, 'Sales per user', element => run.sales_per_user.length > 0 && barsChart(element, 'Sales per user, from the fewest to the most', run.sales_per_user.map((value, i) => ({ label: `user ${i + 1}`, value })), 'users, from the fewest sales to the most', 'sales')),
  ];
  if (shown.length < 2) return;
  const select = add(place.querySelector('h2'), 'select');
  select.setAttribute('aria-label', 'Strategy shown in full');
  shown.forEach((other, i) => {
    const option = add(select, 'option', other.strategy);
    option.value = i;
    option.selected = other === run;
  });
  select.addEventListener('change', () => { run = shown[select.value]; draws.forEach(draw => draw()); });
}

function charts() {
  const shown = runs.filter(measured);
  price();
  if (!shown.length) return;
  overTime(shown);
  oneRun(shown);
}

/* ---- tables ---- */

const COLUMNS = [
  ['strategy', run => run.strategy], ['verdict', run => run.verdict], ['sold', run => run.sold_units],
  ['over', run => run.oversold], ['lost', run => run.lost_updates], ['under', run => run.undersold],
  ['dup.', run => run.duplicates], ['errors', run => run.errors + run.unknown],
  ['rank', run => run.rank], ['answers/s', run => run.throughput_rps], ['x unlocked', run => run.of_unlocked],
  ['CPU µs/sale', run => at(run, 'cpu_us_per_sale', 'total')], ['p50 ms', run => run.latency_ms.p50], ['p99 ms', run => run.latency_ms.p99], ['fairness', run => run.fairness],
  ['sold out s', run => run.sellout_s],
  ['cmds/sale', run => run.redis_cmds_per_sale], ['lock p99 ms', run => run.lock_wait_ms.p99],
];

function tableRow(body, run) {
  const row = add(body, 'tr');
  COLUMNS.forEach(([name, value]) => {
    const content = value(run), cell = addCell(row, name);
    if (name === 'verdict') add(cell, 'span', symbol(content) + content, 'verdict ' + tone(content));
    else if (name === 'rank') cell.textContent = content === null ? '–' : content + (run.shares_rank ? '=' : '');
    else cell.textContent = typeof content === 'string' ? content : figure(content);
    const range = at(run, 'range', { 'answers/s': 'throughput_rps', 'CPU µs/sale': 'cpu_us_per_sale' }[name]);
    if (range && run.runs > 1 && range.low !== null)
      add(cell, 'span', `${figure(range.low)}–${figure(range.high)}`, 'range');
  });
}

/* Unsafe rows stay last, whatever they are sorted by: speed does not excuse them. */
function sorted(column, descending) {
  const value = COLUMNS[column][1], sign = descending ? -1 : 1;
  return runs.slice().sort((a, b) => {
    const unsafe = (a.verdict !== 'SAFE') - (b.verdict !== 'SAFE');
    const x = value(a), y = value(b);
    if (unsafe) return unsafe;
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
  });
}

function comparison() {
  const place = section(several ? 'Comparison' : 'Figures', 'Click a heading to sort; unsafe strategies stay last. over, lost, under, dup.: units sold over the stock, lost from it, left under it, orders beyond one a request. "x unlocked": throughput as a share of the unlocked one\'s.' +
    (runs.some(run => run.runs > 1) ? ' Below a figure stands the range of all runs. A rank such as "2=" is shared: the runs do not tell which is first, neither by throughput nor by CPU.' : ''));
  const { head, body } = emptyTable(place, 'sortable');
  COLUMNS.forEach(([name], i) => {
    const cell = add(head, 'th'), button = add(cell, 'button', name);
    cell.scope = 'col';
    button.type = 'button';
    button.addEventListener('click', () => {
      const descending = cell.getAttribute('aria-sort') !== 'descending';
      Array.from(head.children).forEach(other => other.removeAttribute('aria-sort'));
      cell.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      body.textContent = '';
      sorted(i, descending).forEach(run => tableRow(body, run));
    });
  });
  runs.forEach(run => tableRow(body, run));
}

function guarantees() {
  const place = section('Guarantees', 'What must hold, what was seen, and how to look for yourself while the sale\'s keys live (24 hours); redis-cli needs -s or -p where Redis is not on its usual port.');
  runs.forEach(run => {
    const block = add(place, 'details');
    block.open = !several || run.verdict !== 'SAFE';
    const summary = add(block, 'summary', run.strategy + ' ');
    add(summary, 'span', symbol(run.verdict) + run.verdict, 'verdict ' + tone(run.verdict));
    add(block, 'p', run.sentence);
    plainTable(block, ['guarantee', 'holds', 'violations', 'the first, or why it is unchecked', 'check'], (run.invariants || []).map(i =>
      [i.name, STATES[i.state], i.observed, i.first ? { text: i.first } : '', i.check ? { code: i.check } : '']));
  });
}

function reservations() {
  const reserving = runs.filter(run => run.reserved > 0);
  if (!reserving.length) return;
  const place = section('Reservations', `Buys reserve for ${figure(data.load.reserve_s)} s: orders, by what became of them.`);
  plainTable(place, ['strategy', 'reserved', 'confirmed', 'cancelled', 'expired'], reserving.map(run =>
    [run.strategy, run.reserved, run.confirmed, run.cancelled, run.expired]));
}

function errors() {
  const failing = runs.filter(run => (run.errors_by_kind || []).length);
  if (!failing.length) return;
  const place = section('Errors');
  plainTable(place, ['strategy', 'count', 'phase', 'code', 'target', 'hint'], [].concat(...failing.map(run =>
    run.errors_by_kind.map(e => [run.strategy, e.count, e.phase, e.code, e.target, { text: e.hint }]))));
}

function health() {
  const place = section('Generator and accounts', 'A generator without reserve measures itself. Latency from the send leaves out how late requests left.');
  plainTable(place, ['strategy', 'issued', 'completed', 'failed', 'unfinished', 'retries', 'replays', 'processor', 'send lag p99 ms', 'p99 from schedule ms', 'p99 from send ms', 'starved users', 'never asked'],
    runs.filter(run => run.generator).map(run => [run.strategy, run.issued, run.completed, run.failed, run.unfinished, run.retries, run.replays,
      figure(run.generator.share * 100) + ' %', run.generator.lag_p99_ms, run.latency_by_outcome.all.p99, run.latency_from_send_ms.p99, run.users_starved, run.users_never_asked]));
}

function reference() {
  if (!data.reference) return;
  const place = section('Beside the article', data.reference.note + '.');
  plainTable(place, ['who', 'average ms', 'requests/s'],
    data.reference.rows.map(row => [row.name + ' (the article\'s)', row.average_ms, row.throughput_rps])
      .concat(runs.map(run => [run.strategy, run.latency_by_outcome.all.mean, run.throughput_rps])));
}

banner();
charts();
comparison();
reservations();
reference();
guarantees();
errors();
health();
raw('Environment and load', { environment: data.environment, load: data.load });
start();
