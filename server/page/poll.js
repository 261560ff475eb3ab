/*
 * poll.js - has this instance tell what the page is drawn from, twice a second.
 *
 * It tells by itself on one connection (EventSource), which costs it a sixth of what a question for
 * each document would. Where that does not begin, or ends, it is asked; when no answer comes, more
 * and more seldom, up to every eight seconds. Nothing is told while nobody looks.
 */
const EVERY_MS = 500, MOST_MS = 8000, PATIENCE_MS = 4000;

/* `item` may be null: the instance's own. Calls told(document), refused(problem) where there is no such sale, or silent(ms until the next try). */
export function poll(item, { told, refused, silent }) {
  const path = '/dashboard' + (item ? '?item=' + encodeURIComponent(item) : '');
  let timer = null, asking = false, failures = 0, stream = null;

  /* {ok, body}, or null: no answer, or none of a flashsale. */
  async function fetched() {
    try {
      const reply = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
      return { ok: reply.ok, body: await reply.json() };
    } catch (error) {
      return null;
    }
  }

  async function ask() {
    const started = performance.now();
    asking = true;
    const answer = await fetched();
    asking = false;
    failures = answer ? 0 : failures + 1;
    const next = !answer ? Math.min(MOST_MS, EVERY_MS * 2 ** failures) : MOST_MS / 4;
    if (answer && answer.ok) listen();
    else later(next - (performance.now() - started));
    if (!answer) silent(next);
    else if (answer.ok) told(answer.body);
    else refused(answer.body);
  }

  /* Until it ends, or says nothing for too long; then asks again. */
  function listen() {
    if (document.hidden) return;
    stream = new EventSource(path);
    stream.onmessage = event => {
      wait(PATIENCE_MS);
      told(JSON.parse(event.data));
    };
    stream.onerror = () => wait(EVERY_MS);
    wait(PATIENCE_MS);
  }

  function wait(ms) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      hangUp();
      ask();
    }, ms);
  }

  function hangUp() {
    if (stream) stream.close();
    stream = null;
  }

  function later(ms) {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(ask, Math.max(0, ms));
  }

  document.addEventListener('visibilitychange', () => {
    hangUp();
    if (document.hidden) clearTimeout(timer);
    else if (!asking) later(0);
  });
  later(0);
}
