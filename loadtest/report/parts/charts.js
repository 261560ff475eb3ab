/* charts.js - a sale over time: its stock, its answers, how long they took. */
import { figure } from './numbers.js';
import { COLOURS, drawMarker, frame, hatched, legend, lineKey, node, path, powersOfTen, ticks } from './svg.js';

const HATCHES = { sold: [0, 40], sold_out: [45, 6], refused: [45, 6], limit_reached: [0, 6], busy: [90, 5], unavailable: [135, 4], unknown: [45, 3], error: [0, 3], unanswered: [135, 3] };

function outcomeFill(svg, outcome) {
  const [angle, gap] = HATCHES[outcome];
  return hatched(svg, `var(--${outcome})`, angle, gap);
}

export const UNANSWERED_KEY = { text: 'unanswered', draw: svg => node(svg, 'rect', { width: 28, height: 14, fill: outcomeFill(svg, 'unanswered') }) };
const STOCK_KEYS = [lineKey('units left', 'var(--sold)', ''), lineKey('units sold', 'var(--over)', '7 3')];
const RESERVED_KEY = lineKey('units reserved', 'var(--busy)', '2 3');
export const LATENCY_KEYS = [lineKey('p50', COLOURS[0], ''), lineKey('p99', COLOURS[1], '7 3')];

/* What the stock's lines are. */
export function stockKeys(reserves) {
  return reserves ? STOCK_KEYS.concat(RESERVED_KEY) : STOCK_KEYS;
}

/*
 * Units left, units sold, of these units reserved; what was sold beyond the stock is filled, hatched and labelled. `small`: {height,
 * least} of one of many charts, which have one legend.
 */
export function stockChart(element, run, small) {
  const curve = [{ t_s: 0, remaining: run.stock, units: 0 }].concat(run.stock_curve || []);
  const end = curve[curve.length - 1].t_s || 1;
  const most = Math.max(run.stock, ...curve.map(p => p.units));
  const chart = frame(element, `Stock over time with ${run.strategy}: sold ${run.sold} of ${run.stock}`,
    { ticks: ticks(end, small ? 3 : 6), label: small ? 's' : 'seconds since the start' }, { ticks: ticks(most, small ? 3 : 5), label: 'units' }, small && small.height, 0, small && small.least);
  const sold = curve.map(p => [chart.x(p.t_s), chart.y(p.units)]);
  const limit = chart.y(run.stock);
  const over = curve.map(p => [chart.x(p.t_s), chart.y(Math.max(p.units, run.stock))]);
  if (most > run.stock) {
    const fill = hatched(chart.svg, 'var(--over)', 45, 7);
    const right = over[over.length - 1][0].toFixed(1);
    node(chart.svg, 'path', { class: 'oversold', d: `${path(over, true)}L${right} ${limit}H${over[0][0]}Z`, fill, 'fill-opacity': 0.75 });
  }
  node(chart.svg, 'path', { class: 'mark', d: `M${chart.box.left} ${limit}H${chart.box.right}` });
  node(chart.svg, 'path', { d: path(sold, true), fill: 'none', stroke: 'var(--over)', 'stroke-width': 2, 'stroke-dasharray': '7 3' });
  node(chart.svg, 'path', { d: path(curve.map(p => [chart.x(p.t_s), chart.y(Math.max(0, p.remaining))]), true), fill: 'none', stroke: 'var(--sold)', 'stroke-width': 2.5 });
  const reserves = curve.some(p => p.reserved > 0);
  if (reserves)
    node(chart.svg, 'path', { class: 'reserved', d: path(curve.map(p => [chart.x(p.t_s), chart.y(p.reserved || 0)]), true), fill: 'none', stroke: 'var(--busy)', 'stroke-width': 2, 'stroke-dasharray': '2 3' });
  if (!small) node(chart.svg, 'text', { class: 'haloed', x: chart.box.left + 6, y: limit - 5 }, `there were ${figure(run.stock)}`);
  if (most > run.stock && chart.box.right - chart.box.left > 150)
    node(chart.svg, 'text', { class: 'haloed loud', x: chart.box.left + (chart.box.right - chart.box.left) * 0.55, y: chart.y((most + run.stock) / 2), 'text-anchor': 'middle' }, `oversold by ${figure(run.oversold)}`);
  else if (run.lost_updates > 0)
    node(chart.svg, 'text', { class: 'haloed loud', x: chart.box.right - 4, y: chart.y(Math.max(0, run.stock * 0.1)), 'text-anchor': 'end' }, `${figure(run.lost_updates)} sales are missing from the stock`);
  if (!small) legend(element, stockKeys(reserves));
}

/* The axis of time: how it is labelled; `gaps`: a line ends where nothing was measured; `height`
   and `least`: of the chart and its width, px. */
const SINCE = { label: 'seconds since the start' };

/* Answers a second, stacked by outcome. */
export function throughputChart(element, run, outcomes, time = SINCE) {
  const { width_s: width, bins } = run.timeline;
  const total = bin => outcomes.reduce((sum, o) => sum + (bin[o] || 0), 0);
  const most = Math.max(1, ...bins.map(total)) / width, end = bins.length * width;
  const chart = frame(element, `Answers a second by outcome with ${run.strategy}`,
    { ticks: ticks(end, 6), ...time }, { ticks: ticks(most, time.height < 130 ? 2 : 5), label: 'answers a second' }, time.height, 0, time.least);
  const base = bins.map(() => 0);
  const present = outcomes.filter(o => bins.some(bin => bin[o]));
  present.forEach(outcome => {
    const fill = outcomeFill(chart.svg, outcome);
    let shape = '';
    bins.forEach((bin, i) => {
      if (!bin[outcome]) return;
      const low = chart.y(base[i] / width), high = chart.y((base[i] += bin[outcome]) / width);
      const left = chart.x(i * width), right = chart.x((i + 1) * width);
      shape += `M${left.toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}H${right.toFixed(1)}V${low.toFixed(1)}Z`;
    });
    node(chart.svg, 'path', { d: shape, fill });
  });
  legend(element, present.map(outcome => ({
    text: outcome.replace('_', ' '),
    draw: svg => node(svg, 'rect', { width: 28, height: 14, fill: outcomeFill(svg, outcome) })
  })));
}

/* The bins in rows, parted where two lie further from each other than this. */
function stretches(bins, most) {
  const list = [];
  bins.forEach((bin, i) => {
    if (i === 0 || bin.t_s - bins[i - 1].t_s > most) list.push([]);
    list[list.length - 1].push(bin);
  });
  return list;
}

/* Requests without an answer, by the time at which they were given up: bars from the floor. */
function drawUnanswered(chart, run) {
  const { width_s: width, bins } = run.timeline, lost = bins.filter(bin => bin.unanswered > 0);
  const most = Math.max(...lost.map(bin => bin.unanswered)), height = (chart.box.bottom - chart.box.top) * 0.4;
  const fill = lost.length && outcomeFill(chart.svg, 'unanswered');
  lost.forEach(bin => {
    const top = chart.box.bottom - bin.unanswered / most * height, left = chart.x(bin.t_s);
    const bar = node(chart.svg, 'rect', { class: 'unanswered', x: left, y: top, width: Math.max(2, chart.x(bin.t_s + width) - left), height: chart.box.bottom - top, fill });
    node(bar, 'title', {}, `${figure(bin.unanswered)} unanswered`);
  });
  if (!lost.length) return false;
  const highest = chart.x(lost.find(bin => bin.unanswered === most).t_s), late = highest > (chart.box.left + chart.box.right) / 2;
  node(chart.svg, 'text', { class: 'haloed tick', x: highest, y: chart.box.bottom - height - 4, 'text-anchor': late ? 'end' : 'start' }, `${figure(lost.reduce((sum, bin) => sum + bin.unanswered, 0))} unanswered`);
  return true;
}

/* The longest time without any answer, where it can be seen: two bins, and a twentieth of the run. What
   writes its label, which comes last. */
function drawSilence(chart, run) {
  const { from, length } = run.silence_s || {}, { top, bottom } = chart.box;
  if (!(length > 2 * run.timeline.width_s && length > 0.05 * run.timeline.width_s * run.timeline.bins.length)) return () => {};
  const left = chart.x(from), right = chart.x(from + length);
  node(chart.svg, 'path', { class: 'silence', d: `M${left} ${top}H${right}V${bottom}H${left}Z` });
  return () => node(chart.svg, 'text', { class: 'haloed tick', x: Math.min(left + 3, chart.box.right - 90), y: bottom - 18 }, `${figure(length)} s of silence`);
}

/*
 * p50 and p99 over time on a log axis; a line where the stock was gone, a band where nobody got an
 * answer. `small`: {height, low, high} of one of many charts, with one legend and the same axis of
 * latency. False: there is nothing to draw.
 */
export function latencyChart(element, run, time = SINCE, small) {
  const width = run.timeline.width_s, bins = run.timeline.bins.filter(bin => bin.p99_ms > 0);
  if (!bins.length) return false;
  const { low, high } = small || { low: Math.min(...bins.map(bin => bin.p50_ms)), high: Math.max(...bins.map(bin => bin.p99_ms)) };
  const chart = frame(element, `Latency over time with ${run.strategy}`,
    { ticks: ticks(run.timeline.bins.length * width, small ? 3 : 6), ...time, ...(small && { label: 's' }) },
    { ticks: powersOfTen(low, high), log: true, label: small ? 'ms' : 'ms, log scale' }, (small || time).height, 0, (small || time).least);
  const label = drawSilence(chart, run);
  const line = (name, colour, dash) => {
    stretches(bins, time.gaps ? width * 1.5 : Infinity).forEach(some => {
      const points = some.map(bin => [chart.x(bin.t_s + width / 2), chart.y(bin[name])]);
      node(chart.svg, 'path', { d: path(points), fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dash });
      if (points.length === 1) drawMarker(chart.svg, 'circle', points[0][0], points[0][1], colour);
    });
  };
  line('p50_ms', COLOURS[0], '');
  line('p99_ms', COLOURS[1], '7 3');
  const lost = drawUnanswered(chart, run);
  label();
  if (run.sellout_s !== null) {
    const at = chart.x(run.sellout_s), left = at > (chart.box.left + chart.box.right) / 2;
    node(chart.svg, 'path', { class: 'mark', d: `M${at} ${chart.box.top}V${chart.box.bottom}` });
    node(chart.svg, 'text', { class: 'haloed', x: at + (left ? -5 : 5), y: chart.box.top + 10, 'text-anchor': left ? 'end' : 'start' }, small ? 'sold out' : `sold out after ${figure(run.sellout_s)} s`);
  }
  if (!small) legend(element, lost ? LATENCY_KEYS.concat(UNANSWERED_KEY) : LATENCY_KEYS);
  return true;
}
