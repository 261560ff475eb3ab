/*
 * The page of a bench: what each strategy sells a second as users grow in number, how long buyers
 * wait as more is asked of it, the ratios beside their bars, and everything that was measured, as
 * tables. Members of the bench file may be missing or null: what is there is shown.
 */
import { brief, figure } from '../parts/numbers.js';
import { add, plainTable } from '../parts/tables.js';
import { lineStyle, linesFigure } from './lines.js';
import { data, main, raw, section, start } from './page.js';

const rows = Array.isArray(data.rows) ? data.rows : [];
const CEILING = ['livez', '/livez'];
const PEER = 'go:';
const KEPT = 0.95; /* an offered rate of which less than this is answered is not kept */

function list(name) {
  return Array.isArray(data[name]) ? data[name] : [];
}

function known(value) {
  return value !== null && value !== undefined;
}

function of(name) {
  return rows.filter(row => row.case === name);
}

function distinct(values) {
  return Array.from(new Set(values));
}

function counted(number, thing) {
  return `${figure(number)} ${thing}${number === 1 ? '' : 's'}`;
}

function range(pair) {
  return Array.isArray(pair) ? `${figure(pair[0])}–${figure(pair[1])}` : '';
}

/* ---- the order of the strategies ---- */

function isCeiling(name) {
  return CEILING.includes(name);
}

/* The fastest first, at 100 users or what is closest to that. */
function ranked() {
  const users = of('users').filter(row => row.users > 0);
  const distance = row => Math.abs(Math.log(row.users / 100));
  const least = Math.min(...users.map(distance));
  const speed = new Map(users.filter(row => distance(row) === least).map(row => [row.strategy, row.throughput_rps || 0]));
  const place = name => isCeiling(name) ? Infinity : speed.has(name) ? speed.get(name) : -1;
  return distinct(rows.map(row => row.strategy)).sort((a, b) => place(a) === place(b) ? 0 : place(b) - place(a));
}

const order = ranked();
const numbers = order.filter(name => !isCeiling(name));

function inOrder(some) {
  return some.slice().sort((a, b) => order.indexOf(a.strategy) - order.indexOf(b.strategy));
}

function looks(names) {
  return new Map(names.map(name => [name, lineStyle(name, numbers.indexOf(name), name.startsWith(PEER), isCeiling(name))]));
}

/* ---- the banner ---- */

/* What a ratio is beside its bar; whatever else the file says is not known. */
const STATES = {
  reached: { value: '✓ reached', tone: 'good' },
  missed: { value: '✗ MISSED', tone: 'bad' },
  inconclusive: { value: '? inconclusive', tone: 'doubt' },
};

function interval(ratio) {
  return known(ratio.low) && known(ratio.high) ? ` (${figure(ratio.low)} to ${figure(ratio.high)})` : '';
}

function banner() {
  const ratios = list('ratios'), missed = ratios.filter(ratio => ratio.state === 'missed');
  const reached = ratios.filter(ratio => ratio.state === 'reached');
  const machine = data.machine || data.environment || {};
  add(main, 'h1', 'flashsale bench' + (typeof machine.date === 'string' ? ' · ' + machine.date : ''));
  const tone = missed.length ? 'bad' : reached.length < ratios.length || !ratios.length ? 'doubt' : 'good';
  const box = add(main, 'div', null, 'banner ' + tone);
  add(box, 'div', { bad: '✗ ', doubt: '? ', good: '✓ ' }[tone] + (ratios.length ? `${reached.length} of ${counted(ratios.length, 'bar')} reached` : 'no bars in this file'), 'word');
  missed.forEach(ratio => add(box, 'p', `missed: ${ratio.name}: ${figure(ratio.value)}${interval(ratio)}, bar ${figure(ratio.bar)}`, 'verdict bad'));
  if (data.quick) add(box, 'p', 'QUICK: fewer rows and shorter runs; no ground for a comparison.', 'verdict doubt');
  add(box, 'p', `${counted(rows.length, 'row')}; each figure is the median of its rounds, ranges go from the least of them to the most.`, 'soft');
}

/* ---- charts ---- */

function throughput() {
  const all = of('users');
  if (!all.length) return;
  const place = section('Throughput over users', 'Orders a second, with the range of the rounds as a band; both axes log. Broken lines are the peers, programs in Go (go:), the dotted one answers without selling (/livez). Point at a line or its button, or go there by Tab, to see it alone; press the button to put it away.');
  const words = row => `${counted(row.users, 'user')}: ${figure(row.throughput_rps)}/s${known(row.range_rps) ? ` (${range(row.range_rps)})` : ''}${known(row.p99_ms) ? `, p99 ${figure(row.p99_ms)} ms` : ''}`;
  chart(place, all, [{ title: 'Throughput over users, every strategy', x: { of: row => row.users, label: 'users, log scale' }, y: { of: row => row.throughput_rps, label: 'orders a second, log scale', range: 'range_rps' }, words, height: 540 }]);
  pivot(place, all, row => row.users, users => counted(users, 'user'), row => range(row.range_rps));
  details(place, all);
}

/* Up to the knee: the first rate that is not kept ends the line; what lies beyond is no latency of
   an open model any more, but the length of the run. */
function untilKnee(some) {
  return order.flatMap(name => {
    const own = some.filter(row => row.strategy === name && row.offered_rps > 0).sort((a, b) => a.offered_rps - b.offered_rps);
    const knee = own.findIndex(isOverrun);
    return knee < 0 ? own : own.slice(0, knee + 1);
  });
}

function isOverrun(row) {
  return known(row.throughput_rps) && row.throughput_rps < row.offered_rps * KEPT;
}

function latency() {
  const all = of('open');
  if (!all.length) return;
  const place = section('Latency over offered rate', `An open model: requests start at this rate whether or not answers come, and latency counts from the moment a request was due. A cross is a rate that was not kept (less than ${KEPT * 100} % of it was answered): there the line ends.`);
  const spec = (member, name) => ({
    title: `${name} over offered rate, up to the knee`, x: { of: row => row.offered_rps, label: 'requests offered a second, log scale' }, y: { of: row => row[member], label: `${name} in ms, log scale`, range: 'range_' + member },
    words: row => `${figure(row.offered_rps)}/s offered: ${name} ${figure(row[member])} ms${isOverrun(row) ? `, but only ${figure(row.throughput_rps)}/s answered` : ''}`, cross: isOverrun, height: 340
  });
  chart(place, untilKnee(all), [spec('p50_ms', 'p50'), spec('p99_ms', 'p99')]);
  flat(place, all);
}

function point(spec, row) {
  const [low, high] = Array.isArray(row[spec.y.range]) ? row[spec.y.range] : [null, null];
  return { x: spec.x.of(row), y: spec.y.of(row), low, high, words: spec.words(row), cross: spec.cross ? spec.cross(row) : false };
}

function lines(spec, some) {
  const drawn = some.filter(row => spec.x.of(row) > 0 && spec.y.of(row) > 0);
  return order.map(name => ({
    name, ceiling: isCeiling(name),
    points: drawn.filter(row => row.strategy === name).map(row => point(spec, row)).sort((a, b) => a.x - b.x)
  })).filter(line => line.points.length);
}

function chart(place, some, plans) {
  const specs = plans.map(plan => ({ ...plan, series: lines(plan, some) })).filter(spec => spec.series.length);
  if (!specs.length) return;
  specs.forEach(spec => { spec.x.values = [].concat(...spec.series.map(line => line.points.map(p => p.x))); });
  const names = order.filter(name => specs.some(spec => spec.series.some(line => line.name === name)));
  linesFigure(place, specs.length > 1 ? specs.map(spec => spec.title.split(' ')[0]).join(' and ') : specs[0].title, specs, looks(names));
}

/* ---- tables of rows ---- */

/* What a row was measured under; told once where all rows have it in common. */
const CONDITIONS = [
  ['users', row => row.users], ['items', row => row.items], ['think ms', row => row.think_ms], ['hold ms', row => row.hold_ms],
  ['round trip ms', row => row.rtt_ms], ['durability', row => row.durability], ['offered/s', row => row.offered_rps],
];
/* What was measured; not shown where no row has it. */
const FIGURES = [
  ['orders/s', row => ({ value: row.throughput_rps, note: range(row.range_rps) }), row => row.throughput_rps],
  ['p50 ms', row => row.p50_ms],
  ['p99 ms', row => ({ value: row.p99_ms, note: range(row.range_p99_ms) }), row => row.p99_ms],
  ['p99.9 ms', row => row.p999_ms], ['fairness', row => row.fairness],
  ['Redis cmds', row => row.redis_cmds_per_order], ['round trips', row => row.redis_round_trips_per_order],
  ['CPU µs', row => row.cpu_us_per_order],
  ['service µs', row => part(row, 'service')], ['Redis µs', row => part(row, 'redis')], ['generator µs', row => part(row, 'generator')],
];

function part(row, name) {
  return known(row.cpu_us) && known(row.cpu_us[name]) ? row.cpu_us[name] : null;
}

function flat(place, some) {
  const told = ([, value]) => some.some(row => known(value(row)));
  const varies = ([, value]) => distinct(some.map(value)).length > 1;
  const columns = CONDITIONS.filter(varies).concat(FIGURES.filter(([name, cell, value]) => told([name, value || cell])));
  const common = CONDITIONS.filter(c => !varies(c) && told(c)).map(([name, value]) => `${name} ${typeof value(some[0]) === 'number' ? figure(value(some[0])) : value(some[0])}`);
  add(place, 'p', (common.length ? `All: ${common.join(' · ')}. ` : '') + 'Redis commands, round trips and CPU are per order.', 'soft');
  plainTable(place, ['strategy'].concat(columns.map(([name]) => name)), inOrder(some).map(row => [row.strategy].concat(columns.map(([, cell]) => cell(row)))));
}

function details(place, some) {
  const block = add(place, 'details');
  add(block, 'summary', 'All figures');
  flat(block, some);
}

/* Strategies down, what was varied across: orders a second, and `note` of the row below. */
function pivot(place, some, by, title, note) {
  const values = distinct(some.map(by).filter(known)).sort((a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : 0);
  const several = new Set(some.map(row => JSON.stringify([row.strategy, by(row)]))).size < some.length;
  const lineOf = row => several && known(row.users) ? `${row.strategy}, ${counted(row.users, 'user')}` : row.strategy;
  const cell = row => row ? { value: row.throughput_rps, note: note(row) } : '';
  plainTable(place, ['strategy'].concat(values.map(title)), distinct(inOrder(some).map(lineOf)).map(name =>
    [name].concat(values.map(value => cell(some.find(row => lineOf(row) === name && by(row) === value))))));
}

/* Cases that vary one condition, and how a value of it is headed. */
const VARIED = [
  ['think', 'Think time', 'What users pause between an answer and the next request.', row => row.think_ms, ms => `${brief(ms)} ms`],
  ['disk', 'Durability', 'What must be true of an order before its buyer is told.', row => row.durability, name => name],
  ['items', 'Items', 'As many sales at once, each with its own lock and stock.', row => row.items, items => counted(items, 'item')],
  ['hold', 'Hold time', 'How long a seller works while it holds the lock.', row => row.hold_ms, ms => `${brief(ms)} ms`],
  ['away', 'Round trip to Redis', 'As between machines, by a proxy that delays.', row => row.rtt_ms, ms => `${brief(ms)} ms`],
];

function cases() {
  VARIED.filter(([name]) => of(name).length).forEach(([name, title, note, by, heading]) => {
    const place = section(title, note + ' Orders a second, with p99 below.');
    pivot(place, of(name), by, heading, row => known(row.p99_ms) ? `p99 ${figure(row.p99_ms)} ms` : '');
    details(place, of(name));
  });
  const shown = ['users', 'open'].concat(VARIED.map(([name]) => name));
  distinct(rows.map(row => row.case)).filter(name => !shown.includes(name)).forEach(name => flat(section(`Case: ${name}`), of(name)));
}

/* ---- the other tables ---- */

function ratios() {
  if (!list('ratios').length) return;
  const place = section('Ratios and their bars', 'Larger is better; an upper limit is written as limit / measured. From low to high is the 95 % confidence interval.');
  const state = ratio => Object.hasOwn(STATES, ratio.state) ? STATES[ratio.state] : { value: '? not known', tone: 'doubt' };
  plainTable(place, ['ratio', 'value', 'low', 'high', 'rounds', 'bar', 'state'], list('ratios').map(ratio =>
    [ratio.name || '', ratio.value, ratio.low, ratio.high, ratio.rounds, ratio.bar, state(ratio)]));
}

/* A table of objects: those of the columns that one of them has. */
function objects(place, columns, all) {
  const used = columns.filter(([, value], i) => i === 0 || all.some(one => known(value(one))));
  plainTable(place, used.map(([name]) => name), all.map(one => used.map(([, value]) => value(one))));
}

const LOCK_COLUMNS = [
  ['kind', lock => lock.kind || ''], ['processes', lock => lock.processes], ['threads', lock => lock.threads],
  ['think ms', lock => lock.think_ms], ['hold ms', lock => lock.hold_ms], ['locks/s', lock => lock.ops_per_s],
  ['hand-off p50 µs', lock => (lock.handoff_us || {}).p50], ['hand-off p99 µs', lock => (lock.handoff_us || {}).p99],
  ['acquire p50 µs', lock => (lock.acquire_us || {}).p50], ['acquire p99 µs', lock => (lock.acquire_us || {}).p99],
  ['fairness', lock => lock.fairness], ['Redis cmds', lock => lock.redis_cmds_per_op], ['round trips', lock => lock.round_trips_per_op],
  ['CPU µs', lock => lock.cpu_us_per_op], ['canary lost', lock => lock.canary_lost],
];

function others() {
  if (list('locks').length)
    objects(section('Locks', 'dlock bench of each kind. Hand-off: from a release to the next waiter\'s return. Commands, round trips and CPU are per lock; canaries are lost when two hold the lock at once.'), LOCK_COLUMNS, list('locks'));
  const memory = Object.entries(data.memory || {}).filter(([, value]) => known(value));
  const named = name => { const rss = /^rss_mb_(\d+)$/.exec(name); return rss ? `resident at ${counted(+rss[1], 'connection')}, MB` : name; };
  if (memory.length) plainTable(section('Memory', 'Of one instance.'), ['what', 'value'], memory.map(([name, value]) => [named(name), value]));
  if (list('growth').length)
    objects(section('Growth', 'One sale from its first order on.'), [['orders', g => g.orders], ['orders/s', g => g.throughput_rps], ['bytes of Redis per order', g => g.bytes_per_order]], list('growth'));
  machine();
}

function machine() {
  ['machine', 'environment'].filter(name => known(data[name])).forEach(name => {
    const place = section(name === 'machine' ? 'Machine' : 'Environment');
    const told = value => ({ text: typeof value === 'string' ? value : JSON.stringify(value) });
    if (typeof data[name] === 'object') plainTable(place, ['what', 'value'], Object.entries(data[name]).map(([what, value]) => [what, told(value)]));
    else add(place, 'p', String(data[name]));
  });
}

banner();
throughput();
latency();
ratios();
cases();
others();
raw();
start();
