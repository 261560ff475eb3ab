/*
 * Many lines in one chart, both axes log: twenty strategies must be told apart, so each has a colour
 * and a marker (or a dash), its name at its end, and a button of the legend that puts it away; it is
 * lit, and the others dimmed, while it or its button is pointed at or has the focus.
 *
 * A spec is a chart: {title, x: {label, values}, y: {label}, series}. A series is a line:
 * {name, ceiling, points: [{x, y, low, high, words, cross}]}; low and high are the range of the rounds,
 * words what is said of the point, cross that it is beyond what could be kept.
 */
import { brief } from '../parts/numbers.js';
import { COLOURS, drawMarker, frame, lineKey, MARKERS, node, path } from '../parts/svg.js';
import { add } from '../parts/tables.js';
import { redraws } from './page.js';

const NAME_MAX = 16, NAME_HEIGHT = 12;

/* 1, 2 and 5 of each power of ten: the last one below `low` to the first one above `high`. */
function oneTwoFive(low, high) {
  const list = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    [1, 2, 5].forEach(f => list.push(+(f * Math.pow(10, power)).toPrecision(12)));
  list.push(list[list.length - 1] * 2);
  const first = list.filter(v => v <= low).length - 1;
  const last = list.findIndex(v => v >= high);
  return list.slice(Math.max(0, first), Math.max(last, first + 1) + 1);
}

/* Where few values were measured, they are the ticks. */
function ticksOf(values) {
  const distinct = Array.from(new Set(values)).sort((a, b) => a - b);
  if (distinct.length > 1 && distinct.length <= 8) return distinct;
  return oneTwoFive(distinct[0], distinct[distinct.length - 1]);
}

/* A label for the powers of ten and, where there are few of those, for what is between. */
function sparse(ticks) {
  const decades = Math.log10(ticks[ticks.length - 1] / ticks[0]);
  return v => decades <= 3 || Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9 ? brief(v) : '';
}

export function lineStyle(name, number, peer, ceiling) {
  if (ceiling) return { colour: 'var(--ink)', dash: '2 3', marker: null };
  const marker = MARKERS[(number + Math.floor(number / COLOURS.length)) % (MARKERS.length - 1)]; /* the last, the cross, has a meaning */
  return { colour: COLOURS[number % COLOURS.length], dash: peer ? '7 4' : '', marker };
}

/* Names that would overlap become a block, whose middle is where theirs is; blocks that would, one. */
function blocksOf(sorted) {
  const blocks = [];
  sorted.forEach(end => {
    let block = { ends: [end], start: end.y };
    for (let last = blocks[blocks.length - 1]; last && last.start + last.ends.length * NAME_HEIGHT > block.start; last = blocks[blocks.length - 1]) {
      const all = blocks.pop().ends.concat(block.ends);
      block = { ends: all, start: all.reduce((sum, e, i) => sum + e.y - i * NAME_HEIGHT, 0) / all.length };
    }
    blocks.push(block);
  });
  return blocks;
}

/* The heights of the names: as near to the ends of their lines as there is room. */
function spread(ends, top, bottom) {
  const sorted = ends.slice().sort((a, b) => a.y - b.y);
  blocksOf(sorted).forEach(block => block.ends.forEach((end, i) => { end.at = block.start + i * NAME_HEIGHT; }));
  let at = top - NAME_HEIGHT;
  sorted.forEach(end => { end.at = at = Math.max(end.at, at + NAME_HEIGHT); });
  at = Math.max(bottom, top + (sorted.length - 1) * NAME_HEIGHT) + NAME_HEIGHT;
  sorted.reverse().forEach(end => { end.at = at = Math.min(end.at, at - NAME_HEIGHT); });
}

function drawBand(group, chart, points, colour) {
  const edge = member => points.map(p => [chart.x(p.x), chart.y(p[member])]);
  if (points.length < 2 || !points.every(p => p.low > 0 && p.high > 0)) {
    points.filter(p => p.low > 0 && p.high > 0).forEach(p =>
      node(group, 'path', { d: `M${chart.x(p.x)} ${chart.y(p.low)}V${chart.y(p.high)}`, stroke: colour }));
    return;
  }
  node(group, 'path', { class: 'band', d: `${path(edge('high'))}L${path(edge('low').reverse()).slice(1)}Z`, fill: colour });
}

function drawSeries(chart, series, style) {
  const group = node(chart.svg, 'g', { class: 'series', tabindex: 0, role: 'img' });
  const places = series.points.map(p => [chart.x(p.x), chart.y(p.y)]);
  const whole = series.ceiling && places.length === 1; /* measured once, it holds for all */
  const line = path(whole ? [[chart.box.left, places[0][1]], [chart.box.right, places[0][1]]] : places);
  group.dataset.series = series.name;
  group.setAttribute('aria-label', `${series.name}: ${series.points.map(p => p.words).join('; ')}`);
  node(group, 'title', {}, series.name);
  drawBand(group, chart, series.points, style.colour);
  node(group, 'path', { class: 'line', d: line, stroke: style.colour, 'stroke-dasharray': style.dash });
  node(group, 'path', { class: 'hit', d: line });
  series.points.forEach((p, i) => {
    const spot = node(group, 'g');
    node(spot, 'title', {}, `${series.name}, ${p.words}`);
    node(spot, 'circle', { cx: places[i][0], cy: places[i][1], r: 8, fill: 'transparent' });
    if (p.cross) drawMarker(spot, 'cross', places[i][0], places[i][1], style.colour);
    else if (style.marker) drawMarker(spot, style.marker, places[i][0], places[i][1], style.colour);
  });
  return { group, series, style, x: whole ? chart.box.right : places[places.length - 1][0], y: places[places.length - 1][1] };
}

function drawName(chart, end) {
  const left = chart.box.right + 12, name = end.series.name;
  node(end.group, 'path', { class: 'leader', d: `M${end.x + 6} ${end.y}L${left - 2} ${end.at}`, stroke: end.style.colour });
  node(end.group, 'text', { class: 'name', x: left, y: end.at + 4 }, name.length > NAME_MAX ? name.slice(0, NAME_MAX - 1) + '…' : name);
}

function draw(plot, spec, styles, hidden, light) {
  const shown = spec.series.filter(series => !hidden.has(series.name));
  const points = [].concat(...(shown.length ? shown : spec.series).map(series => series.points));
  const heights = [].concat(...points.map(p => [p.y, p.low, p.high])).filter(v => v > 0);
  const y = oneTwoFive(Math.min(...heights), Math.max(...heights)), x = ticksOf(spec.x.values);
  const longest = Math.max(0, ...shown.map(series => Math.min(NAME_MAX, series.name.length)));
  plot.textContent = '';
  const chart = frame(plot, spec.title, { ticks: x, log: true, label: spec.x.label },
    { ticks: y, log: true, label: spec.y.label, text: sparse(y) }, Math.max(spec.height, shown.length * NAME_HEIGHT + 80), 22 + longest * 6.4);
  chart.svg.setAttribute('role', 'group');
  const ends = shown.map(series => drawSeries(chart, series, styles.get(series.name)));
  spread(ends, chart.box.top, chart.box.bottom);
  ends.forEach(end => {
    drawName(chart, end);
    ['pointerenter', 'focus'].forEach(type => end.group.addEventListener(type, () => light(end.series.name)));
    ['pointerleave', 'blur'].forEach(type => end.group.addEventListener(type, () => light(null)));
  });
}

function button(list, text, press) {
  const made = add(add(list, 'li'), 'button', text);
  made.type = 'button';
  made.addEventListener('click', press);
  return made;
}

/* A button for each line; `changed` draws again. It stays while the plots are drawn anew, so that
   the focus does. */
function toggles(element, styles, hidden, changed, light) {
  const list = add(element, 'ul', null, 'legend toggles'), buttons = [];
  const press = choose => {
    styles.forEach((style, name) => { if (choose(name)) hidden.delete(name); else hidden.add(name); });
    buttons.forEach(made => made.setAttribute('aria-pressed', String(!hidden.has(made.dataset.series))));
    changed();
  };
  styles.forEach((style, name) => {
    const made = button(list, '', () => press(other => (other === name) === hidden.has(other)));
    const svg = node(made, 'svg', { viewBox: '0 0 28 14', 'aria-hidden': 'true' });
    lineKey(name, style.colour, style.dash, style.marker).draw(svg);
    made.appendChild(document.createTextNode(name));
    made.dataset.series = name;
    ['pointerenter', 'focus'].forEach(type => made.addEventListener(type, () => light(name)));
    ['pointerleave', 'blur'].forEach(type => made.addEventListener(type, () => light(null)));
    buttons.push(made);
  });
  button(list, 'show all', () => press(() => true));
  button(list, 'hide all', () => press(() => false));
  press(() => true);
}

/* A figure of one or more plots with the same lines: `styles` maps their names to their looks. */
export function linesFigure(parent, caption, specs, styles) {
  const element = add(parent, 'figure'), hidden = new Set();
  add(element, 'figcaption', caption);
  const plots = add(element, 'div', null, 'plots');
  const places = specs.map(() => add(plots, 'div', null, 'plot'));
  const light = name => element.querySelectorAll('.plot > svg').forEach(svg => {
    svg.classList.toggle('dimmed', name !== null && !hidden.has(name));
    svg.querySelectorAll('.series').forEach(group => group.classList.toggle('lit', group.dataset.series === name));
  });
  const redraw = () => specs.forEach((spec, i) => draw(places[i], spec, styles, hidden, light));
  toggles(element, styles, hidden, redraw, light);
  redraws.push(redraw);
}
