/*
 * poll.js - asks this instance for the document that the page is drawn from, twice a second.
 *
 * One question at a time, and none while nobody looks. When no answer comes it asks more and more
 * seldom, up to every eight seconds.
 */
const EVERY_MS = 500, MOST_MS = 8000, PATIENCE_MS = 4000;

/* `item` may be null: the instance's own. Calls told(document), refused(problem) where there is no such sale, or silent(ms until the next try). */
export function poll(item, { told, refused, silent }) {
  let timer = null, asking = false, failures = 0;

  /* {ok, body}, or null: no answer, or none of a flashsale. */
  async function fetched() {
    try {
      const reply = await fetch('/dashboard' + (item ? '?item=' + encodeURIComponent(item) : ''), { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
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
    const next = !answer ? Math.min(MOST_MS, EVERY_MS * 2 ** failures) : answer.ok ? EVERY_MS : MOST_MS / 4;
    later(next - (performance.now() - started));
    if (!answer) silent(next);
    else if (answer.ok) told(answer.body);
    else refused(answer.body);
  }

  function later(ms) {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(ask, Math.max(0, ms));
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else if (!asking) later(0);
  });
  later(0);
}
