/*
 * feed_seen.h - how far the reader of a sale's feed lags behind. Its questions tell: a reader that
 * asks for what follows an order has that order in its database.
 *
 * There may be several readers, such as a check that starts at the first order. The one that is
 * furthest ahead counts, while it keeps asking. Any number of threads may use it.
 */
#ifndef FLASHSALE_FEED_SEEN_H
#define FLASHSALE_FEED_SEEN_H

#include "server/sale/sale_table.h"

#define FEED_EVERY_SEGMENT (-1)

/* Notes that a reader has all orders of the segment up to this number. FEED_EVERY_SEGMENT and 0: it
 * still reads an earlier sale. */
void sale_saw_feed(fs_sale *sale, int segment, int64_t orders);

typedef struct feed_lag {
    int64_t orders;   /* that the reader has */
    int64_t behind;   /* orders that it lacks, by the last look at the sale */
    int64_t asked_us; /* since its last question; the longest of all segments */
} feed_lag;

/* False: no reader asked for every segment within this time, or the sale was not looked at. */
bool sale_feed_lag(const fs_sale *sale, int64_t within_ms, feed_lag *ret);

#endif
