/* tables.js - elements and tables. All that is shown is set as text, never as HTML. */
import { figure } from './numbers.js';

export function add(parent, name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  parent.appendChild(made);
  return made;
}

/* On a narrow page a row is a card, and each cell has its heading beside it: see style.css. */
export function emptyTable(parent, className) {
  const table = add(add(parent, 'div', null, 'scroll'), 'table', null, className);
  return { head: add(add(table, 'thead'), 'tr'), body: add(table, 'tbody') };
}

export function addCell(row, heading, text, className) {
  const cell = add(row, 'td', text, className);
  cell.dataset.heading = heading;
  return cell;
}

/* A cell is a number, a text, or an object: {text} to be read, {code} to be typed, {value, note} with
   something small below, {value, tone} in a verdict's colour. */
function fillCell(made, cell) {
  const plain = value => typeof value === 'number' || value === null || value === undefined ? figure(value) : value;
  if (cell && cell.code) add(made, 'code', cell.code);
  else if (cell && cell.text !== undefined) made.textContent = cell.text;
  else if (cell && cell.tone) add(made, 'span', plain(cell.value), 'verdict ' + cell.tone);
  else if (cell && typeof cell === 'object') {
    made.textContent = plain(cell.value);
    if (cell.note) add(made, 'span', cell.note, 'range');
  } else made.textContent = plain(cell);
}

export function plainTable(parent, headings, rows) {
  const { head, body } = emptyTable(parent);
  const kind = cell => cell && (cell.text || cell.code) ? 'text' : '';
  headings.forEach((text, i) => { add(head, 'th', text, rows.some(cells => kind(cells[i])) ? 'text' : '').scope = 'col'; });
  rows.forEach(cells => {
    const row = add(body, 'tr');
    cells.forEach((cell, i) => fillCell(addCell(row, headings[i], null, kind(cell)), cell));
  });
}
