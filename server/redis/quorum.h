/*
 * quorum.h - the independent servers of strategy redlock (--redlock), and how many of them answer,
 * for log, metrics and /readyz. Buyers use them through the lock library.
 */
#ifndef FLASHSALE_QUORUM_H
#define FLASHSALE_QUORUM_H

#include <stdatomic.h>

#include "lock/dlock_redis.h"
#include "server/base/ticker.h"

enum { QUORUM_SERVERS_MAX = 16 };

typedef struct redis_quorum {
    dlock_redis *servers[QUORUM_SERVERS_MAX];
    int len;              /* 0 = none given: redlock uses only the sale's own server */
    atomic_int answering; /* at the last look; two addresses of one server count once */
    bool same; /* this and the rest are for the looks alone: two addresses of one server */
    bool lost; /* no majority answered at the last look */
    ticker *looks;
} redis_quorum;

/* `urls`: comma-separated, NULL or "" = none; `sale_url`: where the sales are. Does not connect. 0,
 * or -1 and a sentence in err, without user and password. Logs a warning for settings that work but
 * are probably a mistake. */
int quorum_open(redis_quorum *q, const char *urls, const char *sale_url, char *err, size_t err_len);
void quorum_close(redis_quorum *q); /* of zeroes, too */

/* Starts to look at them every second; logs when the majority is lost or back. Without servers it
 * does nothing. False: out of memory or threads. */
bool quorum_watch(redis_quorum *q);

/* Whether no majority answered at the last look. */
static inline bool quorum_lost(const redis_quorum *q)
{
    return q->len > 0 && atomic_load(&q->answering) <= q->len / 2;
}

#endif
