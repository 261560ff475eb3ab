/*
 * rate_limit.h - how often one user, or one address, may try to buy.
 *
 * The generic cell rate algorithm (ITU-T I.371): per key one number in Redis, the moment at which
 * the bucket would be empty again. It is asked before the lock, so that a user in a hurry costs
 * the others nothing. When Redis does not answer in time the limit lets everybody pass: the sale
 * itself will tell.
 */
#ifndef FLASHSALE_RATE_LIMIT_H
#define FLASHSALE_RATE_LIMIT_H

#include "server/store/store.h"

typedef struct fs_limit {
    fs_store *store;      /* (borrowed) */
    int64_t user_rate;    /* tries a second and user; 0 = no limit */
    int64_t address_rate; /* tries a second and client address; 0 = no limit */
    int64_t burst;        /* tries at once */
} fs_limit;

#define LIMIT_MS 1000 /* of a request's time at most, for both of its limits together */

/* 0: go on. Otherwise the seconds after which a try can succeed. `deadline` is the request's. */
int limit_check(const fs_limit *limit, const char *user, const char *address, dlock_time deadline);

#endif
