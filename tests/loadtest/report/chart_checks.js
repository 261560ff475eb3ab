/*
 * What test_chart.c wants to be true of the bench's page: `report` is its document, `bench` the file
 * that it was made of, `own` where what is wrong is noted.
 */
const wrong = [];
/* Noted at once: a page that is wrong enough stops this script. */
const check = (good, words) => {
  if (good) return;
  wrong.push(words);
  own.setAttribute('data-wrong', wrong.join(' | '));
};
const all = (root, selector) => Array.from(root.querySelectorAll(selector));
const number = text => parseFloat(text.replace(/,/g, ''));
const view = report.defaultView;
const plots = all(report, '.plot > svg');
const seriesOf = (plot, name) => all(plot, '.series').find(group => group.dataset.series === name);
const rowsOf = name => bench.rows.filter(row => row.case === name);
const strategies = Array.from(new Set(rowsOf('users').map(row => row.strategy)));

/* ---- lines ---- */

check(plots.length === 3, `${plots.length} plots`);
strategies.forEach(name => {
  const group = seriesOf(plots[0], name);
  if (!group) return check(false, `${name} has no line`);
  const line = group.querySelector('.line'), dash = line.getAttribute('stroke-dasharray');
  const rows = rowsOf('users').filter(row => row.strategy === name);
  const corners = (line.getAttribute('d').match(/[ML]/g) || []).length;
  check(corners === Math.max(2, rows.length), `${name}: ${corners} corners`);
  check((dash !== '') === (name.startsWith('go:') || name === 'livez'), `${name}: dashes "${dash}"`);
  check(group.querySelector('.band, path[stroke]:not(.line)') !== null, `${name}: no range`);
  check(group.getAttribute('tabindex') === '0', `${name}: can not be reached by keyboard`);
  rows.forEach(row => check(all(group, 'title').some(title => title.textContent.startsWith(name + ', ') &&
    number(title.textContent.slice(title.textContent.indexOf(': ', name.length) + 2)) === row.throughput_rps), `${name} at ${row.users}: no title`));
});

/* What is faster stands higher, at the x of its users. */
const spots = strategies.flatMap(name => all(seriesOf(plots[0], name) || plots[0], 'circle').map((circle, i) => {
  const rows = rowsOf('users').filter(row => row.strategy === name).sort((a, b) => a.users - b.users);
  return { row: rows[i], x: +circle.getAttribute('cx'), y: +circle.getAttribute('cy') };
})).filter(spot => spot.row);
check(spots.length === rowsOf('users').length, `${spots.length} points`);
spots.forEach(a => spots.forEach(b => {
  if (a.row.throughput_rps > b.row.throughput_rps) check(a.y < b.y, `${a.row.strategy} at ${a.row.users} is not above ${b.row.strategy} at ${b.row.users}`);
  if (a.row.users > b.row.users) check(a.x > b.x, `${a.row.users} users are not right of ${b.row.users}`);
}));

/* Names are whole, in the chart, and not on one another. */
plots.forEach((plot, i) => {
  const names = all(plot, '.name').map(text => text.getBoundingClientRect()).sort((a, b) => a.top - b.top);
  const box = plot.getBoundingClientRect();
  check(names.every(name => name.right <= box.right + 1 && name.left >= box.left && name.bottom <= box.bottom), `plot ${i}: a name is cut off`);
  check(names.every((name, j) => j === 0 || name.top - names[j - 1].top >= 11), `plot ${i}: names overlap`);
});

/* The first rate that is not kept ends a line, with a cross. */
const open = rowsOf('open').filter(row => row.strategy === 'combined').sort((a, b) => a.offered_rps - b.offered_rps);
const kept = open.filter(row => row.throughput_rps >= row.offered_rps * 0.95).length;
check(kept > 0 && kept + 1 < open.length, 'the bench has no knee');
plots.slice(1).forEach((plot, i) => check(all(seriesOf(plot, 'combined'), 'circle').length === kept + 1, `latency plot ${i} does not end at the knee`));

/* ---- by hand ---- */

const buttons = all(report, '.toggles')[0].querySelectorAll('button');
const press = Array.from(buttons).find(button => button.dataset.series === 'combined');
press.click();
check(press.getAttribute('aria-pressed') === 'false' && !seriesOf(all(report, '.plot > svg')[0], 'combined'), 'combined can not be put away');
press.click();
check(press.getAttribute('aria-pressed') === 'true' && seriesOf(all(report, '.plot > svg')[0], 'combined'), 'combined does not come back');
buttons[buttons.length - 1].click();
check(all(all(report, '.plot > svg')[0], '.series').length === 0, 'not all are put away');
buttons[buttons.length - 2].click();
check(all(all(report, '.plot > svg')[0], '.series').length === strategies.length, 'not all come back');
const fresh = all(report, '.plot > svg')[0], lit = seriesOf(fresh, 'none');
lit.dispatchEvent(new view.FocusEvent('focus'));
check(fresh.classList.contains('dimmed') && all(fresh, '.lit').length === 1 && lit.classList.contains('lit'), 'the focus lights no line');
lit.dispatchEvent(new view.FocusEvent('blur'));
press.dispatchEvent(new view.PointerEvent('pointerenter'));
check(seriesOf(fresh, 'combined').classList.contains('lit') && all(fresh, '.lit').length === 1, 'the button lights no line');
press.dispatchEvent(new view.PointerEvent('pointerleave'));
check(!fresh.classList.contains('dimmed'), 'it stays dim');

/* ---- tables ---- */

const sections = all(report, 'section');
const under = title => sections.find(section => section.querySelector('h2').textContent === title);
const cell = (table, first, heading) => {
  const row = all(table, 'tbody tr').find(tr => tr.cells[0].textContent === first);
  return row && Array.from(row.cells).find(td => td.dataset.heading === heading);
};
const shows = (title, first, heading, value) => {
  const section = under(title), found = section && cell(section.querySelector('table'), first, heading);
  check(found && number(found.firstChild.textContent) === value, `${title}: ${first}, ${heading} is not ${value} but ${found ? found.textContent : 'missing'}`);
};
const plural = (count, thing) => `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`;
rowsOf('users').forEach(row => shows('Throughput over users', row.strategy, plural(row.users, 'user'), row.throughput_rps));
[['think', 'Think time', row => `${row.think_ms} ms`], ['hold', 'Hold time', row => `${row.hold_ms} ms`], ['away', 'Round trip to Redis', row => `${row.rtt_ms} ms`],
  ['disk', 'Durability', row => row.durability], ['items', 'Items', row => plural(row.items, 'item')]].forEach(([name, title, heading]) =>
  rowsOf(name).forEach(row => shows(title, row.strategy, heading(row), row.throughput_rps)));
const latency = all(under('Latency over offered rate').querySelector('table'), 'tbody tr');
check(latency.length === rowsOf('open').length, `${latency.length} rows of latency`);
rowsOf('open').forEach(row => check(latency.some(tr => {
  const at = heading => number(Array.from(tr.cells).find(td => td.dataset.heading === heading).firstChild.textContent);
  return tr.cells[0].textContent === row.strategy && at('offered/s') === row.offered_rps && at('p50 ms') === row.p50_ms && at('p99 ms') === row.p99_ms;
}), `no row of ${row.strategy} at ${row.offered_rps}/s`));
const states = { reached: '✓ reached', missed: '✗ MISSED', inconclusive: '? inconclusive' };
bench.ratios.forEach(ratio => {
  ['value', 'low', 'high', 'rounds', 'bar'].forEach(name => ratio[name] === null || shows('Ratios and their bars', ratio.name, name, ratio[name]));
  check(cell(under('Ratios and their bars'), ratio.name, 'state').textContent === states[ratio.state], `${ratio.name} is judged wrongly`);
});
bench.locks.forEach(lock => { shows('Locks', lock.kind, 'locks/s', lock.ops_per_s); shows('Locks', lock.kind, 'hand-off p99 µs', lock.handoff_us.p99); });
shows('Memory', 'resident at 1,000 connections, MB', 'value', bench.memory.rss_mb_1000);
bench.growth.forEach(growth => shows('Growth', growth.orders.toLocaleString('en-US'), 'bytes of Redis per order', growth.bytes_per_order));
check(cell(under('Machine'), 'cpu', 'value').textContent === bench.machine.cpu, 'the machine is not shown as it is');
check(under('Case: an odd one') !== undefined, 'a case that nobody knows is not shown');
check(report.querySelector('.banner').textContent.includes('1 of 3 bars reached') && report.querySelector('.banner').textContent.includes('QUICK'), 'the banner says something else');
check(all(report, 'details').some(block => block.textContent.includes('service µs')), 'no CPU of the service');

/* ---- nothing from outside, nothing from within ---- */

check(all(report, 'script').length === 2 && !report.querySelector('img, b, iframe, [onerror], [onclick]'), 'a text became an element');
check(view.hacked === undefined, 'a text was run');
check(view.performance.getEntriesByType('resource').length === 0, 'something was fetched');

/* ---- all of it can be seen ---- */

all(report, 'details').forEach(block => { block.open = true; });
const edge = report.documentElement.clientWidth;
const cut = all(report, 'td').filter(td => { const at = td.getBoundingClientRect(); return at.right > edge || at.left < 0 || (td.textContent !== '' && !at.width); });
check(cut.length === 0, `${cut.length} cells are cut off, as "${cut.length ? cut[0].textContent : ''}"`);
check(report.documentElement.scrollWidth <= edge, `the page is ${report.documentElement.scrollWidth} wide, not ${edge}`);
if (!wrong.length) own.setAttribute('data-wrong', 'nothing');
