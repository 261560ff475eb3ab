/* minute.js - what happened: the last minute as charts, the outcomes and the latest orders as tables. */
import { latencyChart, throughputChart } from './charts.js';
import { figure } from './numbers.js';
import { add, plainTable } from './tables.js';
import { byId, room, say } from './dom.js';

const OUTCOMES = ['sold', 'refused', 'unknown'];
const KEYS = 30; /* height of a chart's legend, px */
const AGO = (steps, id) => ({ label: 'seconds ago', text: v => String(Math.max(0, steps - v)), gaps: true, height: room(id) - KEYS, least: 150 });

/* The document's rows of numbers as the bins that the charts draw. */
function bins(minute) {
  const at = (name, i) => (minute[name] || [])[i];
  return (minute.sold_per_s || []).map((sold, i) => ({
    t_s: i * minute.step_ms / 1000, sold, refused: at('refused_per_s', i), unknown: at('unknown_per_s', i),
    p50_ms: at('p50_ms', i), p99_ms: at('p99_ms', i),
  }));
}

function chart(id, draw) {
  const place = byId(id), before = Array.from(place.childNodes);
  if (draw(place) === false) add(place, 'p', 'Nothing was sold in the last minute.', 'soft');
  before.forEach(child => child.remove()); /* last, so that the page keeps its height */
}

export function drawMinute({ minute, sale }) {
  if (!minute) return;
  const all = bins(minute), last = all[all.length - 1] || {}, seconds = all.length * minute.step_ms / 1000;
  const run = { strategy: sale ? sale.strategy : 'no sale', timeline: { width_s: minute.step_ms / 1000, bins: all }, sellout_s: null };
  say('throughput-now', `${figure(last.sold || 0)} sold/s, ${figure(last.refused || 0)} refused/s`);
  say('latency-now', last.p99_ms > 0 ? `p50 ${figure(last.p50_ms)} ms, p99 ${figure(last.p99_ms)} ms` : 'nothing just now');
  chart('chart-throughput', place => throughputChart(place, run, OUTCOMES, AGO(seconds, 'chart-throughput')));
  chart('chart-latency', place => latencyChart(place, run, AGO(seconds, 'chart-latency')));
}

/* ---- tables ---------------------------------------------------------------------------------- */

const shown = {}; /* what each table was drawn from */

function table(id, data, headings, rows, none) {
  const text = JSON.stringify(data), place = byId(id);
  if (shown[id] === text) return;
  shown[id] = text;
  place.replaceChildren();
  if (rows.length) plainTable(place, headings, rows);
  else add(place, 'p', none, 'soft');
}

const DOUBTFUL = ['unknown', 'error'];
/* Names that say too little by themselves. */
const WORDS = {
  not_offered: 'reservation not offered', confirmed: 'reservation paid', cancelled: 'order cancelled', expired: 'reservation expired',
  was_cancelled: 'already cancelled', was_sold: 'already sold', no_order: 'no such order',
};

export function drawOutcomes({ outcomes }) {
  const rows = Object.entries(outcomes || {}).filter(([, number]) => number > 0).sort((a, b) => b[1] - a[1]);
  table('outcomes', rows, ['told', 'buyers'], rows.map(([name, number]) =>
    [WORDS[name] || name.replace(/_/g, ' '), DOUBTFUL.includes(name) ? { value: number, tone: 'doubt' } : number]), 'Nobody has asked yet.');
}

export function drawLatest({ latest }) {
  const rows = latest || [];
  table('latest', rows, ['order', 'units', 'left then', 'fence', 'sold by'], rows.map(order =>
    [order.order, order.state === 'sold' ? order.quantity : `${order.quantity} ${order.state}`, order.remaining, order.fence ? String(order.fence) : 'none', order.instance]), 'Nothing is sold yet.');
}
