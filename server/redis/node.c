/*
 * node.c - tracks a server's time, and ends waits when it is silent.
 *
 * When a server falls silent or refuses writes, waits for its locks can not succeed. All of them
 * share one cancellation, which ends them; the next outage gets a new one.
 *
 * The narrowest sample of the clock is kept while it can be true. Clocks drift, so its bounds widen
 * with time, by one part in a thousand, which is more than any clock drifts. A sample that
 * contradicts them means that Redis's clock was set.
 */
#include "server/redis/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_MS       1000 /* for an answer to the question of the time */
#define DRIFT         1000
#define ERROR_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* ---- what is wrong with it ------------------------------------------------------------------- */

void complain(store_complaint *ret, const char *answer)
{
    static const char before[] = "Redis answered: "; /* of dlock_redis_last_error() */
    if (answer && strncmp(answer, before, strlen(before)) == 0)
        answer += strlen(before);
    size_t word = answer ? strspn(answer, ERROR_LETTERS) : 0;
    bool is_code = word > 1 && word < sizeof(ret->redis) && strchr(" ", answer[word]);
    snprintf(ret->redis, sizeof(ret->redis), "%.*s", is_code ? (int)word : 9,
             is_code ? answer : "no_answer");
    snprintf(ret->detail, sizeof(ret->detail), "%s",
             answer && answer[0] != '\0' ? answer : "Redis does not answer");
}

void health_init(store_health *health)
{
    memset(health, 0, sizeof(*health));
    pthread_mutex_init(&health->lock, NULL);
    replica_set_init(&health->replicas);
    for (int i = 0; i < TROUBLES; i++) {
        complain(&health->why[i], NULL);
        atomic_store(&health->found[i], true);
    }
}

void health_free(store_health *health)
{
    pthread_mutex_destroy(&health->lock);
    replica_set_free(&health->replicas);
}

void health_note(store_health *health, store_trouble trouble, const store_complaint *why)
{
    pthread_mutex_lock(&health->lock);
    if (why)
        health->why[trouble] = *why;
    atomic_store_explicit(&health->found[trouble], why != NULL, memory_order_release);
    pthread_mutex_unlock(&health->lock);
}

bool health_why(store_health *health, store_trouble trouble, store_complaint *ret)
{
    pthread_mutex_lock(&health->lock);
    bool found = health_has(health, trouble);
    if (found)
        *ret = health->why[trouble];
    pthread_mutex_unlock(&health->lock);
    return found;
}

/* ---- its life -------------------------------------------------------------------------------- */

/* A cancellation serves for one outage, and lives as long as the node: a waiter may still look at
 * it. There are few. */
struct node_outage {
    dlock_cancel *cancel;
    struct node_outage *before;
};

static bool next_outage(fs_node *node)
{
    struct node_outage *outage = malloc(sizeof(*outage));
    dlock_cancel *cancel = dlock_cancel_new();
    if (!outage || !cancel) {
        free(outage);
        dlock_cancel_free(cancel);
        return false;
    }
    *outage = (struct node_outage){cancel, node->outages};
    node->outages = outage;
    atomic_store(&node->outage_cancel, cancel);
    return true;
}

bool node_init(fs_node *node, int server)
{
    memset(node, 0, sizeof(*node));
    node->server = server;
    snprintf(node->name, sizeof(node->name), "%d", server);
    health_init(&node->health);
    server_run_init(&node->run);
    return next_outage(node);
}

void node_free(fs_node *node)
{
    dlock_redis_hang_up(node->clock_conn);
    health_free(&node->health);
    server_run_free(&node->run);
    for (struct node_outage *outage = node->outages; outage;) {
        struct node_outage *before = outage->before;
        dlock_cancel_free(outage->cancel);
        free(outage);
        outage = before;
    }
    memset(node, 0, sizeof(*node));
}

bool node_connect(const fs_node *node, dlock_redis *redis, dlock_redis_conn **conn,
                  dlock_time deadline)
{
    if (*conn && dlock_redis_broken(*conn)) {
        dlock_redis_hang_up(*conn);
        *conn = NULL;
    }
    return *conn || dlock_redis_dial_server(redis, node->server, deadline, conn) == DLOCK_REDIS_OK;
}

/* ---- its clock ------------------------------------------------------------------------------- */

void clock_take(redis_clock *clock, dlock_time sent, dlock_time received, int64_t redis_us)
{
    if (received.us - sent.us > CLOCK_ROUND_MAX_US)
        return;
    int64_t least = redis_us - received.us, most = redis_us - sent.us;
    int64_t drift = (received.us - clock->taken.us) / DRIFT;
    bool agrees = atomic_load(&clock->known) && least <= clock->most_us + drift &&
                  most >= clock->least_us - drift;
    if (agrees && most - least > clock->most_us - clock->least_us + 2 * drift)
        return;
    clock->least_us = least;
    clock->most_us = most;
    clock->taken = received;
    atomic_store(&clock->offset_us, least);
    atomic_store(&clock->known, true);
}

bool node_read_time(const redisReply *reply, int64_t *ret)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply->element[0]->str ||
        !reply->element[1]->str)
        return false;
    *ret = strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
           strtoll(reply->element[1]->str, NULL, 10);
    return true;
}

static bool sample_clock(fs_node *node, dlock_time deadline)
{
    int64_t redis_us = 0;
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "TIME");
    dlock_time sent = dlock_now();
    dlock_redis_outcome outcome = dlock_redis_call(node->clock_conn, &args, deadline, &reply);
    dlock_time received = dlock_now();
    dlock_args_free(&args);
    bool told =
        outcome == DLOCK_REDIS_OK &&
        dlock_redis_conn_check(node->clock_conn, "TIME", reply, node_read_time(reply, &redis_us));
    if (told)
        clock_take(&node->clock, sent, received, redis_us);
    freeReplyObject(reply);
    return told;
}

/* Whether the connection leads to another run now: a promotion does not close it. */
static bool is_other_run(fs_node *node, dlock_time deadline)
{
    server_answer now;
    if (!server_run_ask_on(node->clock_conn, deadline, &now))
        return false;
    atomic_store(&node->is_replica, now.replica);
    return !now.replica && !server_run_keep(&node->run, now.run_id);
}

/* Notes one of the two troubles that make up an outage; NULL: that one is over. */
static void note(fs_node *node, store_trouble trouble, const store_complaint *why)
{
    bool was_out = !node_takes_writes(node);
    health_note(&node->health, trouble, why);
    if (!node_takes_writes(node))
        dlock_cancel_now(node_outage_cancel(node));
    else if (was_out)
        next_outage(node);
}

static void fall_silent(fs_node *node, const char *answer)
{
    store_complaint why;
    complain(&why, answer);
    note(node, TROUBLE_SILENT, &why);
}

void node_note_pause(fs_node *node, const store_complaint *why)
{
    note(node, TROUBLE_WRITES_PAUSED, why);
}

void node_sync_clock(fs_node *node, dlock_redis *redis)
{
    char answer[256];
    dlock_time deadline = dlock_in_ms(SYNC_MS);
    if (node_connect(node, redis, &node->clock_conn, deadline) && sample_clock(node, deadline)) {
        if (!is_other_run(node, deadline)) {
            note(node, TROUBLE_SILENT, NULL);
            return;
        }
        server_run_forget(&node->run);
        dlock_redis_readmit(redis);
    }
    dlock_redis_last_error(redis, answer, sizeof(answer));
    fall_silent(node, answer);
}

void node_forget(fs_node *node)
{
    dlock_redis_hang_up(node->clock_conn);
    node->clock_conn = NULL;
    server_run_forget(&node->run);
    atomic_store(&node->run_changed, false);
    atomic_store(&node->is_replica, false);
    replica_set_forget(&node->health.replicas);
    fall_silent(node, "the server serves no keys any more");
}
