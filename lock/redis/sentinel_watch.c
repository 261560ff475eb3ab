/*
 * One sentinel: its thread asks, posts the answer, then listens for news.
 *
 *     subscribe to +switch-master, unless that is done
 *     ask, and post the answer
 *     wait for a message, for the connection's end, or to be asked again
 *
 * It subscribes before it asks: a switch after the answer is a message. A message is a reason to
 * ask, and nothing else is read from it. The answer is read with care, because anything may be at
 * the address.
 */
#include "redis/sentinel_watch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "redis/pool.h"
#include "redis/thread.h"

#define MESSAGE_MS   100 /* for the rest of a message that has begun to arrive */
#define MESSAGES_MAX 64  /* read between two questions: a flood must not keep us from them */

struct watch {
    const char *service; /* (borrowed from the topology) */
    address_host at;
    watch_board *board; /* (borrowed) */
    dlock_redis *redis;
    dlock_redis_conn *news; /* the thread's; subscribed. NULL = none at present */
    int wake;               /* eventfd */
    pthread_t thread;

    unsigned asked, answered; /* under the board's lock, as the rest: numbers of questions */
    bool stop;
    sentinel_answer answer;
};

/* ---- taking answers apart -------------------------------------------------------------------- */

static bool is_text(const redisReply *r)
{
    return r && r->type == REDIS_REPLY_STRING && r->len > 0 && strlen(r->str) == r->len;
}

/* Copies a text that fits; otherwise *to becomes "". */
static bool take_text(const redisReply *r, char *to, size_t to_len)
{
    bool fits = is_text(r) && r->len < to_len;
    snprintf(to, to_len, "%s", fits ? r->str : "");
    return fits;
}

static int64_t number_in(const redisReply *r)
{
    char *end = NULL;
    long long n = is_text(r) ? strtoll(r->str, &end, 10) : -1;
    return end && *end == 0 ? n : -1;
}

static bool take_host(const redisReply *host, const redisReply *port, address_host *ret)
{
    int64_t number = number_in(port);
    ret->port = number > 0 && number <= 65535 ? (int)number : 0;
    return take_text(host, ret->host, sizeof(ret->host)) && ret->port != 0;
}

/* The value behind a name in a list of names and values; NULL: there is none. */
static const redisReply *value_of(const redisReply *list, const char *name)
{
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i + 1 < list->elements; i += 2)
        if (is_text(list->element[i]) && strcmp(list->element[i]->str, name) == 0)
            return list->element[i + 1];
    return NULL;
}

static void take_others(const redisReply *list, sentinel_answer *ret)
{
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i < list->elements; i++) {
        const redisReply *one = list->element[i];
        told_sentinel *to = &ret->others[ret->others_len];
        if (ret->others_len < SENTINELS_TOLD_MAX &&
            take_host(value_of(one, "ip"), value_of(one, "port"), &to->at) &&
            take_text(value_of(one, "runid"), to->id, sizeof(to->id)))
            ret->others_len++;
    }
}

/* Whether one of the words "a,b,c" is this one. */
static bool has_flag(const redisReply *flags, const char *flag)
{
    size_t len = strlen(flag);
    const char *at = is_text(flags) ? flags->str : NULL;
    for (; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, flag, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static bool is_down(const redisReply *flags)
{
    return has_flag(flags, "s_down") || has_flag(flags, "o_down");
}

static void take_master(const redisReply *master, sentinel_answer *ret)
{
    const redisReply *flags = value_of(master, "flags");
    int64_t others = number_in(value_of(master, "num-other-sentinels"));
    ret->epoch = number_in(value_of(master, "config-epoch"));
    ret->sees_master = is_text(flags) && !is_down(flags) && !has_flag(flags, "disconnected") &&
                       !has_flag(flags, "failover_in_progress");
    int64_t down_ms = number_in(value_of(master, "s-down-time"));
    ret->down_ms = is_down(flags) && down_ms > 0 ? down_ms : 0;
    ret->sentinels = others >= 0 ? others + 1 : 0;
    ret->down_after_ms = number_in(value_of(master, "down-after-milliseconds"));
}

/* As sentinelSelectReplica() in Redis's sentinel.c, except for what passes by itself: a missing
 * link from the sentinel to the replica, and a replica that is down and may come back. */
static void take_replica(const redisReply *one, int64_t limit_ms, told_replica *to)
{
    const redisReply *flags = value_of(one, "flags");
    int64_t away_ms = number_in(value_of(one, "master-link-down-time"));
    int64_t down_ms = number_in(value_of(one, "s-down-time"));
    to->barred = number_in(value_of(one, "slave-priority")) == 0 ||
                 number_in(value_of(one, "replica-priority")) == 0;
    to->down = is_down(flags);
    to->lost = limit_ms > 0 && (away_ms > limit_ms || (to->down && down_ms > limit_ms));
}

static void take_replicas(const redisReply *list, sentinel_answer *ret)
{
    int64_t within_ms = DLOCK_PROMOTED_WITHIN * ret->down_after_ms;
    int64_t limit_ms = within_ms > 0 ? within_ms + ret->down_ms : 0;
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i < list->elements; i++) {
        const redisReply *one = list->element[i];
        if (ret->replicas_len == REPLICAS_TOLD_MAX) {
            ret->more_replicas = true;
            return;
        }
        told_replica *to = &ret->replicas[ret->replicas_len];
        if (!take_host(value_of(one, "ip"), value_of(one, "port"), &to->at))
            continue;
        take_replica(one, limit_ms, to);
        ret->replicas_len++;
    }
    ret->lists_replicas = list->type == REDIS_REPLY_ARRAY;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A sentinel replies with lists and texts, and with nil about a master that it does not know. */
static bool is_told(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY || reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_NIL;
}

/* SENTINEL `what`, of our master unless `what` is about the sentinel itself. NULL: no good answer;
 * the caller frees it otherwise. */
static redisReply *ask_for(watch *w, const char *what, bool of_master, dlock_time deadline)
{
    redisReply *reply = NULL;
    dlock_args args = {0};
    dlock_args_text(&args, "SENTINEL");
    dlock_args_text(&args, what);
    if (of_master)
        dlock_args_text(&args, w->service);
    dlock_redis_outcome outcome = dlock_redis_command(w->redis, NULL, &args, deadline, &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK && dlock_redis_check(w->redis, what, reply, is_told(reply)))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

static void ask_for_master(watch *w, dlock_time deadline, sentinel_answer *ret)
{
    redisReply *reply = ask_for(w, "GET-MASTER-ADDR-BY-NAME", true, deadline);
    if (!reply)
        dlock_redis_last_error(w->redis, ret->wrong, sizeof(ret->wrong));
    else if (reply->type == REDIS_REPLY_NIL)
        ret->kind = KNOWS_NO_SUCH_MASTER;
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
             take_host(reply->element[0], reply->element[1], &ret->master))
        ret->kind = NAMES_A_MASTER;
    else
        snprintf(ret->wrong, sizeof(ret->wrong), "what it says is no address");
    freeReplyObject(reply);
}

/* The same; notes the right that the user lacks, unless one is noted already. */
static redisReply *ask_by_right(watch *w, const char *what, const char *right, dlock_time deadline,
                                sentinel_answer *ret)
{
    redisReply *reply = ask_for(w, what, strcmp(what, "MYID") != 0, deadline);
    if (!reply && ret->denied[0] == '\0' && strcmp(dlock_redis_said(), "NOPERM") == 0)
        snprintf(ret->denied, sizeof(ret->denied), "%s", right);
    return reply;
}

/* What a sentinel's user may be forbidden to ask; without it the address still counts. */
static void ask_for_more(watch *w, dlock_time deadline, sentinel_answer *ret)
{
    redisReply *id = ask_by_right(w, "MYID", "sentinel|myid", deadline, ret);
    if (id) {
        take_text(id, ret->id, sizeof(ret->id));
        freeReplyObject(id);
    }
    redisReply *master = ask_by_right(w, "MASTER", "sentinel|master", deadline, ret);
    if (master) {
        take_master(master, ret);
        freeReplyObject(master);
    }
    redisReply *replicas = ask_by_right(w, "REPLICAS", "sentinel|replicas", deadline, ret);
    if (replicas) {
        take_replicas(replicas, ret);
        freeReplyObject(replicas);
    }
    redisReply *others = ask_for(w, "SENTINELS", true, deadline);
    if (others) {
        take_others(others, ret);
        freeReplyObject(others);
    }
}

/* Rings if the answer has changed. */
static void post(watch *w, unsigned question, const sentinel_answer *answer)
{
    uint64_t one = 1;
    const sentinel_answer *before = &w->answer;
    pthread_mutex_lock(&w->board->lock);
    bool differs = before->kind != answer->kind || before->epoch != answer->epoch ||
                   before->master.port != answer->master.port ||
                   strcmp(before->master.host, answer->master.host) != 0;
    w->answer = *answer;
    w->answered = question;
    pthread_cond_broadcast(&w->board->answered);
    pthread_mutex_unlock(&w->board->lock);
    if (differs && write(w->board->bell, &one, sizeof(one)) < 0)
        return; /* it is ringing already */
}

/* ---- listening ------------------------------------------------------------------------------- */

static void hang_up_news(watch *w)
{
    dlock_redis_hang_up(w->news);
    w->news = NULL;
}

static void subscribe(watch *w, dlock_time deadline)
{
    dlock_args args = {0};
    if (w->news || dlock_redis_dial(w->redis, NULL, deadline, &w->news) != DLOCK_REDIS_OK)
        return;
    dlock_args_text(&args, "SUBSCRIBE");
    dlock_args_text(&args, "+switch-master");
    if (dlock_redis_call(w->news, &args, deadline, NULL) != DLOCK_REDIS_OK)
        hang_up_news(w);
    dlock_args_free(&args);
}

/* Reads what has arrived; gives up a connection that has ended. */
static void read_news(watch *w)
{
    for (int i = 0; w->news && i < MESSAGES_MAX && dlock_redis_wait(w->news, (dlock_time){0}); i++)
        if (dlock_redis_read(w->news, dlock_in_ms(MESSAGE_MS), NULL) != DLOCK_REDIS_OK)
            hang_up_news(w);
}

static void await_reason(watch *w)
{
    uint64_t times;
    struct pollfd fds[2] = {
        {.fd = w->wake, .events = POLLIN},
        {.fd = w->news ? dlock_redis_fd(w->news) : -1, .events = POLLIN},
    };
    poll(fds, 2, -1);
    if (fds[0].revents && read(w->wake, &times, sizeof(times)) < 0)
        return; /* another question can not hurt */
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* False: it is to end. */
static bool next_question(watch *w, unsigned *ret)
{
    pthread_mutex_lock(&w->board->lock);
    bool goes_on = !w->stop;
    *ret = w->asked;
    pthread_mutex_unlock(&w->board->lock);
    return goes_on;
}

static void *keep_watching(void *arg)
{
    watch *w = arg;
    for (unsigned question; next_question(w, &question); await_reason(w)) {
        dlock_time deadline = dlock_in_ms(SENTINEL_ANSWER_MS);
        sentinel_answer answer = {.epoch = -1, .down_after_ms = -1, .asked = dlock_now()};
        read_news(w);
        subscribe(w, deadline);
        ask_for_master(w, deadline, &answer);
        if (answer.kind == NAMES_A_MASTER)
            ask_for_more(w, deadline, &answer);
        if (answer.kind == SAYS_NOTHING)
            hang_up_news(w); /* it may be gone without a word */
        post(w, question, &answer);
    }
    return NULL;
}

watch *dlock_watch_new(const topology *t, const address_host *at, watch_board *board)
{
    const address *url = dlock_topology_url(t);
    watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->service = url->service;
    w->at = *at;
    w->board = board;
    w->asked = 1;
    w->redis = dlock_pool_for_server(t, at, url->sentinel_user, url->sentinel_password);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->redis && w->wake >= 0 && dlock_thread_start(&w->thread, keep_watching, w))
        return w;
    if (w->wake >= 0)
        close(w->wake);
    dlock_pool_free(w->redis);
    free(w);
    return NULL;
}

const address_host *dlock_watch_at(const watch *w)
{
    return &w->at;
}

static void wake(watch *w)
{
    uint64_t one = 1;
    if (write(w->wake, &one, sizeof(one)) < 0)
        return; /* it is awake already */
}

void dlock_watch_ask(watch *w)
{
    pthread_mutex_lock(&w->board->lock);
    w->asked++;
    pthread_mutex_unlock(&w->board->lock);
    wake(w);
}

const sentinel_answer *dlock_watch_answer(const watch *w)
{
    bool is_silent = w->answered > 0 && w->answer.kind == SAYS_NOTHING;
    return w->answered == w->asked || is_silent ? &w->answer : NULL;
}

const sentinel_answer *dlock_watch_latest(const watch *w)
{
    return w->answered > 0 ? &w->answer : NULL;
}

void dlock_watch_stop(watch *w)
{
    pthread_mutex_lock(&w->board->lock);
    w->stop = true;
    pthread_mutex_unlock(&w->board->lock);
    wake(w);
}

void dlock_watch_free(watch *w)
{
    pthread_join(w->thread, NULL);
    dlock_redis_hang_up(w->news);
    dlock_pool_free(w->redis);
    close(w->wake);
    free(w);
}
