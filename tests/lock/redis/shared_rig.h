/* What the tests of the shared connections share: callers, and the judgement of what they were
 * told. */
#ifndef TESTS_LOCK_REDIS_SHARED_RIG_H
#define TESTS_LOCK_REDIS_SHARED_RIG_H

#include "tests/lock/rig.h"

#include "lock/redis/line.h"
#include "lock/redis/shared.h"
#include "tests/support/proxy.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 24, SOON_MS = 20000 };

static dlock_script add = DLOCK_SCRIPT("add", "#!lua\n"
                                              "redis.call('SADD', KEYS[1], ARGV[1])\n"
                                              "return ARGV[1]");

static fx_redis *server;

static inline dlock_redis *open_named(const char *url)
{
    char err[256];
    dlock_redis *redis;
    dlock_redis_options options = {.url = url, .name = "shared"};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    return redis;
}

static inline int connections(void)
{
    char list[65536];
    int n = 0;
    assert_true(fx_redis_text(server, list, sizeof(list), "CLIENT LIST TYPE normal"));
    for (const char *at = list; (at = strstr(at, "name=shared")); at++)
        n++;
    return n;
}

/* ---- many callers ---------------------------------------------------------------------------- */

typedef struct caller {
    pthread_t thread;
    dlock_redis *redis;
    int number, calls, ms;
    int counts[DLOCK_REDIS_UNKNOWN + 1];
    bool wrong; /* an answer that is another call's */
    bool late;
    char sent[2000]; /* outcome of each call */
} caller;

static inline dlock_redis_outcome call_add(dlock_redis *redis, const char *word, int ms,
                                           bool *wrong)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "words");
    dlock_args_text(&args, word);
    dlock_redis_outcome outcome = dlock_redis_eval(redis, &add, 1, &args, dlock_in_ms(ms), &reply);
    if (outcome == DLOCK_REDIS_OK)
        *wrong = *wrong || reply->type != REDIS_REPLY_STRING || strcmp(reply->str, word) != 0;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome;
}

static inline void *call_often(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < c->calls; i++) {
        char word[32];
        dlock_time start = dlock_now();
        snprintf(word, sizeof(word), "%d:%d", c->number, i);
        dlock_redis_outcome outcome = call_add(c->redis, word, c->ms, &c->wrong);
        c->counts[outcome]++;
        c->sent[i] = (char)outcome;
        c->late = c->late || dlock_now().us - start.us > (c->ms + 5000) * 1000;
    }
    return NULL;
}

/* Every OK was executed, and nothing that was not sent. Adds up the outcomes. */
static inline void judge(caller *callers, int counts[DLOCK_REDIS_UNKNOWN + 1])
{
    memset(counts, 0, (DLOCK_REDIS_UNKNOWN + 1) * sizeof(*counts));
    for (int t = 0; t < THREADS; t++) {
        caller *c = &callers[t];
        assert_false(c->wrong);
        assert_false(c->late);
        for (int i = 0; i <= DLOCK_REDIS_UNKNOWN; i++)
            counts[i] += c->counts[i];
        for (int i = 0; i < c->calls; i++) {
            char command[64];
            snprintf(command, sizeof(command), "SISMEMBER words %d:%d", t, i);
            long long is = fx_redis_number(server, command);
            if (c->sent[i] != DLOCK_REDIS_UNKNOWN)
                assert_int_equal(is, c->sent[i] == DLOCK_REDIS_OK);
        }
    }
}

static inline void run_callers(dlock_redis *redis, int calls, int ms,
                               int counts[DLOCK_REDIS_UNKNOWN + 1])
{
    static caller callers[THREADS];
    fx_redis_do(server, "DEL words");
    for (int t = 0; t < THREADS; t++) {
        callers[t] = (caller){.redis = redis, .number = t, .calls = calls, .ms = ms};
        pthread_create(&callers[t].thread, NULL, call_often, &callers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(callers[t].thread, NULL);
    judge(callers, counts);
}

static inline void *call_once(void *arg)
{
    caller *c = arg;
    char word[32];
    snprintf(word, sizeof(word), "once:%d", c->number);
    c->counts[call_add(c->redis, word, c->ms, &c->wrong)]++;
    return NULL;
}

static inline bool has_in_flight(void *arg)
{
    const caller *c = arg;
    return dlock_shared_in_flight(c->redis->shared, 0) >= c->calls;
}

static inline void until_in_flight(dlock_redis *redis, int calls)
{
    assert_true(fx_wait_until(has_in_flight, &(caller){.redis = redis, .calls = calls}, SOON_MS));
}

static inline int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    server = fx_redis_start_single(NULL);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    fx_redis_stop(server);
    return 0;
}

#endif
