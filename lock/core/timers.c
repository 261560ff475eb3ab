/* The heap of timers. Each knows its place, so that it can be taken out from the middle. */
#include "core/timers.h"

#include <stdlib.h>

static void put(timers *all, int at, timer *t)
{
    all->heap[at] = t;
    t->place = at + 1;
}

static void sift(timers *all, int at)
{
    timer *t = all->heap[at];
    for (int up = (at - 1) / 2; at > 0 && t->due.us < all->heap[up]->due.us; up = (at - 1) / 2) {
        put(all, at, all->heap[up]);
        at = up;
    }
    for (int down; (down = 2 * at + 1) < all->len; at = down) {
        if (down + 1 < all->len && all->heap[down + 1]->due.us < all->heap[down]->due.us)
            down++;
        if (t->due.us <= all->heap[down]->due.us)
            break;
        put(all, at, all->heap[down]);
    }
    put(all, at, t);
}

bool dlock_timers_set(timers *all, timer *t, dlock_time due)
{
    if (all->len == all->cap) {
        int cap = all->cap ? 2 * all->cap : 64;
        timer **heap = realloc(all->heap, (size_t)cap * sizeof(*heap));
        if (!heap)
            return false;
        all->heap = heap;
        all->cap = cap;
    }
    t->due = due;
    put(all, all->len++, t);
    sift(all, all->len - 1);
    return true;
}

void dlock_timers_unset(timers *all, timer *t)
{
    int at = t->place - 1;
    if (at < 0)
        return;
    t->place = 0;
    if (at != --all->len) {
        put(all, at, all->heap[all->len]);
        sift(all, at);
    }
}

timer *dlock_timers_first(const timers *all)
{
    return all->len > 0 ? all->heap[0] : NULL;
}

void dlock_timers_free(timers *all)
{
    free(all->heap);
    *all = (timers){0};
}
