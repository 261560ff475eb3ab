/* gauge.js - the sale: its stock as large numbers and as a bar, its strategy, and how it stands. */
import { node, hatched } from './svg.js';
import { byId, say } from './dom.js';

const WIDTH = 1000, HEIGHT = 44, SILENT_S = 5;

/* Digits alone up to 9999, in groups of three from there on. */
export function count(number) {
  return Number.isFinite(number) ? number.toLocaleString('en-US', { useGrouping: number >= 10000 }) : '–';
}

function tone(id, bad) {
  byId(id).classList.toggle('bad', bad);
}

function units(sale) {
  return sale.units !== undefined ? sale.units : sale.orders;
}

/* What was sold fills the bar up to its mark, where the stock ends; what is beyond was not there. What
   is reserved stands behind what is sold, for it may become so. */
function bar(sale, reserved) {
  const all = units(sale), sold = all - reserved, whole = Math.max(sale.initial, all, 1), at = number => number / whole * WIDTH;
  const svg = node(null, 'svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  const words = (reserved > 0 ? `${sold} sold and ${reserved} reserved` : `${sold} sold`) + ` of ${sale.initial}`;
  node(svg, 'title', {}, words + (sale.oversold > 0 ? `, ${sale.oversold} more than there were` : ''));
  node(svg, 'rect', { class: 'room', width: WIDTH, height: HEIGHT });
  node(svg, 'rect', { class: 'sold', width: at(Math.min(sold, sale.initial)), height: HEIGHT });
  if (reserved > 0) node(svg, 'rect', { class: 'reserved', x: at(sold), width: at(reserved), height: HEIGHT, fill: hatched(svg, 'var(--line-4)', 45, 7) });
  if (sold > sale.initial) {
    const left = at(sale.initial);
    node(svg, 'rect', { class: 'over', x: left, width: WIDTH - left, height: HEIGHT, fill: hatched(svg, 'var(--over)', 45, 7) });
    node(svg, 'path', { class: 'limit', d: `M${left} 0V${HEIGHT}` });
  }
  byId('gauge').replaceChildren(svg);
}

/* What a database has of the orders. One that does not ask any more is said to be. */
function database(feed, now_ms) {
  if (!feed) return '';
  const silent_s = Math.floor(now_ms / 1000 - feed.asked_us / 1e6), behind = feed.behind > 0 ? `${count(feed.behind)} behind` : 'none behind';
  return `Database: ${count(feed.orders)} orders, ${behind}` + (silent_s >= SILENT_S ? `; it has not asked for ${silent_s} s` : '');
}

const STATES = {
  halted: ' · halted: Redis has lost orders, and the admin must decide',
  damaged: ' · damaged: its data in Redis can not be read; the numbers are the last that were',
};
const drawn = {};

export function drawSale({ sale, feed, now_ms }) {
  const numbers = sale || {}, reserved = numbers.reserved || 0;
  say('strategy-now', sale ? sale.strategy : '–');
  say('sale-state', sale ? STATES[sale.state] || ` · sale ${sale.sale}` : '');
  say('initial', count(numbers.initial));
  say('remaining', count(numbers.remaining));
  say('sold', count(sale ? units(sale) - reserved : undefined));
  say('reserved', count(reserved));
  byId('stock').classList.toggle('reserving', numbers.reserve_max_s > 0);
  say('oversold', count(numbers.oversold));
  say('lost', count(numbers.lost_updates));
  say('database', database(feed, now_ms));
  tone('oversold', numbers.oversold > 0);
  tone('lost', numbers.lost_updates > 0);
  const bars = JSON.stringify([numbers.initial, numbers.orders, numbers.units, numbers.oversold, reserved]);
  if (sale && drawn.bars !== bars) bar(sale, reserved);
  if (!sale) byId('gauge').replaceChildren();
  drawn.bars = sale ? bars : null;
}
