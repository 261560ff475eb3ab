/* Threads that want a lock once, and what Redis shows of them. */
#ifndef TESTS_LOCK_WISH_H
#define TESTS_LOCK_WISH_H

#include "tests/lock/rig.h"

#include <pthread.h>

typedef struct wish {
    dlock_lock *lock;
    dlock_wait wait;
    dlock_status status;
    uint64_t fence;
} wish;

static inline void *come_true(void *arg)
{
    wish *w = arg;
    dlock_hold *hold;
    w->status = dlock_acquire(w->lock, &w->wait, &hold);
    if (w->status == DLOCK_OK) {
        w->fence = dlock_fence(hold);
        dlock_release(hold);
    }
    return NULL;
}

static inline void until_queued(rig *r, const char *queue, long long n)
{
    dlock_time give_up = dlock_in_ms(5000);
    while (rig_ask(r, "LLEN %s", queue) < n && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_int_equal(rig_ask(r, "LLEN %s", queue), n);
}

static inline long calls(fx_redis *server, const char *command)
{
    redisReply *reply = fx_redis_reply(server, "INFO commandstats");
    char word[64];
    snprintf(word, sizeof(word), "cmdstat_%s:calls=", command);
    long n = 0;
    for (const char *at = reply->str; (at = strstr(at, word)); at++)
        n += strtol(at + strlen(word), NULL, 10);
    freeReplyObject(reply);
    return n;
}

#endif
