/*
 * page.js - what every report is made of: the data in its source, sections, and charts that are drawn
 * again when the width changes.
 */
import { add } from '../parts/tables.js';

export const data = JSON.parse(document.getElementById('data').textContent);
export const main = document.getElementById('report');
export const redraws = []; /* functions that draw the charts, called again when the width changes */
main.textContent = '';

export function section(title, note) {
  const made = add(main, 'section');
  add(made, 'h2', title);
  if (note) add(made, 'p', note, 'soft');
  return made;
}

/* What it was measured with (`about`, under the title, where there is one), and all of the data. */
export function raw(title, about) {
  const place = section('Data');
  place.className = 'raw';
  if (title) {
    const environment = add(place, 'details');
    add(environment, 'summary', title);
    add(environment, 'pre', JSON.stringify(about, null, 2));
  }
  const all = add(place, 'details');
  add(all, 'summary', 'Everything, as JSON');
  const text = add(all, 'pre');
  all.addEventListener('toggle', () => { if (all.open) text.textContent = JSON.stringify(data, null, 1); });
}

/* Draws the charts, now that everything has its place. */
export function start() {
  let width = 0;
  function redraw() {
    if (main.clientWidth === width) return;
    width = main.clientWidth;
    redraws.forEach(draw => draw());
    /* For the test that looks at this page in a browser: how wide, how much too wide, how many charts. */
    const root = document.documentElement;
    root.setAttribute('data-view', `${window.innerWidth}+${root.scrollWidth - root.clientWidth} ${document.querySelectorAll('figure > svg, .plot > svg').length} charts`);
  }
  redraw();
  window.addEventListener('resize', redraw);
}
