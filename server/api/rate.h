/*
 * rate.h - how often one user, or one address, may try to buy and ask; and how often this instance
 * looks for items that it does not know.
 *
 * All by the generic cell rate algorithm (ITU-T I.371): per key one number, the moment at which the
 * bucket would be empty again.
 *
 * Buys count in Redis, for all instances together. They count before the lock, so that a user in a
 * hurry costs the others nothing. When Redis does not answer in time the limit lets everybody pass:
 * the sale itself will tell.
 *
 * Questions (the stock, an order, the live document) count here, where refusing one costs Redis
 * nothing: anybody may ask, and Redis answers most of that. A second's worth of them may come at
 * once. Addresses whose hashes agree share a bucket.
 */
#ifndef FLASHSALE_RATE_H
#define FLASHSALE_RATE_H

#include "server/store/store.h"

enum { RATE_BUCKETS = 1024 };

/* Any number of threads may use it. */
typedef struct fs_rate {
    fs_store *store;       /* (borrowed) */
    int64_t user, address; /* tries to buy a second and user, and client address; 0 = no limit */
    int64_t burst;         /* tries to buy at once */
    int64_t question;      /* questions a second and address; 0 = no limit */
    _Atomic int64_t empty_us[RATE_BUCKETS]; /* of questions; by dlock_now() */
    _Atomic int64_t unknown_empty_us;       /* of looks for unknown items */
} fs_rate;

/* 0: go on. Otherwise the seconds after which a try can succeed. `deadline` is the request's. */
int rate_wait_buy(const fs_rate *rate, const char *user, const char *address, dlock_time deadline);

/* Likewise for a question. */
int rate_wait_question(fs_rate *rate, const char *address);

/* Likewise for a look at Redis because of a question about an item that is not known here. */
int rate_wait_unknown_item(fs_rate *rate);

#endif
