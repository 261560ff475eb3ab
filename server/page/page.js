/*
 * page.js - the live page: the document that an instance makes twice a second, drawn; and what can be
 * tried. Each part is a module that knows its own elements only.
 */
import { drawAdmin } from './admin.js';
import { setUpComparison } from './compare.js';
import { byId, say, show } from './dom.js';
import { drawSale } from './gauge.js';
import { drawInstances, drawLock, pageOf } from './instances.js';
import { drawLatest, drawMinute, drawOutcomes } from './minute.js';
import { figure } from './numbers.js';
import { poll } from './poll.js';
import { drawReserving, setUpReserving } from './reserve.js';
import { setUpSales } from './sale.js';
import { loadStale } from './stale.js';
import { drawStop, setUpStop } from './stop.js';
import { loadStrategies } from './strategies.js';
import { add } from './tables.js';
import { setUpBuying } from './try.js';

const root = document.documentElement;
const asked = new URLSearchParams(location.search).get('item');
let item = asked || 'P0001', last = null; /* the document that is shown */

function setItem(name) {
  item = name;
  say('item-now', name);
  byId('item-chosen').value = byId('sale-item').value = name;
  document.title = `${name} · flashsale`;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

function trouble(words, links = []) {
  const place = byId('trouble'), text = words + links.map(([name]) => name).join();
  show('trouble', words !== '');
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren();
  add(place, 'p', words);
  if (!links.length) return;
  const list = add(place, 'p', 'Others of this sale: ');
  links.forEach(([name, url]) => {
    add(list, 'a', name).href = url;
    list.append(' ');
  });
}

function others() {
  const known = last ? last.instances || [] : [];
  return known.filter(({ name, state }) => state !== 'down' && name !== last.instance).map(({ name }) => [name, pageOf(name, last.instance, item)]).filter(([, url]) => url);
}

function silent(next) {
  root.dataset.live = 'off';
  trouble(`This instance does not answer. What is shown is the last that was known; the next try is in ${figure(next / 1000)} s.`, others());
}

/* ---- what is so ------------------------------------------------------------------------------ */

function draw(known) {
  last = known;
  [drawSale, drawInstances, drawLock, drawMinute, drawOutcomes, drawLatest, drawReserving, drawAdmin, drawStop].forEach(part => part(known));
  say('answered-by', `answered by ${known.instance || 'this instance'}, version ${known.version || 'unknown'}`);
  root.dataset.ready = 'yes';
}

/* The document is made anew while Redis is away, too; its numbers are not. */
function ageOf({ sale, sale_age_ms: age }) {
  return sale ? `What is shown is ${figure(Math.round(age / 1000))} s old.` : `Nothing is known of the sale of ${item} as yet.`;
}

function told(known) {
  root.dataset.live = 'on';
  if (!asked && known.item && known.item !== item) setItem(known.item);
  if (known.redis === 'down') trouble(`Redis does not answer. ${ageOf(known)}`);
  else if (!known.sale) trouble(ageOf(known));
  else trouble('');
  draw(known);
}

function refused(problem) {
  root.dataset.live = 'on';
  trouble(problem.code === 'no_such_item' ? `There is no sale of ${item}. Start one at the end of this page.` : `${problem.title}: ${problem.detail}.`);
  draw({ ...last, sale: null, locks: [], latest: [] });
}

/* ---- once ------------------------------------------------------------------------------------ */

function visit(name) {
  if (name !== item) location.assign('/?item=' + encodeURIComponent(name));
}

setItem(item);
byId('choose').addEventListener('submit', event => {
  event.preventDefault();
  visit(byId('item-chosen').value);
});
setUpBuying(() => item);
setUpReserving(() => item);
setUpSales(visit);
setUpStop(() => item);
setUpComparison();
loadStrategies();
loadStale();
poll(asked, { told, refused, silent });
