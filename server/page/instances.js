/* instances.js - who sells: the instances, and which of them has the lock. */
import { figure } from './numbers.js';
import { add, plainTable } from './tables.js';
import { byId, keyed, say } from './dom.js';

const STATES = { up: '● up', draining: '◐ draining', down: '○ down' };
const SILENT_MS = 2500; /* who is silent for longer is down, or could not be heard of */

/* Instances are named HOST-PORT unless told otherwise. When the one that answers (`own`) has the port
   of this page in its name, another of the same host is at the port in its own; else null. */
export function pageOf(name, own, item) {
  const host = name.replace(/\d+$/, ''), port = name.slice(host.length);
  if (!host.endsWith('-') || !port || own !== host + location.port) return null;
  return `${location.protocol}//${location.hostname}:${port}/?item=${encodeURIComponent(item)}`;
}

function card(name, linked) {
  const made = document.createElement('li');
  made.dataset.instance = name;
  const head = add(made, 'p', null, 'head');
  add(head, linked ? 'a' : 'b', name, 'name');
  add(head, 'span', '', 'state');
  add(head, 'span', 'has the lock', 'holds');
  const facts = add(made, 'dl', null, 'facts small');
  ['at work', 'waiting', 'mean batch', 'max batch', 'sold'].forEach(title => {
    const place = add(facts, 'div');
    add(place, 'dt', title);
    add(place, 'dd', '–');
  });
  return made;
}

function fill(made, instance, url) {
  const { state, seen_ms: seen, batches, batched, outcomes } = instance;
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const link = made.querySelector('a.name');
  if (link && url) link.href = url;
  made.dataset.state = state;
  put(made.querySelector('.state'), (STATES[state] || state) + (seen > SILENT_MS ? `, silent for ${figure(Math.round(seen / 1000))} s` : ''));
  made.querySelector('.holds').hidden = !instance.holds;
  const values = [instance.in_flight, instance.waiting, batches > 0 ? batched / batches : null, batches > 0 ? instance.largest_batch : null, (outcomes || {}).sold];
  made.querySelectorAll('dd').forEach((place, i) => put(place, state === 'down' && i < 2 || !Number.isFinite(values[i]) ? '–' : figure(values[i])));
}

export function drawInstances({ instances, instance, item }) {
  const known = instances || [], address = name => pageOf(name, instance, item);
  const cards = keyed(byId('instances'), known.map(({ name }) => name), name => card(name, address(name) !== null));
  cards.forEach((made, i) => fill(made, known[i], address(known[i].name)));
}

/* ---- the lock -------------------------------------------------------------------------------- */

function lease(lock) {
  return lock.held && lock.ttl_ms >= 0 ? `${figure(lock.ttl_ms)} ms left` : '–';
}

function holder(lock) {
  return lock.held ? lock.instance || 'an unknown holder' : 'nobody';
}

function one(lock) {
  say('lock-holder', holder(lock));
  say('lock-fence', lock.fence || '–');
  say('lock-waiting', lock.waiting);
  say('lock-lease', lease(lock));
}

function several(locks) {
  say('lock-holder', `${locks.filter(lock => lock.held).length} of ${locks.length} segments held`);
  say('lock-fence', 'one a segment');
  say('lock-waiting', locks.reduce((sum, lock) => sum + lock.waiting, 0));
  say('lock-lease', 'one a segment');
}

export function drawLock({ locks, sale }) {
  const known = locks || [], place = byId('segments');
  if (known.length === 1) one(known[0]);
  else if (known.length > 1) several(known);
  else {
    ['lock-fence', 'lock-waiting', 'lock-lease'].forEach(id => say(id, '–'));
    say('lock-holder', sale ? 'this strategy has no lock' : '–');
  }
  place.replaceChildren();
  if (known.length > 1)
    plainTable(place, ['segment', 'held by', 'fence', 'waiting'], known.map(lock => [lock.segment, holder(lock), String(lock.fence || '–'), lock.waiting]));
}
