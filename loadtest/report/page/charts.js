'use strict';
/*
 * Charts as inline SVG. Each function draws into a <figure> at the width that it has, so that text
 * keeps its size on a phone; the page draws again when the width changes. Whatever a colour says,
 * a pattern, a dash or a label says too.
 */
const Charts = (function () {
  const SVG = 'http://www.w3.org/2000/svg';
  const DASHES = ['', '7 3', '2 3', '9 3 2 3', '4 2', '12 4', '1 2', '6 2 1 2 1 2'];
  const COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map(i => `var(--line-${i})`);
  const MARKERS = ['circle', 'square', 'triangle', 'diamond', 'cross'];
  let lastId = 0;

  function node(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* "1,250", "12.4", "0.183" */
  function figure(value) {
    if (value === null || value === undefined || !isFinite(value)) return 'n/a';
    const size = Math.abs(value);
    if (size >= 1e15) return value.toExponential(2);
    const digits = size >= 100 || value === Math.round(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  /* A number on an axis: as short as it can be. */
  function brief(value) {
    return value >= 1000 ? figure(value) : String(+value.toPrecision(6));
  }

  /* About `count` round numbers from 0 to at least `max`. */
  function ticks(max, count) {
    if (!(max > 0)) return [0, 1];
    const raw = max / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw);
    const list = [];
    for (let at = 0; at < max + step * 0.999; at += step) list.push(+at.toPrecision(12));
    return list;
  }

  function powersOfTen(low, high) {
    const list = [];
    const first = Math.floor(Math.log10(low)), last = Math.max(first + 1, Math.ceil(Math.log10(high)));
    for (let power = first; power <= last; power++) list.push(Math.pow(10, power));
    return list;
  }

  /* An empty chart: axes, grid, labels. x and y: {ticks, log, label, text}. `margin` is what stays free on the right. */
  function frame(figureElement, title, x, y, height, margin) {
    const width = Math.max(280, figureElement.clientWidth || 640);
    const box = { left: 52, right: width - (margin || 14), top: 24, bottom: (height || 260) - 38 };
    const svg = node(null, 'svg', { viewBox: `0 0 ${width} ${height || 260}`, role: 'img' });
    node(svg, 'title', {}, title);
    const place = (axis, from, to) => {
      const position = axis.log ? Math.log10 : v => v;
      const low = position(axis.ticks[0]), high = position(axis.ticks[axis.ticks.length - 1]);
      return v => from + (Math.min(Math.max(position(v), low), high) - low) / (high - low) * (to - from);
    };
    const chart = { svg, box, x: place(x, box.left, box.right), y: place(y, box.bottom, box.top) };
    y.ticks.forEach(v => {
      const at = chart.y(v);
      node(svg, 'path', { class: 'grid', d: `M${box.left} ${at}H${box.right}` });
      node(svg, 'text', { class: 'tick', x: box.left - 6, y: at + 4, 'text-anchor': 'end' }, (y.text || brief)(v));
    });
    const room = Math.ceil(x.ticks.length / Math.max(2, (box.right - box.left) / 56));
    x.ticks.forEach((v, i) => {
      if (i % room !== 0) return;
      node(svg, 'text', { class: 'tick', x: chart.x(v), y: box.bottom + 16, 'text-anchor': 'middle' }, (x.text || brief)(v));
    });
    node(svg, 'path', { class: 'axis', d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` });
    node(svg, 'text', { class: 'tick', x: box.right, y: box.bottom + 32, 'text-anchor': 'end' }, x.label);
    node(svg, 'text', { class: 'tick', x: 2, y: 9 }, y.label);
    figureElement.appendChild(svg);
    return chart;
  }

  /* Through points: slopes; or steps, because stock only changes when somebody buys. */
  function path(points, steps) {
    const at = p => steps ? `H${p[0].toFixed(1)}V${p[1].toFixed(1)}` : `L${p[0].toFixed(1)} ${p[1].toFixed(1)}`;
    return points.map((p, i) => i ? at(p) : `M${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join('');
  }

  /* A fill with a hatch on it, so that it can be told apart without colour. */
  function hatched(svg, colour, angle, gap) {
    const id = 'hatch' + (++lastId);
    const pattern = node(node(svg, 'defs'), 'pattern', { id, width: gap, height: gap, patternUnits: 'userSpaceOnUse', patternTransform: `rotate(${angle})` });
    node(pattern, 'rect', { width: gap, height: gap, fill: colour });
    node(pattern, 'path', { d: `M0 0V${gap}`, stroke: 'var(--paper)', 'stroke-width': gap > 20 ? 0 : 1.5 });
    return `url(#${id})`;
  }

  const HATCHES = { sold: [0, 40], sold_out: [45, 6], limit_reached: [0, 6], busy: [90, 5], unavailable: [135, 4], unknown: [45, 3], error: [0, 3] };

  function outcomeFill(svg, outcome) {
    const [angle, gap] = HATCHES[outcome];
    return hatched(svg, `var(--${outcome})`, angle, gap);
  }

  function legend(figureElement, entries) {
    const list = document.createElement('ul');
    list.className = 'legend';
    entries.forEach(entry => {
      const item = document.createElement('li');
      const svg = node(item, 'svg', { viewBox: '0 0 28 14', 'aria-hidden': 'true' });
      entry.draw(svg);
      item.appendChild(document.createTextNode(entry.text));
      list.appendChild(item);
    });
    figureElement.appendChild(list);
  }

  function lineKey(text, colour, dash, marker) {
    return {
      text, draw: svg => {
        node(svg, 'path', { d: 'M0 7H28', stroke: colour, 'stroke-width': 2.5, 'stroke-dasharray': dash, fill: 'none' });
        if (marker) drawMarker(svg, marker, 14, 7, colour);
      }
    };
  }

  function drawMarker(svg, kind, x, y, colour) {
    const shapes = {
      circle: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`,
      square: `M${x - 3.5} ${y - 3.5}h7v7h-7z`,
      triangle: `M${x} ${y - 4.5}l4.5 8h-9z`,
      diamond: `M${x} ${y - 5}l4.5 5l-4.5 5l-4.5 -5z`,
      cross: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`,
    };
    node(svg, 'path', { d: shapes[kind], fill: kind === 'cross' ? 'none' : colour, stroke: colour, 'stroke-width': 1.5 });
  }

  /* ---- the charts ---- */

  /* Units left, units sold; what was sold beyond the stock is filled, hatched and labelled. */
  function stock(element, run) {
    const curve = [{ t_s: 0, remaining: run.stock, units: 0 }].concat(run.stock_curve || []);
    const end = curve[curve.length - 1].t_s || 1;
    const most = Math.max(run.stock, ...curve.map(p => p.units));
    const chart = frame(element, `Stock over time with ${run.strategy}: sold ${run.sold} of ${run.stock}`,
      { ticks: ticks(end, 6), label: 'seconds since the start' }, { ticks: ticks(most, 5), label: 'units' });
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
    node(chart.svg, 'text', { class: 'haloed', x: chart.box.left + 6, y: limit - 5 }, `there were ${figure(run.stock)}`);
    if (most > run.stock)
      node(chart.svg, 'text', { class: 'haloed loud', x: chart.box.left + (chart.box.right - chart.box.left) * 0.55, y: chart.y((most + run.stock) / 2), 'text-anchor': 'middle' }, `oversold by ${figure(run.oversold)}`);
    else if (run.lost_updates > 0)
      node(chart.svg, 'text', { class: 'haloed loud', x: chart.box.right - 4, y: chart.y(Math.max(0, run.stock * 0.1)), 'text-anchor': 'end' }, `${figure(run.lost_updates)} sales are missing from the stock`);
    legend(element, [lineKey('units left', 'var(--sold)', ''), lineKey('units sold', 'var(--over)', '7 3')]);
  }

  /* Answers a second, stacked by outcome. */
  function throughput(element, run, outcomes) {
    const { width_s: width, bins } = run.timeline;
    const total = bin => outcomes.reduce((sum, o) => sum + (bin[o] || 0), 0);
    const most = Math.max(1, ...bins.map(total)) / width, end = bins.length * width;
    const chart = frame(element, `Answers a second by outcome with ${run.strategy}`,
      { ticks: ticks(end, 6), label: 'seconds since the start' }, { ticks: ticks(most, 5), label: 'answers a second' });
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

  /* p50 and p99 over time on a log axis; a line where the stock was gone. */
  function latency(element, run) {
    const width = run.timeline.width_s, bins = run.timeline.bins.filter(bin => bin.p99_ms > 0);
    if (!bins.length) return;
    const low = Math.min(...bins.map(bin => bin.p50_ms)), high = Math.max(...bins.map(bin => bin.p99_ms));
    const chart = frame(element, `Latency over time with ${run.strategy}`,
      { ticks: ticks(run.timeline.bins.length * width, 6), label: 'seconds since the start' },
      { ticks: powersOfTen(low, high), log: true, label: 'ms, log scale' });
    const line = (name, colour, dash) => {
      const points = bins.map(bin => [chart.x(bin.t_s + width / 2), chart.y(bin[name])]);
      node(chart.svg, 'path', { d: path(points), fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dash });
      if (points.length === 1) drawMarker(chart.svg, 'circle', points[0][0], points[0][1], colour);
    };
    line('p50_ms', COLOURS[0], '');
    line('p99_ms', COLOURS[1], '7 3');
    if (run.sellout_s !== null) {
      const at = chart.x(run.sellout_s), left = at > (chart.box.left + chart.box.right) / 2;
      node(chart.svg, 'path', { class: 'mark', d: `M${at} ${chart.box.top}V${chart.box.bottom}` });
      node(chart.svg, 'text', { class: 'haloed', x: at + (left ? -5 : 5), y: chart.box.top + 10, 'text-anchor': left ? 'end' : 'start' }, `sold out after ${figure(run.sellout_s)} s`);
    }
    legend(element, [lineKey('p50', COLOURS[0], ''), lineKey('p99', COLOURS[1], '7 3')]);
  }

  /* Every strategy's latency by percentile; both axes log, so that the tail is not squeezed. */
  function percentiles(element, runs, member) {
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
  function bars(element, title, list, xLabel, yLabel) {
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

  const parts = { node, brief, frame, path, lineKey, drawMarker, COLOURS, MARKERS }; /* for other charts */
  return { parts, figure, stock, throughput, latency, percentiles, bars };
})();
