/* store.c - opening the connections, and asking Redis. */
#include "server/store/store.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"

/* Connections for the keeper, and for buyers that have found something odd. */
#define LOOKING_POOL 4

/* Logs what the lock library reports. */
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

static bool init_nodes(fs_store *store, char *err, size_t err_len)
{
    bool good = true;
    for (int i = 0; i < STORE_NODES; i++)
        good = node_init(&store->nodes[i], i - 1) && good;
    snprintf(err, err_len, "out of memory");
    return good;
}

static bool is_admitted(void *store, int server, const char *run_id)
{
    return server_run_admits(&store_node_at(store, server)->run, run_id);
}

static bool is_looked_at(void *store, int server, const char *run_id)
{
    return server_run_looks_at(&store_node_at(store, server)->run, run_id);
}

static bool is_followed(void *store, int server, int acknowledged, const redisReply *role)
{
    return replica_set_followed(&store_node_at(store, server)->health.replicas, acknowledged, role);
}

static bool open_redis(fs_store *store, const char *url, char *err, size_t err_len)
{
    dlock_redis_options redis = {.url = url,
                                 .name = "flashsale",
                                 .admit = is_admitted,
                                 .admit_arg = store,
                                 .followed = is_followed,
                                 .followed_arg = store};
    if (dlock_redis_open(&redis, &store->redis, err, err_len) != 0)
        return false;
    dlock_redis_options looking = {.beside = store->redis,
                                   .name = "flashsale",
                                   .pool_max = LOOKING_POOL,
                                   .admit = is_looked_at,
                                   .admit_arg = store};
    dlock_redis_options asking = {.beside = store->redis, .name = "flashsale"};
    dlock_redis_options telling = {.beside = store->redis,
                                   .name = "flashsale",
                                   .pool_max = 1,
                                   .admit = is_admitted,
                                   .admit_arg = store};
    return dlock_redis_open(&looking, &store->looking, err, err_len) == 0 &&
           dlock_redis_open(&asking, &store->asking, err, err_len) == 0 &&
           dlock_redis_open(&telling, &store->telling, err, err_len) == 0;
}

int store_open(fs_store *store, const char *redis_url, const char *redlock_urls,
               const char *instance, char *err, size_t err_len)
{
    memset(store, 0, sizeof(*store));
    snprintf(store->instance, sizeof(store->instance), "%s", instance);
    store->fails_over = strstr(redis_url, "+sentinel://") || strstr(redis_url, "+cluster://");
    bool good = init_nodes(store, err, err_len) && open_redis(store, redis_url, err, err_len) &&
                quorum_open(&store->quorum, redlock_urls, redis_url, err, err_len) == 0;
    dlock_client_options locks = {
        .redis = store->redis,
        .quorum = store->quorum.len > 0 ? store->quorum.servers : &store->redis,
        .quorum_len = store->quorum.len > 0 ? store->quorum.len : 1,
        .report = log_lock_report,
    };
    good = good && dlock_client_new(&locks, &store->locks, err, err_len) == DLOCK_OK;
    if (!good)
        store_close(store);
    return good ? 0 : -1;
}

void store_close(fs_store *store)
{
    dlock_client_free(store->locks);
    quorum_close(&store->quorum);
    dlock_redis_close(store->looking);
    dlock_redis_close(store->telling);
    dlock_redis_close(store->asking);
    dlock_redis_close(store->redis);
    for (int i = 0; i < STORE_NODES; i++) /* after the connections: their `admit` uses nodes */
        node_free(&store->nodes[i]);
    memset(store, 0, sizeof(*store));
}

const char *store_server_name(const fs_store *store, const fs_node *node)
{
    return node->server >= 0 && dlock_redis_is_cluster(store->redis) ? node->name : NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

dlock_args store_words(const char *const *words)
{
    dlock_args args;
    dlock_args_init(&args);
    store_put(&args, words);
    return args;
}

int store_put(dlock_args *args, const char *const *words)
{
    int count = 0;
    for (; words[count]; count++)
        dlock_args_text(args, words[count]);
    return count;
}

void store_put_text(dlock_args *args, fs_text *text)
{
    args->failed = args->failed || text->failed;
    dlock_args_text(args, text_bytes(text));
    text_free(text);
}

void store_put_number(dlock_args *args, bool there, int64_t number)
{
    if (there)
        dlock_args_int(args, number);
    else
        dlock_args_text(args, "");
}

dlock_redis_outcome store_command(fs_store *store, dlock_time deadline, const char *const *words,
                                  redisReply **ret)
{
    dlock_args args = store_words(words);
    dlock_redis_outcome outcome = dlock_redis_command(store->redis, words[1], &args, deadline, ret);
    dlock_args_free(&args);
    return outcome;
}

redisReply *store_read(fs_store *store, dlock_time deadline, const char *const *words)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(store, store_read_deadline(deadline), words, &reply);
    if (outcome == DLOCK_REDIS_OK)
        return reply;
    store_log_failure(store, "read", dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
    return NULL;
}

bool store_is_number(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER;
}

bool store_is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

redisReply *store_eval(dlock_redis *redis, dlock_script *script, int keys, dlock_args *args,
                       dlock_time deadline, store_fits *fits)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_eval(redis, script, keys, args, deadline, &reply);
    dlock_args_free(args);
    if (outcome == DLOCK_REDIS_OK && dlock_redis_check(redis, script->name, reply, fits(reply)))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

redisReply *store_read_script(fs_store *store, dlock_time deadline, dlock_script *script, int keys,
                              dlock_args *args, store_fits *fits)
{
    redisReply *reply =
        store_eval(store->redis, script, keys, args, store_read_deadline(deadline), fits);
    if (!reply)
        store_log_failure(store, "read", script->name);
    return reply;
}

bool store_all_are(const redisReply *reply, size_t from, int type)
{
    size_t i = from;
    while (i < reply->elements && reply->element[i]->type == type)
        i++;
    return i >= reply->elements;
}

bool store_is_pairs(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements % 2 == 0 &&
           store_all_are(reply, 0, REDIS_REPLY_STRING);
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

bool store_time(fs_store *store, const char *key, dlock_time deadline, int64_t *ret)
{
    redisReply *reply = NULL;
    dlock_args args = store_words(WORDS("TIME"));
    bool good = dlock_redis_command(store->redis, key, &args, deadline, &reply) == DLOCK_REDIS_OK &&
                dlock_redis_check(store->redis, "TIME", reply, node_read_time(reply, ret));
    dlock_args_free(&args);
    freeReplyObject(reply);
    return good;
}
