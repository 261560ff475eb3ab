'use strict';
/*
 * What every page is made of: the data in its source, sections and tables, and charts that are drawn
 * again when the width changes.
 */
const Page = (function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.getElementById('report');
  const redraws = []; /* functions that draw the charts, called again when the width changes */
  main.textContent = '';

  function add(parent, name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    parent.appendChild(made);
    return made;
  }

  function section(title, note) {
    const made = add(main, 'section');
    add(made, 'h2', title);
    if (note) add(made, 'p', note, 'soft');
    return made;
  }

  /* On a narrow page a row is a card, and each cell has its heading beside it: see style.css. */
  function emptyTable(parent, className) {
    const table = add(add(parent, 'div', null, 'scroll'), 'table', null, className);
    return { head: add(add(table, 'thead'), 'tr'), body: add(table, 'tbody') };
  }

  function addCell(row, heading, text, className) {
    const cell = add(row, 'td', text, className);
    cell.dataset.heading = heading;
    return cell;
  }

  /* A cell is a number, a text, or an object: {text} to be read, {code} to be typed, {value, note} with
     something small below, {value, tone} in a verdict's colour. */
  function fillCell(made, cell) {
    const plain = value => typeof value === 'number' || value === null || value === undefined ? Charts.figure(value) : value;
    if (cell && cell.code) add(made, 'code', cell.code);
    else if (cell && cell.text !== undefined) made.textContent = cell.text;
    else if (cell && cell.tone) add(made, 'span', plain(cell.value), 'verdict ' + cell.tone);
    else if (cell && typeof cell === 'object') {
      made.textContent = plain(cell.value);
      if (cell.note) add(made, 'span', cell.note, 'range');
    } else made.textContent = plain(cell);
  }

  function plainTable(parent, headings, rows) {
    const { head, body } = emptyTable(parent);
    const kind = cell => cell && (cell.text || cell.code) ? 'text' : '';
    headings.forEach((text, i) => { add(head, 'th', text, rows.some(cells => kind(cells[i])) ? 'text' : '').scope = 'col'; });
    rows.forEach(cells => {
      const row = add(body, 'tr');
      cells.forEach((cell, i) => fillCell(addCell(row, headings[i], null, kind(cell)), cell));
    });
  }

  /* What it was measured with (`about`, under the title, where there is one), and all of the data. */
  function raw(title, about) {
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
  function start() {
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

  return { data, main, redraws, add, section, emptyTable, addCell, plainTable, raw, start };
})();
