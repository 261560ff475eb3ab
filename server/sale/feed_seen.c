/* feed_seen.c - keeps a number and a time for each segment. */
#include "server/sale/feed_seen.h"

#define LEADS_MS 10000 /* a reader that was further on counts for so long */

static void saw(reader_place *place, int64_t orders)
{
    int64_t now = dlock_now().us;
    bool leads = now - atomic_load(&place->asked_us) < LEADS_MS * 1000;
    if (leads && orders < atomic_load(&place->orders))
        return;
    atomic_store(&place->orders, orders);
    atomic_store(&place->asked_us, now);
}

void sale_saw_feed(fs_sale *sale, int segment, int64_t orders)
{
    for (int k = 0; k < sale->open_sale.key_sets; k++)
        if (segment == k || segment == FEED_EVERY_SEGMENT)
            saw(&sale->feed[k], orders);
}

bool sale_feed_lag(const fs_sale *sale, int64_t within_ms, feed_lag *ret)
{
    ledger_numbers seen;
    int64_t now = dlock_now().us, asked = now, there = 0;
    for (int k = 0; k < sale->open_sale.key_sets; k++) {
        int64_t at = atomic_load(&sale->feed[k].asked_us);
        asked = at < asked ? at : asked;
        there += atomic_load(&sale->feed[k].orders);
    }
    if (asked == 0 || now - asked > within_ms * 1000 || !sale_last_seen(&sale->open_sale, &seen))
        return false;
    ret->orders = there;
    ret->behind = seen.orders > there ? seen.orders - there : 0;
    ret->asked_us = now - asked;
    return true;
}
