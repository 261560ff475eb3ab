/*
 * stop.js - stops the holder of the lock for a while, and says who got the lock then, as far as the
 * documents show it. Only the instances of a demonstration can do so.
 */
import { learn, token } from './admin.js';
import { byId, say, show } from './dom.js';
import { figure } from './numbers.js';
import { stopHolder } from './service.js';
import { during } from './try.js';

const LATE_MS = 1000; /* of a document, or of the process that goes on */
let watched = null; /* the answer, when it came, who had the lock next, and done() for the end */

function grant({ instance, fence }, did) {
  return `${instance} ${did}` + (fence ? ` (fence ${fence})` : '');
}

function story(ends, own) {
  const { next, stopped_ms: ms } = watched, is = ends ? 'was' : 'is';
  const first = `${grant(watched, 'held the lock')} and ${is} stopped for ${figure(ms / 1000)} s${own ? `, so this page ${is}, too` : ''}.`;
  if (next) return `${first} ${grant(next, 'got it')}, seen after ${figure(next.after_ms)} ms.`;
  return `${first} ${!ends ? 'Nobody else has it yet.' : ends === 'sale' ? 'Its sale is over.' : 'Nobody else wanted it.'}`;
}

/* The first grant behind that of the stopped one: the holder's, or that of an order. A lock without
   fences has one holder after the other, and its orders do not tell. */
function successor({ locks, latest }) {
  return (watched.fence ? [...locks, ...latest] : locks)
    .filter(({ instance, fence }) => instance && instance !== watched.instance && fence >= watched.fence)
    .sort((a, b) => a.fence - b.fence)[0];
}

export function drawStop(known) {
  show('stop-holder', known.demo === true && known.locks.length === 1);
  if (!watched) return;
  const ms = performance.now() - watched.at, same = known.sale && known.sale.sale === watched.sale;
  const next = same && !watched.next && successor(known);
  if (next) watched.next = { ...next, after_ms: Math.round(ms) };
  const ends = !same ? 'sale' : ms > watched.stopped_ms + LATE_MS && known.age_ms < LATE_MS ? 'time' : '';
  say('stop-said', story(ends, known.instance === watched.instance));
  if (!ends) return;
  watched.done();
  watched = null;
}

async function stop(item) {
  say('stop-said', 'Stopping…');
  const answer = await stopHolder(item, token());
  if (answer.status === 200) return new Promise(done => { watched = { ...answer, at: performance.now(), done }; });
  learn(answer.code);
  say('stop-said', answer.status ? `Not stopped: ${answer.detail}.` : 'No answer: it may be stopped, or not.');
}

/* shown() is the item that the page shows. */
export function setUpStop(shown) {
  byId('stop-holder').addEventListener('click', during('stop-holder', () => stop(shown())));
}
