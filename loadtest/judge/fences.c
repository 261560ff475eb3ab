/*
 * fences.c - fences only rise, one fence belongs to one owner, and nobody releases another client's
 * lock.
 *
 * An order with a lower fence than an order recorded before it was written by a holder whose lock
 * had ended: a stale write. One grant may sell many orders, so fences may repeat, but never fall.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- orders ---------------------------------------------------------------------------------- */

/* NULL is first. */
static int by_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : compare(a != NULL, b != NULL);
}

typedef struct lt_fenced {
    lt_place place;
    int64_t fence, line;
    const char *instance; /* NULL: not known */
} lt_fenced;

/* The order of lines carries no meaning, so entries with one number are told apart by their
 * content. */
static int by_number(const void *left, const void *right)
{
    const lt_fenced *a = left, *b = right;
    return either(compare_places(a->place, b->place),
                  either(compare(a->fence, b->fence), by_name(a->instance, b->instance)));
}

static bool of_two_instances(const lt_fenced *a, const lt_fenced *b)
{
    return a->fence == b->fence && a->instance && b->instance &&
           strcmp(a->instance, b->instance) != 0;
}

/* The ledger's entries that have a fence and whose number is known. */
static lt_fenced *collect(lt_judging *j, size_t *ret_len)
{
    const lt_history *h = j->history;
    lt_fenced *fenced = zeroed(h->orders_len, sizeof(*fenced));
    *ret_len = 0;
    EACH(const lt_order, order, h->orders) {
        lt_place place = place_of_order(h, order);
        if (order->audit == j->books && order->told.fence > 0 && place.number != UNKNOWN)
            fenced[(*ret_len)++] = (lt_fenced){
                place, order->told.fence, order->line,
                text_told(order->told.instance) ? text_of(j, order->told.instance) : NULL};
    }
    return fenced;
}

void check_fences(lt_judging *j)
{
    size_t len;
    lt_fenced *fenced = collect(j, &len);
    const lt_fenced *highest = NULL;
    qsort(fenced, len, sizeof(*fenced), by_number);
    for (size_t i = 0; i < len; i++) {
        const lt_fenced *order = &fenced[i];
        bool same_segment = highest && highest->place.segment == order->place.segment;
        if (same_segment && order->fence < highest->fence)
            violated(j,
                     "order %" PRId64 " has fence %" PRId64 " (line %" PRId64 "), after %" PRId64
                     " of order %" PRId64 " (line %" PRId64 ")",
                     order->place.number, order->fence, order->line, highest->fence,
                     highest->place.number, highest->line);
        else if (same_segment && of_two_instances(highest, order))
            violated(j, "fence %" PRId64 " is %s's (line %" PRId64 ") and %s's (line %" PRId64 ")",
                     order->fence, highest->instance, highest->line, order->instance, order->line);
        if (!same_segment || order->fence >= highest->fence)
            highest = order;
    }
    free(fenced);
    settle_by_ledger(j, len > 0 ? STATE_OK : STATE_NOTHING);
}

/* If one answer tells a fence, all whole answers do. */
static void check_told_fences(lt_judging *j)
{
    const lt_history *h = j->history;
    bool told = false;
    for (size_t i = 0; i < h->asks_len; i++)
        told = told || (h->asks[i].answer == ANSWER_YES && h->asks[i].told.fence > 0);
    for (size_t i = 0; told && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        bool none = ask->told.fence == UNKNOWN || ask->told.fence == 0;
        if (ask->answer == ANSWER_YES && text_told(ask->told.request) && none)
            violated(j, "%s was told of an order without a fence (line %" PRId64 ")",
                     text_of(j, ask->request_name), ask->line);
    }
}

/* A sale has one strategy: if one order has a fence, all have. */
void check_fenced(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t fences = h->sale.fences;
    bool told = false, silent = false;
    for (size_t i = 0; i < h->orders_len; i++)
        told = told || h->orders[i].told.fence > 0;
    if (!known(fences) && told)
        fences = 1;
    EACH(const lt_order, order, h->orders) {
        bool lacks = !known(order->told.fence) && known(order->told.remaining);
        silent = silent || lacks;
        if (fences == 1 && (order->told.fence == 0 || (told && lacks)))
            violated(j, "the order of %s (line %" PRId64 ") has no fence",
                     text_of(j, order->told.request), order->line);
        else if (fences == 0 && order->told.fence > 0)
            violated(j, "the order of %s (line %" PRId64 ") has a fence",
                     text_of(j, order->told.request), order->line);
    }
    if (fences == 1)
        check_told_fences(j);
    if (fences == 1 && silent && j->ledger)
        settle(j, STATE_UNCHECKED, "no order tells its fence");
    else
        settle_by_ledger(j, known(fences) ? STATE_OK : STATE_NOTHING);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int by_key(const void *left, const void *right, void *judging)
{
    const lt_judging *j = judging;
    const lt_lock_line *a = *(const lt_lock_line *const *)left;
    const lt_lock_line *b = *(const lt_lock_line *const *)right;
    int by_time = either(compare(a->at_us, b->at_us), compare(a->fence, b->fence));
    return either(strcmp(text_of(j, a->key), text_of(j, b->key)),
                  either(by_time, strcmp(text_of(j, a->owner), text_of(j, b->owner))));
}

static void check_samples(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_lock_line **locks = zeroed(h->locks_len, sizeof(*locks));
    const lt_lock_line *highest = NULL, *owned = NULL;
    for (size_t i = 0; i < h->locks_len; i++)
        locks[i] = &h->locks[i];
    qsort_r(locks, h->locks_len, sizeof(*locks), by_key, j);
    for (size_t i = 0; i < h->locks_len; i++) {
        const lt_lock_line *lock = locks[i];
        const char *key = text_of(j, lock->key);
        if (highest && highest->key != lock->key)
            highest = owned = NULL;
        if (highest && lock->fence < highest->fence)
            violated(j,
                     "%s's fence is %" PRId64 " (line %" PRId64 "), after %" PRId64
                     " (line %" PRId64 ")",
                     key, lock->fence, lock->line, highest->fence, highest->line);
        if (owned && lock->fence > 0 && owned->fence == lock->fence &&
            texts_differ(owned->owner, lock->owner))
            violated(
                j, "%s's fence %" PRId64 " is %s's (line %" PRId64 ") and %s's (line %" PRId64 ")",
                key, lock->fence, text_of(j, owned->owner), owned->line, text_of(j, lock->owner),
                lock->line);
        if (!highest || lock->fence >= highest->fence)
            highest = lock;
        if (lock->owner != TEXT_NONE)
            owned = lock;
    }
    free(locks);
}

void check_locks(lt_judging *j)
{
    const lt_history *h = j->history;
    check_samples(j);
    for (size_t i = 0; i < h->strangers_len; i++) {
        if (!h->strangers[i].kept)
            violated(j, "a stranger's lock was taken away (line %" PRId64 ")",
                     h->strangers[i].line);
    }
    settle(j, h->locks_len > 0 || h->strangers_len > 0 ? STATE_OK : STATE_NOTHING, "");
}
