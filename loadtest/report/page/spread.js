/* spread.js - how something is spread: latency over its percentiles, counts over targets or users. */
import { figure } from '../parts/numbers.js';
import { COLOURS, DASHES, drawMarker, frame, legend, lineKey, MARKERS, node, path, powersOfTen, ticks } from '../parts/svg.js';

/* Every strategy's latency by percentile; both axes log, so that the tail is not squeezed. */
export function percentilesChart(element, runs, member) {
  const drawn = runs.filter(run => (run[member] || []).length > 1);
  if (!drawn.length) return false;
  const all = [].concat(...drawn.map(run => run[member]));
  const positive = all.map(p => p.ms).filter(ms => ms > 0);
  const furthest = Math.max(10, ...all.map(p => 1 / (1 - p.q)));
  const nines = powersOfTen(1, furthest);
  const chart = frame(element, 'Latency by percentile, every strategy',
    { ticks: nines, log: true, label: 'percentile', text: v => v === 1 ? '0' : (100 - 100 / v).toFixed(Math.max(0, Math.log10(v) - 2)) + ' %' },
    { ticks: powersOfTen(Math.min(...positive), Math.max(...positive)), log: true, label: 'ms, log scale' }, 340);
  const style = i => [COLOURS[i % COLOURS.length], DASHES[i % DASHES.length], MARKERS[i % MARKERS.length]];
  drawn.forEach((run, i) => {
    const [colour, dash, marker] = style(i);
    const points = run[member].filter(p => p.ms > 0).map(p => [chart.x(1 / (1 - p.q)), chart.y(p.ms)]);
    node(chart.svg, 'path', { d: path(points), fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dash });
    points.forEach((p, j) => { if (j % 8 === 0 || j === points.length - 1) drawMarker(chart.svg, marker, p[0], p[1], colour); });
  });
  legend(element, drawn.map((run, i) => lineKey(run.strategy, ...style(i))));
  return true;
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
