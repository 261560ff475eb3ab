/*
 * The page of a run or a comparison: what the data says, from the verdict down to the raw numbers.
 */
import { latencyChart, stockChart, throughputChart } from '../parts/charts.js';
import { figure } from '../parts/numbers.js';
import { add, addCell, emptyTable, plainTable } from '../parts/tables.js';
import { data, main, raw, redraws, section, start } from './page.js';
import { barsChart, percentilesChart } from './spread.js';

const runs = data.runs;
const OUTCOMES = ['sold', 'sold_out', 'limit_reached', 'busy', 'unavailable', 'unknown', 'error'];
const CONTROLS = ['atomic', 'batched']; /* safe without a lock; a locked one is shown first */

function tone(verdict) {
  return verdict === 'SAFE' ? 'good' : verdict === 'INVALID' ? 'doubt' : 'bad';
}

/* A symbol beside the word, for those who do not see the colour. */
function verdictText(verdict) {
  return { good: '✓ ', doubt: '? ', bad: '✗ ' }[tone(verdict)] + verdict;
}

function isUnlocked(run) {
  return run.strategy.split(':')[0] === 'none';
}

function measured(run) {
  return run.timeline && run.timeline.bins.length > 0;
}

/* ---- the banner ---- */

/* When another invariant is broken than the one that a verdict's figure counts. */
function brokenSentence(run) {
  const broken = (run.invariants || []).find(i => !i.ok && i.verdict === run.verdict);
  return broken ? `${broken.name}: ${figure(broken.observed)}, expected ${broken.relation} ${figure(broken.expected)}` : run.verdict;
}

function sentence(run) {
  const counted = { OVERSOLD: run.oversold, LOST: run.lost_updates, DUPLICATED: run.duplicates, UNDERSOLD: run.undersold }[run.verdict];
  if (counted === 0) return brokenSentence(run);
  const sold = figure(run.sold), stock = figure(run.stock);
  switch (run.verdict) {
    case 'SAFE': return `sold ${sold} of ${stock}, each to one buyer, each on the books`;
    case 'OVERSOLD': return `sold ${sold} of ${stock}: ${figure(run.oversold)} buyers were sold what is not there`;
    case 'LOST': return `${figure(run.lost_updates)} units sold are missing from the stock`;
    case 'DUPLICATED': return `${figure(run.duplicates)} requests ended in more than one order`;
    case 'UNDERSOLD': return `${figure(run.undersold)} units were left although buyers were turned away`;
    default: return 'can not be judged: ' + run.invalid_because.join('; ');
  }
}

function overall() {
  if (runs.length === 1) return runs[0].verdict;
  const surprising = runs.filter(run => run.verdict !== 'SAFE' && !run.expect_unsafe);
  const broken = surprising.find(run => run.verdict !== 'INVALID');
  return (broken || surprising[0] || { verdict: 'SAFE' }).verdict;
}

function headline() {
  const unlocked = runs.find(isUnlocked), safe = runs.filter(run => run.verdict === 'SAFE');
  if (runs.length === 1) return `${runs[0].strategy}: ${sentence(runs[0])}`;
  const names = safe.map(run => run.strategy).join(', ');
  const others = `${safe.length} of ${runs.length} strategies kept the service's word${names ? ': ' + names : ''}`;
  return unlocked ? `${others}. Without a lock: ${sentence(unlocked)}.` : others + '.';
}

function banner() {
  add(main, 'h1', 'flashsale load test · ' + (data.environment.date || ''));
  const verdict = overall(), box = add(main, 'div', null, 'banner ' + tone(verdict));
  add(box, 'div', verdictText(verdict), 'word');
  add(box, 'p', headline());
  if (runs.some(run => run.partial)) add(box, 'p', 'PARTIAL REPORT: the run was interrupted.', 'verdict doubt');
  runs.filter(run => run.verdict !== 'INVALID').forEach(run =>
    run.invalid_because.forEach(reason => add(box, 'p', `${run.strategy}: ${reason}`, 'verdict doubt')));
  const load = data.load;
  add(box, 'p', `${load.model} model, ${figure(load.users)} users, stock ${figure(load.stock)}` +
    (load.think_ms ? `, ${figure(load.think_ms)} ms think time` : '') +
    (load.rate_rps ? `, ${figure(load.rate_rps)} requests/s (${load.arrivals})` : '') +
    `, ${load.targets.length} target${load.targets.length > 1 ? 's' : ''}` +
    (load.runs > 1 ? `, ${load.runs} interleaved runs of each strategy` : '') +
    (load.run_length_s ? `. What was sold is told of one sale as planned; how fast, of the runs after it, in which users ask for ${figure(load.run_length_s)} s, whatever the strategy, and about half of that time there is stock left. All are judged` : ''), 'soft');
  if (runs.length === 1 && measured(runs[0]) && verdict !== 'INVALID') keyFigures(runs[0]);
}

function keyFigures(run) {
  const list = add(main, 'ul', null, 'figures');
  [['sold out after', run.sellout_s === null ? 'n/a' : figure(run.sellout_s) + ' s'],
  ['answers a second', figure(run.throughput_rps)], ['sales a second', figure(run.goodput_sps)],
  ['p50 of sold', figure(run.latency_ms.p50) + ' ms'], ['p99 of sold', figure(run.latency_ms.p99) + ' ms'],
  ['fairness', figure(run.fairness)]].forEach(([name, value]) => {
    const item = add(list, 'li');
    add(item, 'b', value);
    add(item, 'span', name);
  });
}

/* ---- charts ---- */

/* A figure whose strategy can be chosen; `draw` is called with the figure and the run. */
function chooser(parent, title, candidates, first, draw) {
  const element = add(parent, 'figure'), caption = add(element, 'figcaption', title + ' ');
  let chosen = first, select = null;
  if (candidates.length > 1) {
    select = add(caption, 'select');
    select.setAttribute('aria-label', title + ': strategy');
    candidates.forEach((run, i) => {
      const option = add(select, 'option', run.strategy);
      option.value = i;
      option.selected = run === first;
    });
  } else {
    caption.textContent = `${title}: ${first.strategy}`;
  }
  const redraw = () => {
    while (element.lastChild !== caption) element.removeChild(element.lastChild);
    draw(element, chosen);
  };
  if (select) select.addEventListener('change', () => { chosen = candidates[select.value]; redraw(); });
  redraws.push(redraw);
}

function charts() {
  const shown = runs.filter(measured);
  if (!shown.length) return;
  const unlocked = shown.find(isUnlocked);
  const others = shown.filter(run => run !== unlocked), safe = others.filter(run => run.verdict === 'SAFE');
  const locked = safe.find(run => !CONTROLS.includes(run.strategy)) || safe[0] || others[0];
  const best = locked || shown[0];
  const stock = add(section('Stock', 'Units left, and units sold. The hatched area is what was sold without being there.'), 'div', null, 'pair');
  if (unlocked) chooser(stock, 'Without a lock', [unlocked], unlocked, stockChart);
  if (locked) chooser(stock, 'With', others, locked, stockChart);
  const time = add(section('Over time'), 'div', null, 'pair');
  chooser(time, 'Throughput by outcome', shown, best, (element, run) => throughputChart(element, run, OUTCOMES));
  chooser(time, 'Latency', shown, best, latencyChart);
  percentileSection(shown);
  const spread = add(section('Fairness', 'How evenly targets and users were served.'), 'div', null, 'pair');
  chooser(spread, 'Answers per target', shown, best, (element, run) =>
    barsChart(element, 'Answers per target', run.targets.map(t => ({ label: t.target.replace(/^https?:\/\//, ''), value: t.answers })), 'targets', 'answers'));
  const withUsers = shown.filter(run => run.sales_per_user.length > 0);
  if (withUsers.length)
    chooser(spread, 'Sales per user', withUsers, withUsers.includes(best) ? best : withUsers[0], (element, run) =>
      barsChart(element, 'Sales per user, from the fewest to the most', run.sales_per_user.map((value, i) => ({ label: `user ${i + 1}`, value })), 'users, from the fewest sales to the most', 'sales'));
}

function percentileSection(shown) {
  const place = section('Latency by percentile', 'Of sold requests, from the moment they were due to the answer; the lower, the better. A curve ends where fewer than five samples are left beyond it.');
  const element = add(place, 'figure');
  redraws.push(() => {
    element.textContent = '';
    if (!percentilesChart(element, shown, 'percentiles') && !percentilesChart(element, shown, 'percentiles_all'))
      add(element, 'p', 'Too few samples for a curve.', 'soft');
  });
}

/* ---- tables ---- */

const COLUMNS = [
  ['strategy', run => run.strategy], ['verdict', run => run.verdict], ['sold', run => run.sold],
  ['over', run => run.oversold], ['lost', run => run.lost_updates], ['under', run => run.undersold],
  ['dup.', run => run.duplicates], ['busy', run => run.busy], ['errors', run => run.errors + run.unknown],
  ['rank', run => run.rank], ['answers/s', run => run.throughput_rps], ['x unlocked', run => run.of_unlocked],
  ['p50 ms', run => run.latency_ms.p50], ['p99 ms', run => run.latency_ms.p99], ['fairness', run => run.fairness],
  ['sales/s', run => run.goodput_sps], ['sold out s', run => run.sellout_s],
  ['cmds/sale', run => run.redis_cmds_per_sale], ['lock wait p99 ms', run => run.lock_wait_ms.p99],
];

function tableRow(body, run) {
  const row = add(body, 'tr');
  COLUMNS.forEach(([name, value]) => {
    const content = value(run), cell = addCell(row, name);
    if (name === 'verdict') add(cell, 'span', verdictText(content), 'verdict ' + tone(content));
    else if (name === 'rank') cell.textContent = content === null ? '–' : content + (run.shares_rank ? '=' : '');
    else cell.textContent = typeof content === 'string' ? content : figure(content);
    if (name === 'answers/s' && run.runs > 1)
      add(cell, 'span', `${figure(run.range.throughput_rps.low)}–${figure(run.range.throughput_rps.high)}`, 'range');
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
  const place = section('Comparison', 'Click a heading to sort; unsafe strategies stay last. "x unlocked" is the throughput as a share of the unlocked one\'s: the price of safety.' +
    (runs.some(run => run.runs > 1) ? ' Below "answers/s" stands the range of all runs. A rank such as "2=" is shared by those whose ranges overlap, or are linked by others\' that do: the runs do not tell which is the faster.' : '') + ' Units: sold over the stock, lost from it, left under it, sold twice (dup.). "cmds" are those of Redis.');
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

function invariants() {
  const place = section('Invariants', 'What must hold, what was seen, and how to look for yourself while the sale\'s keys live (24 hours); redis-cli needs -s or -p where Redis is not on its usual port.');
  runs.forEach(run => {
    const block = add(place, 'details');
    block.open = runs.length === 1 || run.verdict !== 'SAFE';
    const summary = add(block, 'summary', run.strategy + ' ');
    add(summary, 'span', verdictText(run.verdict), 'verdict ' + tone(run.verdict));
    add(block, 'p', sentence(run));
    plainTable(block, ['invariant', 'expected', 'observed', 'holds', 'check'], (run.invariants || []).map(i =>
      [i.name, (i.relation === '=' ? '' : i.relation + ' ') + figure(i.expected), i.observed, i.ok ? '✓ yes' : '✗ NO', i.check ? { code: i.check } : '']));
  });
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
reference();
invariants();
errors();
health();
raw('Environment and load', { environment: data.environment, load: data.load });
start();
