/*
 * feed_seen.h - how far the reader of a sale's orders is behind them, by its own questions: who
 * asks for what comes after an order has that order in its database.
 *
 * Several may read, such as a check that begins at the first order. The one that is furthest on
 * counts, for as long as it asks. Any number of threads may use it.
 */
#ifndef FLASHSALE_FEED_SEEN_H
#define FLASHSALE_FEED_SEEN_H

#include "server/sale/sale_table.h"

#define FEED_EVERY_SEGMENT (-1)

/* A reader has all orders of the segment up to this number. With FEED_EVERY_SEGMENT and 0 it reads
 * a sale before this one. */
void sale_saw_feed(fs_sale *sale, int segment, int64_t orders);

typedef struct feed_lag {
    int64_t orders;   /* that the reader has */
    int64_t behind;   /* those that it does not have, of the sale's as they were seen last */
    int64_t asked_us; /* since the last question, of the segments' the longest */
} feed_lag;

/* False: nobody has asked within this time, or not for each segment, or the sale was not seen. */
bool sale_feed_lag(const fs_sale *sale, int64_t within_ms, feed_lag *ret);

#endif
