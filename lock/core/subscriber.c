/*
 * Listening: channels by their names, and a connection to each server that has one of them.
 *
 * A message is a hint. Listeners are told of each new subscription, and make up for messages that
 * were lost with a connection. But no message may come twice: the second one would say that a grant
 * came for a waiter that does not wait any more. So if a channel moves to another server, its
 * connection is closed before the new server is asked to subscribe.
 *
 * Connecting takes time. If one server can not be reached, the others are still heard nine tenths
 * of the time.
 */
#include "core/subscriber.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/client.h"
#include "core/identity.h"
#include "redis/thread.h"
#include "redis/topology.h"

#define TICK_MS  500  /* between two looks at where the channels are */
#define QUIET_MS 5000 /* of silence, until the server is asked with PING */

enum { BUCKETS = 1024 };

/* A connection to one server. */
typedef struct line {
    dlock_redis_conn *conn;
    dlock_time retry_at; /* no connect before this */
    dlock_time ask_at;   /* when to send PING, unless a message comes before; ... */
    bool asked;          /* ... it was sent: by then the connection counts as lost */
} line;

/* A channel that nobody listens to any more. */
typedef struct farewell {
    int server;
    struct farewell *next;
    char name[];
} farewell;

struct subscriber {
    dlock_client *client; /* (borrowed) */
    int wake_fd;          /* eventfd */
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards what follows, up to lines */
    channel *buckets[BUCKETS];
    farewell *farewells;

    line lines[DLOCK_SERVERS_MAX]; /* this and the rest: the thread's alone */
    dlock_time tick_at;
};

/* ---- channels -------------------------------------------------------------------------------- */

static channel **bucket_of(subscriber *s, const char *name)
{
    return &s->buckets[dlock_name_hash(name) % BUCKETS];
}

/* From `c` on. Under the mutex. */
static channel *find(channel *c, const char *name)
{
    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

void dlock_subscriber_listen(subscriber *s, channel *c)
{
    channel **bucket = bucket_of(s, c->name);
    c->server = NO_SERVER;
    c->sent = false;
    pthread_mutex_lock(&s->lock);
    c->next = *bucket;
    *bucket = c;
    pthread_mutex_unlock(&s->lock);
    (void)eventfd_write(s->wake_fd, 1);
}

void dlock_subscriber_forget(subscriber *s, channel *c)
{
    size_t size = strlen(c->name) + 1;
    farewell *f = malloc(sizeof(*f) + size); /* without one it stays subscribed */
    channel **at = bucket_of(s, c->name);
    pthread_mutex_lock(&s->lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (f) {
        memcpy(f->name, c->name, size);
        f->server = c->server;
        f->next = s->farewells;
        s->farewells = f;
    }
    pthread_mutex_unlock(&s->lock);
    (void)eventfd_write(s->wake_fd, 1);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void hang_up(subscriber *s, int server)
{
    line *l = &s->lines[server];
    dlock_redis_hang_up(l->conn);
    l->conn = NULL;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (channel *c = s->buckets[i]; c; c = c->next)
            c->sent = c->sent && c->server != server;
    pthread_mutex_unlock(&s->lock);
    s->tick_at = (dlock_time){0};
}

static void dial(subscriber *s, int server)
{
    line *l = &s->lines[server];
    dlock_redis *redis = s->client->options.redis;
    dlock_time begun = dlock_now(), deadline = dlock_in_ms(s->client->options.io_ms);
    if (dlock_redis_dial_server(redis, server, deadline, &l->conn) != DLOCK_REDIS_OK)
        l->conn = NULL;
    int64_t took_us = dlock_now().us - begun.us;
    l->retry_at = dlock_in_ms(s->client->options.recheck_ms + took_us * 9 / 1000);
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

/* Notes each channel's server; all channels of one name have the same. `wanted` servers have a
 * channel. `left` ones have lost one, or may still send messages of one that has moved. */
static void find_servers(subscriber *s, bool wanted[DLOCK_SERVERS_MAX],
                         bool left[DLOCK_SERVERS_MAX])
{
    dlock_redis *redis = s->client->options.redis;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (channel *c = s->buckets[i]; c; c = c->next) {
            const channel *twin = find(s->buckets[i], c->name);
            int server = twin != c ? twin->server : dlock_redis_server_of(redis, c->key);
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
    for (const farewell *f = s->farewells; f; f = f->next) {
        const channel *next = find(*bucket_of(s, f->name), f->name);
        if (next && f->server >= 0 && next->server != f->server)
            left[f->server] = true;
    }
    pthread_mutex_unlock(&s->lock);
}

static void queue_farewells(subscriber *s)
{
    bool cluster = dlock_redis_is_cluster(s->client->options.redis);
    pthread_mutex_lock(&s->lock);
    for (farewell *f = s->farewells; f; f = s->farewells) {
        const line *l = f->server >= 0 ? &s->lines[f->server] : NULL;
        if (l && l->conn && !find(*bucket_of(s, f->name), f->name)) {
            queue_words(l, "UNSUBSCRIBE", f->name);
            if (cluster)
                queue_words(l, "SUNSUBSCRIBE", f->name);
        }
        s->farewells = f->next;
        free(f);
    }
    pthread_mutex_unlock(&s->lock);
}

/* The library publishes to the whole cluster. Only Redisson's channels need SSUBSCRIBE too. */
static void queue_subscriptions(subscriber *s)
{
    bool cluster = dlock_redis_is_cluster(s->client->options.redis);
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (channel *c = s->buckets[i]; c; c = c->next) {
            const line *l = c->server >= 0 ? &s->lines[c->server] : NULL;
            if (c->sent || !l || !l->conn)
                continue;
            queue_words(l, "SUBSCRIBE", c->name);
            if (cluster && c->sharded)
                queue_words(l, "SSUBSCRIBE", c->name);
            c->sent = true;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Opens the connections that are needed, and subscribes to the channels. */
static void see_to_lines(subscriber *s)
{
    bool wanted[DLOCK_SERVERS_MAX] = {false}, left[DLOCK_SERVERS_MAX] = {false};
    s->tick_at = dlock_in_ms(TICK_MS);
    find_servers(s, wanted, left);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        line *l = &s->lines[i];
        if (l->conn && (dlock_redis_broken(l->conn) || left[i] || !wanted[i]))
            hang_up(s, i);
        if (!l->conn && wanted[i] && dlock_passed(l->retry_at))
            dial(s, i);
        if (!l->conn && wanted[i])
            s->tick_at = dlock_sooner(s->tick_at, l->retry_at);
    }
    queue_farewells(s);
    queue_subscriptions(s);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        dlock_time until = dlock_in_ms(s->client->options.io_ms);
        if (s->lines[i].conn && dlock_redis_flush(s->lines[i].conn, until) != DLOCK_REDIS_OK)
            hang_up(s, i);
    }
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* Something has changed for those who listen to this channel. False: nobody does. */
static bool confirm(subscriber *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    channel *first = find(*bucket_of(s, name), name);
    for (channel *c = first; c; c = find(c->next, name))
        c->subscribed(c);
    pthread_mutex_unlock(&s->lock);
    return first;
}

/* All that listen to this channel hear it, or the first for all. */
static void pass_on(subscriber *s, const char *name, const char *message)
{
    pthread_mutex_lock(&s->lock);
    channel *c = find(*bucket_of(s, name), name);
    for (bool more = true; c && more; c = find(c->next, name)) {
        more = c->for_each;
        c->heard(c, message);
    }
    pthread_mutex_unlock(&s->lock);
}

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

/* False: the connection is not to be used any more. */
static bool take_message(subscriber *s, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 || !is_text(reply->element[0]) ||
        !is_text(reply->element[1]))
        return true;
    const char *what = reply->element[0]->str, *name = reply->element[1]->str;
    if (strcmp(what, "subscribe") == 0 || strcmp(what, "ssubscribe") == 0)
        confirm(s, name);
    else if (strcmp(what, "sunsubscribe") == 0) /* its slot has moved, or nobody listens any more */
        return !confirm(s, name);
    else if (is_text(reply->element[2]))
        pass_on(s, name, reply->element[2]->str);
    return true;
}

static void hear(subscriber *s, int server)
{
    line *l = &s->lines[server];
    l->ask_at = dlock_in_ms(QUIET_MS);
    l->asked = false;
    while (l->conn && dlock_redis_wait(l->conn, dlock_now())) {
        redisReply *reply;
        dlock_time until = dlock_in_ms(s->client->options.io_ms);
        bool read = dlock_redis_read(l->conn, until, &reply) == DLOCK_REDIS_OK;
        bool goes_on = !dlock_redis_broken(l->conn) && (!read || take_message(s, reply));
        freeReplyObject(reply);
        if (!goes_on)
            hang_up(s, server);
    }
}

/* A silent server may be gone without a sign on the connection. */
static void doubt(subscriber *s, int server)
{
    line *l = &s->lines[server];
    dlock_time until = dlock_in_ms(s->client->options.io_ms);
    if (l->asked) {
        hang_up(s, server);
        return;
    }
    queue_words(l, "PING", NULL);
    if (dlock_redis_flush(l->conn, until) != DLOCK_REDIS_OK)
        hang_up(s, server);
    l->asked = true;
    l->ask_at = until;
}

static void listen_once(subscriber *s)
{
    struct pollfd fds[DLOCK_SERVERS_MAX + 1] = {{.fd = s->wake_fd, .events = POLLIN}};
    int servers[DLOCK_SERVERS_MAX + 1], n = 1;
    dlock_time until = s->tick_at;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        if (!s->lines[i].conn)
            continue;
        until = dlock_sooner(until, s->lines[i].ask_at);
        servers[n] = i;
        fds[n++] = (struct pollfd){.fd = dlock_redis_fd(s->lines[i].conn), .events = POLLIN};
    }
    if (poll(fds, (nfds_t)n, dlock_left_ms(until)) < 0)
        return;
    if (fds[0].revents && eventfd_read(s->wake_fd, &(eventfd_t){0}) == 0)
        s->tick_at = (dlock_time){0};
    for (int i = 1; i < n; i++) {
        if (fds[i].revents)
            hear(s, servers[i]);
        else if (dlock_passed(s->lines[servers[i]].ask_at))
            doubt(s, servers[i]);
    }
}

static void *run(void *arg)
{
    subscriber *s = arg;
    while (!atomic_load(&s->stop)) {
        if (dlock_passed(s->tick_at))
            see_to_lines(s);
        listen_once(s);
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

subscriber *dlock_subscriber_new(dlock_client *client)
{
    subscriber *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->client = client;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&s->lock, NULL);
    if (s->wake_fd >= 0 && dlock_thread_start(&s->thread, run, s))
        return s;
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

void dlock_subscriber_free(subscriber *s)
{
    if (!s)
        return;
    atomic_store(&s->stop, true);
    (void)eventfd_write(s->wake_fd, 1);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        dlock_redis_hang_up(s->lines[i].conn);
        s->lines[i].conn = NULL;
    }
    queue_farewells(s); /* to nobody: frees them */
    close(s->wake_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
