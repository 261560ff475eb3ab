/*
 * server_check.h - whether a server is one to sell from: does it take the writes, does it keep
 * what it has, does it put it on disk.
 *
 * Settings are not for life, so this is asked at the start of a sale and again while it sells.
 *
 * What may evict. Of the maxmemory policies only `noeviction` throws nothing away. `allkeys-*` may
 * take the pointer to a sale, or its stock. `volatile-*` takes keys that expire: those are the
 * locks, whose loss lets a second holder in, and the orders of a sale that is over, which are
 * promised for 24 h. So any of them is refused, also where no maxmemory is set as yet.
 *
 * What is on disk: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no (with yes
 * nothing is synced while the file is rewritten). appendfsync is not in INFO, so the right to
 * CONFIG GET is needed; where INFO may be asked it must agree. A file that is only now switched on
 * is of use when its first rewrite has ended.
 */
#ifndef FLASHSALE_SERVER_CHECK_H
#define FLASHSALE_SERVER_CHECK_H

#include "lock/dlock_redis.h"
#include "server/redis/health.h"

typedef struct server_check {
    bool found[TROUBLES]; /* of TROUBLE_REFUSES, _MAY_EVICT and _NO_DISK */
    store_complaint why[TROUBLES];
} server_check;

/* Asks, on a connection of the caller's. `had_disk`: whether the last check found every write on
 * disk. What Redis refuses to tell counts as found. False: it did not answer, and nothing is known.
 */
bool server_ask(dlock_redis_conn *conn, bool had_disk, dlock_time deadline, server_check *ret);

#endif
