/*
 * rate.h - how often a user or an address may try to buy, an address may ask, and this instance may
 * look for items that it does not know: by the generic cell rate algorithm (ITU-T I.371), one
 * number a key, the moment at which its bucket is empty again.
 *
 * Buys count in Redis, for all instances together, and before the lock, so that a user in a hurry
 * costs the others nothing. When Redis does not answer in time everybody passes.
 *
 * Questions (the stock, an order, the live document) count in the instance, where a refusal costs
 * Redis nothing. A second's worth may come at once. Addresses whose hashes agree share a bucket.
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
