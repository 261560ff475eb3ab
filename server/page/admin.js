/* admin.js - may this page start sales: to everybody, to who has the token, or to nobody? */
import { byId, say, show } from './dom.js';

const KEPT = 'flashsale-admin-token';
const SAID = {
  open: '',
  token: 'Starting a sale takes the admin token.',
  closed: 'Sales can not be started here: this instance has no admin token. Start it with --admin-token-file.',
};

function kept() {
  try {
    return sessionStorage.getItem(KEPT) || '';
  } catch (error) {
    return ''; /* a browser that keeps nothing */
  }
}

export function token() {
  const typed = byId('admin-token').value;
  try {
    sessionStorage.setItem(KEPT, typed);
  } catch (error) { /* likewise */ }
  return typed;
}

/* Buttons that only the admin may press are off while nobody may, or while their work goes on. */
const busy = new Set();
let closed = false;

function apply() {
  ['start-sale', 'compare', 'stop-holder'].forEach(id => { byId(id).disabled = closed || busy.has(id); });
}

export function setBusy(id, is) {
  if (is) busy.add(id);
  else busy.delete(id);
  apply();
}

/* What a refusal tells of it; the document may be missing where there is no sale. */
export function learn(code) {
  if (code === 'token_missing' || code === 'token_wrong') drawAdmin({ admin: 'token' });
  if (code === 'admin_disabled') drawAdmin({ admin: 'closed' });
}

export function drawAdmin({ admin: how }) {
  if (!how) return;
  if (how !== 'token' || !byId('admin-place').hidden) show('admin-place', how === 'token');
  else {
    byId('admin-token').value = kept();
    show('admin-place', true);
  }
  say('admin-said', SAID[how]);
  closed = how === 'closed';
  apply();
}
