/*
 * rate.h - rate limits: for buys per user and per address, for questions per address, and for this
 * instance's own lookups of unknown items. They use the generic cell rate algorithm (ITU-T I.371):
 * one number per key, the moment at which its bucket is empty again.
 *
 * Buys are counted in Redis, for all instances together, and before the lock, so an excess of tries
 * does not slow down others. If Redis does not answer in time, every buy passes.
 *
 * Questions (the stock, an order, the live document) are counted in the instance, so a refusal
 * costs Redis nothing. One second's worth may come at once. Addresses with the same hash share a
 * bucket.
 */
#ifndef FLASHSALE_RATE_H
#define FLASHSALE_RATE_H

#include "server/store/store.h"

enum { RATE_BUCKETS = 1024 };

/* Any number of threads may use it. */
typedef struct fs_rate {
    fs_store *store; /* (borrowed) */
    int64_t user,
        address;      /* tries to buy per second, per user and per client address; 0 = no limit */
    int64_t burst;    /* tries to buy at once */
    int64_t question; /* questions per second and address; 0 = no limit */
    _Atomic int64_t empty_us[RATE_BUCKETS]; /* of questions; by dlock_now() */
    _Atomic int64_t unknown_empty_us;       /* of lookups of unknown items */
} fs_rate;

/* 0: go on. Otherwise the seconds until a try can succeed. `deadline` is the request's. */
int rate_wait_buy(const fs_rate *rate, const char *user, const char *address, dlock_time deadline);

/* Likewise for a question. */
int rate_wait_question(fs_rate *rate, const char *address);

/* Likewise for a lookup in Redis of an item that is not known here. */
int rate_wait_unknown_item(fs_rate *rate);

#endif
