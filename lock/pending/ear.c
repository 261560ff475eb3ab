/*
 * Listening: channels by their names, and a connection to each server that one of them is at.
 *
 * A message is a hint: what is lost with a connection is made up for by whoever listens, which is
 * told of each new subscription. But none may come twice, since the second would say that a grant
 * came for somebody who does not wait any more. So a connection is given up when one of its
 * channels has moved to another server, before that is asked to tell of it.
 *
 * Connecting takes its time. Beside a server that can not be reached the others are heard nine
 * tenths of the time.
 */
#include "pending/ear.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/client.h"
#include "redis/topology.h"

#define TICK_MS  500  /* how often it is looked where the channels are */
#define QUIET_MS 5000 /* without a word, until the server is asked for one */

enum { BUCKETS = 1024 };

/* A connection to one server. */
typedef struct line {
    dlock_redis_conn *conn;
    dlock_time retry_at; /* none is opened before */
    dlock_time ask_at;   /* asks for a word, if none comes before; ... */
    bool asked;          /* ... it was: by then it is lost */
} line;

/* A channel that nobody listens to any more. */
typedef struct farewell {
    int server;
    struct farewell *next;
    char name[];
} farewell;

struct ear {
    dlock_client *client; /* (borrowed) */
    int wake_fd;          /* eventfd */
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards what follows, up to lines */
    ear_channel *buckets[BUCKETS];
    farewell *farewells;

    line lines[DLOCK_SERVERS_MAX]; /* this and the rest: the thread's alone */
    dlock_time tick_at;
};

/* ---- channels -------------------------------------------------------------------------------- */

static ear_channel **bucket_of(ear *e, const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &e->buckets[hash % BUCKETS];
}

/* From `c` on. Under the mutex. */
static ear_channel *find(ear_channel *c, const char *name)
{
    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

void dlock_ear_listen(ear *e, ear_channel *c)
{
    ear_channel **bucket = bucket_of(e, c->name);
    c->server = NO_SERVER;
    c->sent = false;
    pthread_mutex_lock(&e->lock);
    c->next = *bucket;
    *bucket = c;
    pthread_mutex_unlock(&e->lock);
    (void)eventfd_write(e->wake_fd, 1);
}

void dlock_ear_forget(ear *e, ear_channel *c)
{
    size_t size = strlen(c->name) + 1;
    farewell *f = malloc(sizeof(*f) + size); /* without one it is just not listened to */
    ear_channel **at = bucket_of(e, c->name);
    pthread_mutex_lock(&e->lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (f) {
        memcpy(f->name, c->name, size);
        f->server = c->server;
        f->next = e->farewells;
        e->farewells = f;
    }
    pthread_mutex_unlock(&e->lock);
    (void)eventfd_write(e->wake_fd, 1);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void hang_up(ear *e, int server)
{
    line *l = &e->lines[server];
    dlock_redis_hang_up(l->conn);
    l->conn = NULL;
    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (ear_channel *c = e->buckets[i]; c; c = c->next)
            c->sent = c->sent && c->server != server;
    pthread_mutex_unlock(&e->lock);
    e->tick_at = (dlock_time){0};
}

static void dial(ear *e, int server)
{
    line *l = &e->lines[server];
    dlock_redis *redis = e->client->options.redis;
    dlock_time begun = dlock_now(), deadline = dlock_in_ms(e->client->options.io_ms);
    if (dlock_redis_dial_server(redis, server, deadline, &l->conn) != DLOCK_REDIS_OK)
        l->conn = NULL;
    int64_t took_us = dlock_now().us - begun.us;
    l->retry_at = dlock_in_ms(e->client->options.recheck_ms + took_us * 9 / 1000);
    l->ask_at = dlock_in_ms(QUIET_MS);
    l->asked = false;
}

static void queue_words(const line *l, const char *verb, const char *name)
{
    dlock_args args = {0};
    dlock_args_text(&args, verb);
    if (name)
        dlock_args_text(&args, name);
    dlock_redis_queue(l->conn, &args);
    dlock_args_free(&args);
}

/* Notes where the channels are by now, those of one name at one server: `wanted` servers have some,
 * `left` ones have lost some, or may still tell of one that is listened to elsewhere again. */
static void find_servers(ear *e, bool wanted[DLOCK_SERVERS_MAX], bool left[DLOCK_SERVERS_MAX])
{
    dlock_redis *redis = e->client->options.redis;
    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (ear_channel *c = e->buckets[i]; c; c = c->next) {
            const ear_channel *twin = find(e->buckets[i], c->name);
            int server = twin != c ? twin->server : dlock_redis_server_of(redis, c->lock->names[0]);
            if (server >= 0 && server != c->server) {
                if (c->sent)
                    left[c->server] = true;
                c->sent = false;
                c->server = server;
            }
            if (c->server >= 0)
                wanted[c->server] = true;
        }
    }
    for (const farewell *f = e->farewells; f; f = f->next) {
        const ear_channel *next = find(*bucket_of(e, f->name), f->name);
        if (next && f->server >= 0 && next->server != f->server)
            left[f->server] = true;
    }
    pthread_mutex_unlock(&e->lock);
}

static void queue_farewells(ear *e)
{
    bool cluster = dlock_redis_is_cluster(e->client->options.redis);
    pthread_mutex_lock(&e->lock);
    for (farewell *f = e->farewells; f; f = e->farewells) {
        const line *l = f->server >= 0 ? &e->lines[f->server] : NULL;
        if (l && l->conn && !find(*bucket_of(e, f->name), f->name)) {
            queue_words(l, "UNSUBSCRIBE", f->name);
            if (cluster)
                queue_words(l, "SUNSUBSCRIBE", f->name);
        }
        e->farewells = f->next;
        free(f);
    }
    pthread_mutex_unlock(&e->lock);
}

/* Of a kind that queues this library alone tells, in the cluster's whole. */
static void queue_subscriptions(ear *e)
{
    bool cluster = dlock_redis_is_cluster(e->client->options.redis);
    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (ear_channel *c = e->buckets[i]; c; c = c->next) {
            const line *l = c->server >= 0 ? &e->lines[c->server] : NULL;
            if (c->sent || !l || !l->conn)
                continue;
            queue_words(l, "SUBSCRIBE", c->name);
            if (cluster && !c->lock->kind->queues)
                queue_words(l, "SSUBSCRIBE", c->name);
            c->sent = true;
        }
    }
    pthread_mutex_unlock(&e->lock);
}

/* Has the connections that are needed, and has them tell of what is listened to. */
static void see_to_lines(ear *e)
{
    bool wanted[DLOCK_SERVERS_MAX] = {false}, left[DLOCK_SERVERS_MAX] = {false};
    e->tick_at = dlock_in_ms(TICK_MS);
    find_servers(e, wanted, left);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        line *l = &e->lines[i];
        if (l->conn && (dlock_redis_broken(l->conn) || left[i] || !wanted[i]))
            hang_up(e, i);
        if (!l->conn && wanted[i] && dlock_passed(l->retry_at))
            dial(e, i);
        if (!l->conn && wanted[i])
            e->tick_at = dlock_sooner(e->tick_at, l->retry_at);
    }
    queue_farewells(e);
    queue_subscriptions(e);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        dlock_time until = dlock_in_ms(e->client->options.io_ms);
        if (e->lines[i].conn && dlock_redis_flush(e->lines[i].conn, until) != DLOCK_REDIS_OK)
            hang_up(e, i);
    }
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* Something has changed for those who listen to this channel. False: nobody does. */
static bool confirm(ear *e, const char *name)
{
    pthread_mutex_lock(&e->lock);
    ear_channel *first = find(*bucket_of(e, name), name);
    for (ear_channel *c = first; c; c = find(c->next, name))
        c->subscribed(c);
    pthread_mutex_unlock(&e->lock);
    return first;
}

enum { SHARING_MAX = 16 };

/* The locks with this channel; of a kind that queues one stands for all. Returns their number, each
 * with a reference. */
static int locks_of(ear *e, const char *name, dlock_lock *ret[SHARING_MAX])
{
    int n = 0;
    pthread_mutex_lock(&e->lock);
    ear_channel *c = find(*bucket_of(e, name), name);
    for (; c && n < SHARING_MAX; c = find(c->next, name)) {
        dlock_lock_ref(c->lock);
        ret[n++] = c->lock;
        if (c->lock->kind->queues)
            break;
    }
    pthread_mutex_unlock(&e->lock);
    return n;
}

static void pass_on(ear *e, const char *name, const char *message)
{
    dlock_lock *locks[SHARING_MAX];
    int n = locks_of(e, name, locks);
    for (int i = 0; i < n; i++) {
        locks[i]->kind->heard(locks[i], message);
        dlock_lock_unref(locks[i]);
    }
}

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

/* False: the connection is not to be used any more. */
static bool take_message(ear *e, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 || !is_text(reply->element[0]) ||
        !is_text(reply->element[1]))
        return true;
    const char *what = reply->element[0]->str, *name = reply->element[1]->str;
    if (strcmp(what, "subscribe") == 0 || strcmp(what, "ssubscribe") == 0)
        confirm(e, name);
    else if (strcmp(what, "sunsubscribe") == 0) /* its slot has moved, or nobody listens any more */
        return !confirm(e, name);
    else if (is_text(reply->element[2]))
        pass_on(e, name, reply->element[2]->str);
    return true;
}

static void hear(ear *e, int server)
{
    line *l = &e->lines[server];
    l->ask_at = dlock_in_ms(QUIET_MS);
    l->asked = false;
    while (l->conn && dlock_redis_wait(l->conn, dlock_now())) {
        redisReply *reply;
        dlock_time until = dlock_in_ms(e->client->options.io_ms);
        bool read = dlock_redis_read(l->conn, until, &reply) == DLOCK_REDIS_OK;
        bool goes_on = !dlock_redis_broken(l->conn) && (!read || take_message(e, reply));
        if (reply)
            freeReplyObject(reply);
        if (!goes_on)
            hang_up(e, server);
    }
}

/* A server that says nothing may be gone, and its connection not know. */
static void doubt(ear *e, int server)
{
    line *l = &e->lines[server];
    dlock_time until = dlock_in_ms(e->client->options.io_ms);
    if (l->asked) {
        hang_up(e, server);
        return;
    }
    queue_words(l, "PING", NULL);
    if (dlock_redis_flush(l->conn, until) != DLOCK_REDIS_OK)
        hang_up(e, server);
    l->asked = true;
    l->ask_at = until;
}

static void listen_once(ear *e)
{
    struct pollfd fds[DLOCK_SERVERS_MAX + 1] = {{.fd = e->wake_fd, .events = POLLIN}};
    int servers[DLOCK_SERVERS_MAX + 1], n = 1;
    dlock_time until = e->tick_at;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        if (!e->lines[i].conn)
            continue;
        until = dlock_sooner(until, e->lines[i].ask_at);
        servers[n] = i;
        fds[n++] = (struct pollfd){.fd = dlock_redis_fd(e->lines[i].conn), .events = POLLIN};
    }
    if (poll(fds, (nfds_t)n, dlock_left_ms(until)) < 0)
        return;
    if (fds[0].revents && eventfd_read(e->wake_fd, &(eventfd_t){0}) == 0)
        e->tick_at = (dlock_time){0};
    for (int i = 1; i < n; i++) {
        if (fds[i].revents)
            hear(e, servers[i]);
        else if (dlock_passed(e->lines[servers[i]].ask_at))
            doubt(e, servers[i]);
    }
}

static void *run(void *arg)
{
    ear *e = arg;
    while (!atomic_load(&e->stop)) {
        if (dlock_passed(e->tick_at))
            see_to_lines(e);
        listen_once(e);
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

ear *dlock_ear_new(dlock_client *client)
{
    ear *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->client = client;
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&e->lock, NULL);
    if (e->wake_fd >= 0 && pthread_create(&e->thread, NULL, run, e) == 0)
        return e;
    if (e->wake_fd >= 0)
        close(e->wake_fd);
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

void dlock_ear_free(ear *e)
{
    if (!e)
        return;
    atomic_store(&e->stop, true);
    (void)eventfd_write(e->wake_fd, 1);
    pthread_join(e->thread, NULL);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        dlock_redis_hang_up(e->lines[i].conn);
        e->lines[i].conn = NULL;
    }
    queue_farewells(e); /* to nobody: frees them */
    close(e->wake_fd);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
