/* spread.js - how something is spread: latency over its percentiles, counts over targets or users, runs of a strategy. */
import { figure } from '../parts/numbers.js';
import { COLOURS, drawMarker, frame, hatched, node, path, powersOfTen, ticks } from '../parts/svg.js';

/* Latency by percentile; both axes log, so that the tail is not squeezed. */
export function percentilesChart(element, run) {
  const curve = [run.percentiles, run.percentiles_all].find(points => points && points.length > 1);
  if (!curve) return false;
  const positive = curve.map(p => p.ms).filter(ms => ms > 0), furthest = Math.max(10, ...curve.map(p => 1 / (1 - p.q)));
  const chart = frame(element, `Latency by percentile with ${run.strategy}`,
    { ticks: powersOfTen(1, furthest), log: true, label: 'percentile', text: v => v === 1 ? '0' : (100 - 100 / v).toFixed(Math.max(0, Math.log10(v) - 2)) + ' %' },
    { ticks: powersOfTen(Math.min(...positive), Math.max(...positive)), log: true, label: 'ms, log scale' });
  const points = curve.filter(p => p.ms > 0).map(p => [chart.x(1 / (1 - p.q)), chart.y(p.ms)]);
  node(chart.svg, 'path', { d: path(points), fill: 'none', stroke: COLOURS[0], 'stroke-width': 2 });
  points.forEach((p, j) => { if (j % 8 === 0 || j === points.length - 1) drawMarker(chart.svg, 'circle', p[0], p[1], COLOURS[0]); });
  return true;
}

const ROW = 24, GAP = 26;

/*
 * A bar for each row, from the left, with the range of its runs: [{name, value, low, high, unsafe}]. What is
 * unsafe stands apart, hatched, below all others, with its verdict.
 */
export function priceChart(element, title, list) {
  const safe = list.filter(row => !row.unsafe), unsafe = list.filter(row => row.unsafe);
  const width = Math.max(280, element.clientWidth || 640), height = 8 + list.length * ROW + (unsafe.length ? GAP : 0);
  const left = Math.min(130, width * 0.33), room = width - left - 66;
  const most = Math.max(...list.map(row => Math.max(row.value || 0, row.high || 0)), 1e-9);
  const svg = node(element, 'svg', { viewBox: `0 0 ${width} ${height}`, role: 'img' });
  node(svg, 'title', {}, title);
  const x = value => left + value / most * room, cut = name => name.length > left / 7 ? name.slice(0, Math.floor(left / 7) - 1) + '…' : name;
  safe.concat(unsafe).forEach((row, i) => {
    const top = 4 + i * ROW + (row.unsafe ? GAP : 0), middle = top + ROW / 2;
    const group = node(svg, 'g', { class: row.unsafe ? 'price unsafe' : 'price' });
    node(group, 'title', {}, `${row.name}${row.unsafe ? ', ' + row.unsafe : ''}: ${figure(row.value)}` + (row.high > row.low ? `, runs from ${figure(row.low)} to ${figure(row.high)}` : ''));
    node(group, 'text', { x: left - 8, y: middle + 4, 'text-anchor': 'end' }, cut(row.name));
    if (row.value === null || row.value === undefined) {
      node(group, 'text', { class: 'tick', x: left + 4, y: middle + 4 }, 'not known');
      return;
    }
    node(group, 'rect', { x: left, y: top + 4, width: Math.max(1, x(row.value) - left), height: ROW - 9, fill: row.unsafe ? hatched(svg, 'var(--over)', 45, 6) : COLOURS[0] });
    if (row.high > row.low)
      node(group, 'path', { class: 'whisker', d: `M${x(row.low)} ${middle}H${x(row.high)}M${x(row.low)} ${middle - 4}V${middle + 4}M${x(row.high)} ${middle - 4}V${middle + 4}` });
    node(group, 'text', { x: x(Math.max(row.value, row.high || 0)) + 6, y: middle + 4 }, figure(row.value));
  });
  if (!unsafe.length) return;
  const line = 4 + safe.length * ROW + 6;
  node(svg, 'path', { class: 'mark', d: `M0 ${line}H${width}` });
  node(svg, 'text', { class: 'tick', x: 2, y: line + 14 }, `not shown to be safe: ${Array.from(new Set(unsafe.map(row => row.unsafe))).join(', ')}`);
}

/* Vertical bars: [{label, value}]. */
export function barsChart(element, title, list, xLabel, yLabel) {
  const most = Math.max(1, ...list.map(item => item.value));
  const chart = frame(element, title, { ticks: [0, list.length], label: xLabel, text: () => '' }, { ticks: ticks(most, 4), label: yLabel }, 200);
  const slot = (chart.box.right - chart.box.left) / list.length;
  list.forEach((item, i) => {
    const top = chart.y(item.value), left = chart.box.left + i * slot;
    const bar = node(chart.svg, 'rect', { x: left + slot * 0.1, y: top, width: Math.max(0.8, slot * 0.8), height: chart.box.bottom - top, fill: COLOURS[0] });
    node(bar, 'title', {}, `${item.label}: ${figure(item.value)}`);
    if (slot < 40) return;
    node(chart.svg, 'text', { class: 'tick', x: left + slot / 2, y: chart.box.bottom + 14, 'text-anchor': 'middle' }, item.label.slice(-Math.floor(slot / 6.5)));
    node(chart.svg, 'text', { x: left + slot / 2, y: top - 4, 'text-anchor': 'middle' }, figure(item.value));
  });
}
