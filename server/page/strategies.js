/* strategies.js - the strategies as the service tells of them: for the forms, and one of them explained. */
import { add } from './tables.js';
import { byId } from './dom.js';
import { strategies } from './service.js';

const TRY_AGAIN_MS = 3000, STANDARD = 'combined';
let list = [];

function fill(id, some) {
  const select = byId(id);
  select.replaceChildren();
  some.forEach(({ name, summary }) => { add(select, 'option', name).title = summary; });
  if (some.some(({ name }) => name === STANDARD)) select.value = STANDARD;
}

/* Words in backquotes are names of things. */
function prose(place, text) {
  text.split('`').forEach((words, i) => { add(place, i % 2 ? 'code' : 'span', words); });
}

function explain() {
  const place = byId('explain'), chosen = list.find(({ name }) => name === byId('sale-strategy').value);
  place.replaceChildren();
  if (!chosen) return;
  const facts = [chosen.locked ? 'Under a lock' : 'Without a lock', chosen.guarded ? 'the write is guarded' : 'the write is not guarded', chosen.reserves ? 'has reservations' : 'has no reservations'];
  add(place, 'h4', chosen.name);
  prose(add(place, 'p'), chosen.explanation);
  add(place, 'p', `Source: ${chosen.source}. ${facts.join('; ')}.`, 'soft');
  add(place, 'p', `Weakness: ${chosen.weakness}.`, 'weakness');
}

export async function loadStrategies() {
  const told = await strategies();
  if (!told) return setTimeout(loadStrategies, TRY_AGAIN_MS);
  list = told;
  fill('sale-strategy', list);
  /* Of a stock in segments no answer says how much is left of all. */
  fill('compare-strategy', list.filter(({ locked, sharded }) => locked && !sharded));
  byId('sale-strategy').addEventListener('change', explain);
  explain();
}
