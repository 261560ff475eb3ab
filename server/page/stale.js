/*
 * stale.js - the stale write, step by step, as it was recorded (stale.json): once where the holder's
 * word is taken, once where the write is guarded.
 */
import { figure } from './numbers.js';
import { add } from './tables.js';
import { byId, say, show } from './dom.js';

const STEP_MS = 1600;
let runs = [], run = null, next = 0, timer = null;

function drawState(step) {
  say('stale-lock', step && step.lock ? `${step.lock}'s, fence ${step.fence}` : 'nobody\'s');
  say('stale-remaining', step ? step.remaining : run.stock);
  say('stale-orders', step ? step.orders : 0);
  byId('stale-orders').classList.toggle('bad', step !== null && step.orders > run.stock);
}

function drawStep(step) {
  const place = add(byId('stale-steps'), 'li', null, 'lane-' + step.who.toLowerCase());
  place.dataset.does = step.does;
  add(place, 'b', step.who + ' ');
  add(place, 'span', `${figure(step.at_ms)} ms`, 'soft');
  add(place, 'p', step.text);
}

function drawEnd() {
  const safe = run.verdict === 'SAFE', place = say('stale-verdict', '');
  place.classList.toggle('bad', !safe);
  const words = safe ? 'the write of a lock that had become another\'s was refused' : `${run.steps[run.steps.length - 1].orders} orders of ${run.stock} there was`;
  say('stale-verdict', `${safe ? '✓' : '✗'} ${run.verdict}: ${words}.`);
}

function pause() {
  clearInterval(timer);
  timer = null;
  say('stale-play', 'Play');
}

function step() {
  if (next >= run.steps.length) return pause();
  drawStep(run.steps[next]);
  drawState(run.steps[next++]);
  if (next < run.steps.length) return;
  pause();
  drawEnd();
  byId('stale-step').setAttribute('aria-disabled', 'true');
}

function reset() {
  pause();
  run = runs[byId('stale-run').selectedIndex];
  next = 0;
  byId('stale-steps').replaceChildren();
  byId('stale-step').removeAttribute('aria-disabled');
  say('stale-verdict', '');
  drawState(null);
}

function play() {
  if (timer) return pause();
  if (next >= run.steps.length) reset();
  say('stale-play', 'Pause');
  step();
  timer = setInterval(step, STEP_MS);
}

export async function loadStale() {
  const reply = await fetch('/page/stale.json').catch(() => null);
  if (!reply || !reply.ok) return;
  const recorded = await reply.json();
  runs = recorded.runs;
  runs.forEach(({ guarded, strategy, lease_ms: lease }) =>
    add(byId('stale-run'), 'option', `${guarded ? 'with' : 'without'} the guard: ${strategy}, lease ${figure(lease)} ms`));
  say('stale-source', `Recorded on ${recorded.recorded} from real instances and Redis ${recorded.redis}, by ${recorded.by}.`);
  byId('stale-step').addEventListener('click', step);
  byId('stale-play').addEventListener('click', play);
  byId('stale-reset').addEventListener('click', reset);
  byId('stale-run').addEventListener('change', reset);
  reset();
  show('stale', true);
}
