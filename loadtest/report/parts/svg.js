/*
 * svg.js - what charts are made of: axes, lines, hatches and legends, as inline SVG. A chart is drawn
 * into a <figure> at the width that it has, so that text keeps its size on a phone; the page draws again
 * when the width changes. Whatever a colour says, a pattern, a dash or a label says too.
 */
import { brief } from './numbers.js';

const SVG = 'http://www.w3.org/2000/svg';
export const DASHES = ['', '7 3', '2 3', '9 3 2 3', '4 2', '12 4', '1 2', '6 2 1 2 1 2'];
export const COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map(i => `var(--line-${i})`);
export const MARKERS = ['circle', 'square', 'triangle', 'diamond', 'cross'];
let lastId = 0;

export function node(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

/* About `count` round numbers from 0 to at least `max`. */
export function ticks(max, count) {
  if (!(max > 0)) return [0, 1];
  const raw = max / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw);
  const list = [];
  for (let at = 0; at < max + step * 0.999; at += step) list.push(+at.toPrecision(12));
  return list;
}

export function powersOfTen(low, high) {
  const list = [];
  const first = Math.floor(Math.log10(low)), last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  for (let power = first; power <= last; power++) list.push(Math.pow(10, power));
  return list;
}

/* An empty chart: axes, grid, labels. x and y: {ticks, log, label, text}. `margin` is what stays free on the right; `least` the
   width below which it is scaled down. */
export function frame(figureElement, title, x, y, height, margin, least) {
  const width = Math.max(least || 280, figureElement.clientWidth || 640);
  const box = { left: width < 280 ? 36 : 52, right: width - (margin || 14), top: 24, bottom: (height || 260) - 38 };
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
export function path(points, steps) {
  const at = p => steps ? `H${p[0].toFixed(1)}V${p[1].toFixed(1)}` : `L${p[0].toFixed(1)} ${p[1].toFixed(1)}`;
  return points.map((p, i) => i ? at(p) : `M${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join('');
}

/* A fill with a hatch on it, so that it can be told apart without colour. */
export function hatched(svg, colour, angle, gap) {
  const id = 'hatch' + (++lastId);
  const pattern = node(node(svg, 'defs'), 'pattern', { id, width: gap, height: gap, patternUnits: 'userSpaceOnUse', patternTransform: `rotate(${angle})` });
  node(pattern, 'rect', { width: gap, height: gap, fill: colour });
  node(pattern, 'path', { d: `M0 0V${gap}`, stroke: 'var(--paper)', 'stroke-width': gap > 20 ? 0 : 1.5 });
  return `url(#${id})`;
}

export function legend(figureElement, entries) {
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

export function lineKey(text, colour, dash, marker) {
  return {
    text, draw: svg => {
      node(svg, 'path', { d: 'M0 7H28', stroke: colour, 'stroke-width': 2.5, 'stroke-dasharray': dash, fill: 'none' });
      if (marker) drawMarker(svg, marker, 14, 7, colour);
    }
  };
}

export function drawMarker(svg, kind, x, y, colour) {
  const shapes = {
    circle: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`,
    square: `M${x - 3.5} ${y - 3.5}h7v7h-7z`,
    triangle: `M${x} ${y - 4.5}l4.5 8h-9z`,
    diamond: `M${x} ${y - 5}l4.5 5l-4.5 5l-4.5 -5z`,
    cross: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`,
  };
  node(svg, 'path', { d: shapes[kind], fill: kind === 'cross' ? 'none' : colour, stroke: colour, 'stroke-width': 1.5 });
}
