/*
 * store.c - opening the connections, asking Redis, and keeping its time.
 *
 * Whoever waits for a lock when Redis falls silent would wait in vain, so one cancellation, given
 * to every wait, ends them all; the next outage gets a new one.
 */
#include "server/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"

#define SYNC_MS 1000 /* for an answer to the question of the time */
#define LOOKING_POOL                                                                               \
    4 /* connections: the keeper looks, and a buyer who has found something odd                    \
       */

/* A cancellation serves for one outage, and lives as long as the store: a waiter may still look at
 * it. There are few. */
struct store_outage {
    dlock_cancel *cancel;
    struct store_outage *before;
};

static bool next_outage(fs_store *store)
{
    struct store_outage *outage = malloc(sizeof(*outage));
    dlock_cancel *cancel = dlock_cancel_new();
    if (!outage || !cancel) {
        free(outage);
        dlock_cancel_free(cancel);
        return false;
    }
    *outage = (struct store_outage){cancel, atomic_load(&store->outages)};
    while (!atomic_compare_exchange_weak(&store->outages, &outage->before, outage)) {
    }
    atomic_store(&store->outage_cancel, cancel);
    return true;
}

/* What the lock library reports, into the log. */
static void log_lock_report(void *arg, dlock_report what, const char *text)
{
    static const char *const events[] = {
        [DLOCK_REPORT_LOST] = "lock_lost",
        [DLOCK_REPORT_ORDER] = "lock_order",
        [DLOCK_REPORT_ORPHANED] = "lock_orphaned",
        [DLOCK_REPORT_RELEASE] = "lock_release",
    };
    (void)arg;
    log_event(what == DLOCK_REPORT_RELEASE ? LOG_INFO : LOG_WARN, events[what], "detail", text,
              NULL);
}

int store_open(fs_store *store, const char *redis_url, const char *redlock_urls,
               const char *instance, char *err, size_t err_len)
{
    memset(store, 0, sizeof(*store));
    health_init(&store->health);
    snprintf(store->instance, sizeof(store->instance), "%s", instance);

    if (!next_outage(store)) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    server_run_init(&store->run);
    dlock_redis_options redis = {.url = redis_url,
                                 .name = "flashsale",
                                 .admit = server_run_admits,
                                 .admit_arg = &store->run};
    dlock_redis_options looking = {.url = redis_url,
                                   .name = "flashsale",
                                   .pool_max = LOOKING_POOL,
                                   .admit = server_run_looks_at,
                                   .admit_arg = &store->run};
    dlock_redis_options asking = {.url = redis_url, .name = "flashsale"};
    if (dlock_redis_open(&redis, &store->redis, err, err_len) != 0 ||
        dlock_redis_open(&looking, &store->looking, err, err_len) != 0 ||
        dlock_redis_open(&asking, &store->asking, err, err_len) != 0 ||
        quorum_open(&store->quorum, redlock_urls, redis_url, err, err_len) != 0) {
        store_close(store);
        return -1;
    }
    dlock_client_options locks = {
        .redis = store->redis,
        .quorum = store->quorum.len > 0 ? store->quorum.servers : &store->redis,
        .quorum_len = store->quorum.len > 0 ? store->quorum.len : 1,
        .report = log_lock_report,
    };
    if (dlock_client_new(&locks, &store->locks, err, err_len) != DLOCK_OK) {
        store_close(store);
        return -1;
    }
    return 0;
}

void store_close(fs_store *store)
{
    dlock_client_free(store->locks);
    quorum_close(&store->quorum);
    dlock_redis_hang_up(store->clock_conn);
    dlock_redis_close(store->redis);
    health_free(&store->health);
    dlock_redis_close(store->looking);
    dlock_redis_close(store->asking);
    for (struct store_outage *outage = atomic_load(&store->outages); outage;) {
        struct store_outage *before = outage->before;
        dlock_cancel_free(outage->cancel);
        free(outage);
        outage = before;
    }
    memset(store, 0, sizeof(*store));
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void put_words(dlock_args *args, const char *const *words)
{
    for (; *words; words++)
        dlock_args_text(args, *words);
}

dlock_redis_outcome store_command(fs_store *store, dlock_time deadline, const char *const *words,
                                  redisReply **ret)
{
    dlock_args args;
    dlock_args_init(&args);
    put_words(&args, words);
    const char *key = words[1]; /* NULL after a command of one word, which goes anywhere */
    dlock_redis_outcome outcome = dlock_redis_command(store->redis, key, &args, deadline, ret);
    dlock_args_free(&args);
    return outcome;
}

dlock_redis_outcome store_script(fs_store *store, dlock_time deadline, dlock_script *script,
                                 const char *key, const char *const *arguments, redisReply **ret)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    put_words(&args, arguments);
    dlock_redis_outcome outcome = dlock_redis_eval(store->redis, script, 1, &args, deadline, ret);
    dlock_args_free(&args);
    return outcome;
}

/* The reply of a read, or NULL. */
static redisReply *answered(fs_store *store, dlock_redis_outcome outcome, redisReply *reply)
{
    if (outcome == DLOCK_REDIS_OK)
        return reply;
    store_log_failure(store, "read", dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
    return NULL;
}

redisReply *store_read(fs_store *store, dlock_time deadline, const char *const *words)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(store, store_read_deadline(deadline), words, &reply);
    return answered(store, outcome, reply);
}

redisReply *store_read_script(fs_store *store, dlock_time deadline, dlock_script *script, int keys,
                              dlock_args *args)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(store->redis, script, keys, args, store_read_deadline(deadline), &reply);
    dlock_args_free(args);
    return answered(store, outcome, reply);
}

const char *store_field(const redisReply *pairs, const char *name)
{
    for (size_t i = 0; i + 1 < pairs->elements; i += 2)
        if (strcmp(pairs->element[i]->str, name) == 0)
            return pairs->element[i + 1]->str;
    return "";
}

dlock_time store_read_deadline(dlock_time deadline)
{
    return dlock_sooner(deadline, dlock_in_ms(STORE_READ_MS));
}

void store_log_failure(fs_store *store, const char *what, const char *how)
{
    char why[256];
    dlock_redis_last_error(store->redis, why, sizeof(why));
    LOG_SOME(LOG_WARN, "redis_failed", "what", what, "how", how, "detail", why, NULL);
}

bool store_connect(fs_store *store, dlock_redis_conn **conn, dlock_time deadline)
{
    if (*conn && dlock_redis_broken(*conn)) {
        dlock_redis_hang_up(*conn);
        *conn = NULL;
    }
    return *conn || dlock_redis_dial(store->redis, NULL, deadline, conn) == DLOCK_REDIS_OK;
}

/* ---- Redis's clock --------------------------------------------------------------------------- */

static bool read_time(const redisReply *reply, int64_t *ret)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return false;
    *ret = strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
           strtoll(reply->element[1]->str, NULL, 10);
    return true;
}

bool store_time(fs_store *store, dlock_time deadline, int64_t *ret)
{
    redisReply *reply = NULL;
    bool good = store_command(store, deadline, WORDS("TIME"), &reply) == DLOCK_REDIS_OK &&
                read_time(reply, ret);
    freeReplyObject(reply);
    return good;
}

static bool sample_clock(fs_store *store, dlock_time deadline)
{
    int64_t redis_us;
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "TIME");
    dlock_time sent = dlock_now();
    dlock_redis_outcome outcome = dlock_redis_call(store->clock_conn, &args, deadline, &reply);
    dlock_time received = dlock_now();
    dlock_args_free(&args);
    bool told = outcome == DLOCK_REDIS_OK && read_time(reply, &redis_us);
    if (told)
        clock_take(&store->clock, sent, received, redis_us);
    freeReplyObject(reply);
    return told;
}

void store_sync_clock(fs_store *store)
{
    dlock_time deadline = dlock_in_ms(SYNC_MS);
    bool told = store_connect(store, &store->clock_conn, deadline) && sample_clock(store, deadline);
    bool was = store_reachable(store);
    char answer[256];
    store_complaint why;
    dlock_redis_last_error(store->redis, answer, sizeof(answer));
    complain(&why, answer);
    health_note(&store->health, TROUBLE_SILENT, told ? NULL : &why);
    if (!told)
        dlock_cancel_now(store_outage_cancel(store));
    else if (!was)
        next_outage(store);
}
