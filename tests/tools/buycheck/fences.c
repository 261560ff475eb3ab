/*
 * fences.c - I6: fences only rise, one fence is one owner's, and nobody releases a lock that is not
 * his.
 *
 * An order recorded after one of a later grant was written by somebody whose lock had ended: a
 * stale write. One grant may sell many orders, so fences may stay, but they must not fall.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* NULL is first. */
static int by_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : compare(a != NULL, b != NULL);
}

/* The order of the lines says nothing, so those of one number are told apart by what they say. */
static int by_number(const void *left, const void *right)
{
    const bc_order *a = *(const bc_order *const *)left, *b = *(const bc_order *const *)right;
    if (a->segment != b->segment)
        return compare(a->segment, b->segment);
    if (a->number != b->number)
        return compare(a->number, b->number);
    return a->fence != b->fence ? compare(a->fence, b->fence) : by_name(a->instance, b->instance);
}

static bool of_two_instances(const bc_order *a, const bc_order *b)
{
    return a->fence == b->fence && a->instance && b->instance &&
           strcmp(a->instance, b->instance) != 0;
}

/* How many have a fence. */
static size_t check_orders(bc_report *report)
{
    const bc_history *h = report->history;
    const bc_order **orders = zeroed(h->orders_len, sizeof(*orders));
    const bc_order *highest = NULL;
    size_t fenced = 0;
    for (size_t i = 0; i < h->orders_len; i++)
        orders[i] = &h->orders[i];
    qsort(orders, h->orders_len, sizeof(*orders), by_number);
    for (size_t i = 0; i < h->orders_len; i++) {
        const bc_order *order = orders[i];
        if (order->fence == 0 && (h->sale.fences == 1 || highest))
            violated(report, CHECK_I6, "order %" PRId64 " (line %" PRId64 ") has no fence",
                     order->number, order->line);
        if (order->fence == 0)
            continue;
        fenced++;
        if (h->sale.fences == 0)
            violated(report, CHECK_I6, "order %" PRId64 " (line %" PRId64 ") has a fence",
                     order->number, order->line);
        bool same_segment = highest && highest->segment == order->segment;
        if (same_segment && order->fence < highest->fence)
            violated(report, CHECK_I6,
                     "order %" PRId64 " has fence %" PRId64 " (line %" PRId64 "), after %" PRId64
                     " of order %" PRId64 " (line %" PRId64 ")",
                     order->number, order->fence, order->line, highest->fence, highest->number,
                     highest->line);
        else if (same_segment && of_two_instances(highest, order))
            violated(report, CHECK_I6,
                     "fence %" PRId64 " is %s's (line %" PRId64 ") and %s's (line %" PRId64 ")",
                     order->fence, highest->instance, highest->line, order->instance, order->line);
        if (!same_segment || order->fence >= highest->fence)
            highest = order;
    }
    free(orders);
    return fenced;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int by_key(const void *left, const void *right)
{
    const bc_lock *a = *(const bc_lock *const *)left, *b = *(const bc_lock *const *)right;
    int keys = strcmp(a->key, b->key);
    if (keys != 0)
        return keys;
    if (a->at_us != b->at_us)
        return compare(a->at_us, b->at_us);
    return a->fence != b->fence ? compare(a->fence, b->fence) : by_name(a->owner, b->owner);
}

static void check_samples(bc_report *report)
{
    const bc_history *h = report->history;
    const bc_lock **locks = zeroed(h->locks_len, sizeof(*locks));
    const bc_lock *highest = NULL, *owned = NULL;
    for (size_t i = 0; i < h->locks_len; i++)
        locks[i] = &h->locks[i];
    qsort(locks, h->locks_len, sizeof(*locks), by_key);
    for (size_t i = 0; i < h->locks_len; i++) {
        const bc_lock *lock = locks[i];
        if (highest && strcmp(highest->key, lock->key) != 0)
            highest = owned = NULL;
        if (highest && lock->fence < highest->fence)
            violated(report, CHECK_I6,
                     "%s's fence is %" PRId64 " (line %" PRId64 "), after %" PRId64
                     " (line %" PRId64 ")",
                     lock->key, lock->fence, lock->line, highest->fence, highest->line);
        if (owned && lock->owner && lock->fence > 0 && owned->fence == lock->fence &&
            strcmp(owned->owner, lock->owner) != 0)
            violated(report, CHECK_I6,
                     "%s's fence %" PRId64 " is %s's (line %" PRId64 ") and %s's (line %" PRId64
                     ")",
                     lock->key, lock->fence, owned->owner, owned->line, lock->owner, lock->line);
        if (!highest || lock->fence >= highest->fence)
            highest = lock;
        if (lock->owner)
            owned = lock;
    }
    free(locks);
}

void check_fences(bc_report *report)
{
    const bc_history *h = report->history;
    size_t fenced = check_orders(report);
    check_samples(report);
    for (size_t i = 0; i < h->strangers_len; i++) {
        if (!h->strangers[i].kept)
            violated(report, CHECK_I6, "a stranger's lock was taken away (line %" PRId64 ")",
                     h->strangers[i].line);
    }
    bool seen = fenced > 0 || h->locks_len > 0 || h->strangers_len > 0;
    settle(report, CHECK_I6,
           !h->has_ledger ? STATE_UNCHECKED
           : seen         ? STATE_OK
                          : STATE_NOTHING,
           "the orders are not known");
}
