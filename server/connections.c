/*
 * connections.c - the list of connections, and the thread that makes room.
 *
 * Who has been silent for how long, the kernel knows, so a request costs nothing here: its thread
 * only says when the request has come and when it is answered.
 *
 * How a connection is ended: by shutdown(SHUT_RD), of which its thread hears in its next read. The
 * request that comes in just this moment is safe: what the kernel has got is read all the same, and
 * can be answered; only behind it the connection is at its end. What is not read is not executed,
 * and its client sees the connection closed without an answer.
 *
 * Why the socket is the right one: it is known by the connection's two ends, and civetweb closes it
 * only after the connection has left the list, for which it needs the lock that is held here.
 */
#include "server/connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/base/log.h"

#define PAUSE_MS 5 /* between two looks, so that those who were told to go have gone */

/* So long a connection may be silent in any case, or take for its request: what its client has just
 * sent may be on its way. */
#define GRACE_MS 50

/* So long a client may take for its answer, whose thread waits for it meanwhile. */
#define TELL_MS 500

/* So long a request waits for others to be answered. */
#define MOMENT_US 50000

/* With all threads taken, nobody knows how many wait: this part of the threads is freed. */
#define PART_AT_ONCE 8

typedef struct candidate {
    http_client *client;
    bool slow; /* a part of a request has come, or of the answer gone */
    int64_t since_ms;
} candidate;

struct connections {
    fs_api *api;
    int most, threads;
    atomic_int count, telling;     /* all, and those whose clients take their answers now */
    _Atomic int64_t full_since_us; /* by dlock_now(); 0 = there was room for the last who asked */
    pthread_mutex_t lock;          /* guards the rest, and the clients' links */
    pthread_cond_t changed;
    bool stop;
    int leaving; /* have been told to go, and are in the list still */
    http_client *first;
    pthread_t thread;
    client_sought *sought; /* [threads], as the next: room for one look */
    candidate *candidates;
};

/* ---- who is to go ---------------------------------------------------------------------------- */

static bool may_go(const http_client *client)
{
    return atomic_load(&client->state) != CLIENT_IS_SERVED && !atomic_load(&client->leaving);
}

/* Finds the sockets that are not known, all of them in one search. */
static void find_sockets(connections *c)
{
    int count = 0;
    for (http_client *client = c->first; client; client = client->next) {
        client_sought *one = &c->sought[count];
        if (client->fd >= 0 || !may_go(client) || !http_client_ends(client, one))
            continue;
        one->owner = client;
        count++;
    }
    if (count > 0)
        client_sockets_find(c->sought, count);
    for (int i = 0; i < count; i++)
        ((http_client *)c->sought[i].owner)->fd = c->sought[i].fd;
}

/* Since when it has been the same part, of a request or an answer: since it was first seen. */
static int64_t slow_for_ms(http_client *client, client_state state, uint64_t consumed)
{
    int64_t now_us = dlock_now().us;
    if (client->slow_since_us == 0 || client->slow_in != state || client->slow_behind != consumed) {
        client->slow_in = state;
        client->slow_behind = consumed;
        client->slow_since_us = now_us;
    }
    return (now_us - client->slow_since_us) / 1000;
}

/* False: it is not to be ended now. */
static bool judge(http_client *client, candidate *ret)
{
    client_look look;
    client_state state = (client_state)atomic_load(&client->state);
    uint64_t consumed = atomic_load(&client->socket.consumed);
    if (!may_go(client) || client->fd < 0 || !client_socket_look(client->fd, &look))
        return false;
    bool tells = state == CLIENT_IS_TOLD;
    *ret = (candidate){.client = client, .slow = tells || look.received != consumed};
    ret->since_ms = ret->slow ? slow_for_ms(client, state, consumed) : look.silent_ms;
    return ret->since_ms >= (tells ? TELL_MS : GRACE_MS);
}

static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->slow != y->slow)
        return x->slow ? 1 : -1;
    return x->since_ms < y->since_ms ? 1 : x->since_ms > y->since_ms ? -1 : 0;
}

static void send_away(connections *c)
{
    int count = atomic_load(&c->count), found = 0;
    int excess = count - c->most - c->leaving;
    if (count >= c->threads)
        excess += c->threads / PART_AT_ONCE;
    if (excess <= 0)
        return;
    find_sockets(c);
    for (http_client *client = c->first; client; client = client->next)
        found += judge(client, &c->candidates[found]);
    qsort(c->candidates, (size_t)found, sizeof(c->candidates[0]), compare);
    for (int i = 0; i < found && i < excess; i++) {
        http_client *client = c->candidates[i].client;
        atomic_store(&client->leaving, true);
        shutdown(client->fd, atomic_load(&client->state) == CLIENT_IS_TOLD ? SHUT_RDWR : SHUT_RD);
        c->leaving++;
        metrics_add(&c->api->metrics->connections_ended, 1);
        LOG_SOME(LOG_WARN, "connections_crowded", "detail",
                 "all threads have connections: idle and slow ones are closed", NULL);
    }
}

static void *make_room(void *arg)
{
    connections *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        bool crowded = connections_crowded(c);
        if (crowded)
            send_away(c);
        dlock_time until = dlock_in_ms(crowded ? PAUSE_MS : -1);
        while (!c->stop && !dlock_passed(until) && (crowded || !connections_crowded(c)))
            dlock_cond_wait(&c->changed, &c->lock, until);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the list -------------------------------------------------------------------------------- */

bool connections_crowded(const connections *c)
{
    return atomic_load_explicit(&c->count, memory_order_relaxed) > c->most;
}

void connections_add(connections *c, http_client *client)
{
    pthread_mutex_lock(&c->lock);
    client->next = c->first;
    if (c->first)
        c->first->before = client;
    c->first = client;
    client->listed = true;
    if (atomic_fetch_add(&c->count, 1) == c->most)
        pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void connections_remove(connections *c, http_client *client)
{
    pthread_mutex_lock(&c->lock);
    if (client->listed) {
        *(client->before ? &client->before->next : &c->first) = client->next;
        if (client->next)
            client->next->before = client->before;
        client->listed = false;
        c->leaving -= atomic_load(&client->leaving);
        atomic_fetch_sub(&c->count, 1);
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- room for requests ----------------------------------------------------------------------- */

static bool is_full(const connections *c)
{
    int in_flight = atomic_load_explicit(&c->api->in_flight, memory_order_relaxed);
    return in_flight - atomic_load_explicit(&c->telling, memory_order_relaxed) >= c->most;
}

void connections_tell(connections *c, http_client *client, bool begins)
{
    http_client_set(client, begins ? CLIENT_IS_TOLD : CLIENT_IS_SERVED);
    atomic_fetch_add_explicit(&c->telling, begins ? 1 : -1, memory_order_relaxed);
}

/* Once it has been full for so long everybody is refused at once, for the threads that wait here
 * are those that newcomers need. */
bool connections_have_room(connections *c)
{
    while (is_full(c)) {
        int64_t since_us = 0, now_us = dlock_now().us;
        if (!atomic_compare_exchange_strong(&c->full_since_us, &since_us, now_us) &&
            now_us - since_us > MOMENT_US)
            return false;
        dlock_sleep(dlock_in_ms(1));
    }
    if (atomic_load_explicit(&c->full_since_us, memory_order_relaxed) != 0)
        atomic_store(&c->full_since_us, 0);
    return true;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void release(connections *c)
{
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->sought);
    free(c->candidates);
    free(c);
}

connections *connections_start(fs_api *api, int most, int threads)
{
    connections *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->api = api;
    c->most = most;
    c->threads = threads;
    pthread_mutex_init(&c->lock, NULL);
    dlock_cond_init(&c->changed);
    c->sought = calloc((size_t)threads, sizeof(c->sought[0]));
    c->candidates = calloc((size_t)threads, sizeof(c->candidates[0]));
    if (c->sought && c->candidates && pthread_create(&c->thread, NULL, make_room, c) == 0)
        return c;
    release(c);
    return NULL;
}

void connections_stop(connections *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    release(c);
}
