/*
 * connections.c - the connections, one per thread of civetweb, and the thread that closes some.
 *
 * The kernel knows how long a connection has been idle. So a request costs little here: its thread
 * only notes when the request is complete and when it is answered.
 *
 * shutdown(SHUT_RD) ends a connection; its thread notices at its next read. A request that is
 * already in the kernel is still read and answered. A request that was not read is not executed,
 * and its client sees the connection closed without an answer.
 *
 * A socket is found by its client's address. It can not be reused meanwhile: civetweb closes it
 * only after connection_close(), which needs the lock that is held here. One search finds the
 * sockets of all connections.
 */
#include "server/connections.h"

#include <civetweb.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/api/reply.h"
#include "server/base/log.h"
#include "server/client_socket.h"

#define PAUSE_MS     5 /* between two looks, so that those who were told to go have gone */

#define GRACE_MS     50    /* of silence, or for a request, before a connection is ended */
#define TELL_MS      500   /* the same for a client that takes its answer */
#define MOMENT_US    50000 /* a request waits for others to be answered */
#define PART_AT_ONCE 8     /* with all threads taken this part of the connections is ended */

enum { NOT_SOUGHT = -1, NOT_FOUND = -2 }; /* instead of a descriptor */

struct connection {
    api_client client; /* first: its functions are given it */
    connections *all;
    const struct mg_connection *conn;
    atomic_int fd;             /* the socket, once it was looked for */
    atomic_int state;          /* a connection_state */
    atomic_bool leaving;       /* has been told to go */
    _Atomic uint64_t consumed; /* bytes of requests that have come as a whole */

    /* under the lock */
    bool open;
    connection *next_free;
    connection_state slow_in; /* of a slow request or answer that was seen: the state, ... */
    uint64_t slow_behind;     /* how many bytes of requests were read before, ... */
    int64_t slow_since_us;    /* and since when, by dlock_now(); 0 = none was seen */
};

typedef struct candidate {
    connection *one;
    bool slow; /* a part of a request has come, or of the answer gone */
    int64_t since_ms;
} candidate;

struct connections {
    fs_api *api;
    int most, threads;
    atomic_int count, telling;     /* all, and those whose clients take their answers now */
    _Atomic int64_t full_since_us; /* by dlock_now(); 0 = there was room for the last who asked */
    pthread_mutex_t lock;          /* guards the rest */
    pthread_cond_t changed;
    bool stop;
    int leaving; /* have been told to go, and are open still */
    connection *all, *first_free;
    pthread_t thread;
    client_sought *sought; /* [threads], as `all` and the next: room for one look */
    candidate *candidates;
};

/* ---- their sockets --------------------------------------------------------------------------- */

/* Finds the sockets that are not known; under the lock. Before the wait for its first request a
 * connection has no info. */
static void find_sockets(connections *c)
{
    int count = 0;
    for (int i = 0; i < c->threads; i++) {
        connection *one = &c->all[i];
        if (!one->open || atomic_load(&one->fd) != NOT_SOUGHT)
            continue;
        const struct mg_request_info *info = mg_get_request_info(one->conn);
        client_sought *sought = &c->sought[count];
        if (!info || !client_sought_init(sought, info->remote_addr, info->remote_port))
            continue;
        sought->owner = one;
        count++;
    }
    if (count > 0)
        client_sockets_find(c->sought, count);
    for (int i = 0; i < count; i++) {
        connection *one = c->sought[i].owner;
        atomic_store(&one->fd, c->sought[i].fd >= 0 ? c->sought[i].fd : NOT_FOUND);
    }
}

/* The same, for a connection's own thread. Below 0: not found. */
static int find_socket(connection *one)
{
    if (atomic_load(&one->fd) == NOT_SOUGHT) {
        pthread_mutex_lock(&one->all->lock);
        find_sockets(one->all);
        pthread_mutex_unlock(&one->all->lock);
    }
    return atomic_load(&one->fd);
}

/* Not when more has come behind the request: civetweb may hold it in its buffer, where no poll
 * shows it. */
static bool is_ready(direct_answer *direct)
{
    client_look look;
    connection *one = (connection *)direct;
    direct->socket = find_socket(one);
    if (direct->wakeup < 0)
        direct->wakeup = eventfd(0, EFD_CLOEXEC);
    return direct->socket >= 0 && direct->wakeup >= 0 &&
           client_socket_look(direct->socket, &look) &&
           look.received == atomic_load(&one->consumed);
}

/* From another thread, while the connection's is in its handler. The client may have sent its next
 * request before send() is back, so it is not said to be idle after that. */
static bool send_directly(api_client *client, const api_reply *reply)
{
    connection *one = (connection *)client;
    fs_text whole;
    text_init(&whole);
    reply_write(&whole, reply, false);
    connection_enter(one, CONNECTION_IS_READ);
    bool sent =
        !whole.failed && client_socket_send(client->direct.socket, text_bytes(&whole), whole.len);
    if (!sent)
        connection_enter(one, CONNECTION_IS_SERVED);
    text_free(&whole);
    return sent;
}

int connection_take(connection *one)
{
    int fd = find_socket(one), own = -1;
    pthread_mutex_lock(&one->all->lock);
    if (fd >= 0)
        own = client_socket_take(fd);
    if (own >= 0)
        atomic_store(&one->fd, NOT_FOUND); /* the descriptor no longer is this client's */
    pthread_mutex_unlock(&one->all->lock);
    return own;
}

/* ---- which connections to close -------------------------------------------------------------- */

/* Since when it has been the same part, of a request or an answer: since it was first seen. */
static int64_t slow_for_ms(connection *one, connection_state state, uint64_t consumed)
{
    int64_t now_us = dlock_now().us;
    if (one->slow_since_us == 0 || one->slow_in != state || one->slow_behind != consumed) {
        one->slow_in = state;
        one->slow_behind = consumed;
        one->slow_since_us = now_us;
    }
    return (now_us - one->slow_since_us) / 1000;
}

/* False: the connection must not be ended now. */
static bool judge(connection *one, candidate *ret)
{
    client_look look;
    connection_state state = (connection_state)atomic_load(&one->state);
    uint64_t consumed = atomic_load(&one->consumed);
    if (!one->open || state == CONNECTION_IS_SERVED || connection_is_leaving(one) ||
        !client_socket_look(atomic_load(&one->fd), &look))
        return false;
    bool tells = state == CONNECTION_IS_TOLD;
    *ret = (candidate){.one = one, .slow = tells || look.received != consumed};
    ret->since_ms = ret->slow ? slow_for_ms(one, state, consumed) : look.silent_ms;
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
    for (int i = 0; i < c->threads; i++)
        found += judge(&c->all[i], &c->candidates[found]);
    qsort(c->candidates, (size_t)found, sizeof(c->candidates[0]), compare);
    for (int i = 0; i < found && i < excess; i++) {
        connection *one = c->candidates[i].one;
        atomic_store(&one->leaving, true);
        shutdown(atomic_load(&one->fd),
                 connection_is(one, CONNECTION_IS_TOLD) ? SHUT_RDWR : SHUT_RD);
        c->leaving++;
        c->api->metrics->connections_ended++;
        LOG_SOME(LOG_WARN, "connections_crowded", "detail",
                 "all threads have connections: idle and slow ones are closed", NULL);
    }
}

static bool is_crowded(const connections *c)
{
    return atomic_load(&c->count) > c->most;
}

static void *make_room(void *arg)
{
    connections *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        bool crowded = is_crowded(c);
        if (crowded)
            send_away(c);
        dlock_time until = dlock_in_ms(crowded ? PAUSE_MS : -1);
        while (!c->stop && !dlock_passed(until) && (crowded || !is_crowded(c)))
            dlock_cond_wait(&c->changed, &c->lock, until);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- what becomes of a connection ------------------------------------------------------------ */

connection *connection_open(connections *c, const struct mg_connection *conn)
{
    pthread_mutex_lock(&c->lock);
    connection *one = c->first_free;
    c->first_free = one->next_free;
    one->conn = conn;
    atomic_store(&one->fd, NOT_SOUGHT);
    atomic_store(&one->state, CONNECTION_IS_READ);
    atomic_store(&one->leaving, false);
    atomic_store(&one->consumed, 0);
    one->slow_since_us = 0;
    one->open = true;
    if (atomic_fetch_add(&c->count, 1) == c->most)
        pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return one;
}

void connection_close(connection *one)
{
    connections *c = one->all;
    if (one->client.direct.wakeup >= 0)
        close(one->client.direct.wakeup);
    one->client.direct.wakeup = -1;
    pthread_mutex_lock(&c->lock);
    one->open = false;
    one->next_free = c->first_free;
    c->first_free = one;
    c->leaving -= atomic_load(&one->leaving);
    atomic_fetch_sub(&c->count, 1);
    pthread_mutex_unlock(&c->lock);
}

/* Once it has been full for so long everybody is refused at once, for the threads that wait here
 * are those that newcomers need. */
bool connection_admit(connection *one, bool *last)
{
    connections *c = one->all;
    while (atomic_load(&c->api->metrics->in_flight) - atomic_load(&c->telling) >= c->most) {
        int64_t since_us = 0, now_us = dlock_now().us;
        if (!atomic_compare_exchange_strong(&c->full_since_us, &since_us, now_us) &&
            now_us - since_us > MOMENT_US)
            return false;
        dlock_sleep(dlock_in_ms(1));
    }
    if (atomic_load(&c->full_since_us) != 0)
        atomic_store(&c->full_since_us, 0);
    *last = *last || is_crowded(c) || atomic_load(&one->leaving);
    return true;
}

api_client *connection_serve(connection *one, size_t bytes)
{
    bool first = atomic_fetch_add(&one->consumed, bytes) == 0;
    atomic_store(&one->state, CONNECTION_IS_SERVED);
    return first ? NULL : &one->client;
}

void connection_enter(connection *one, connection_state state)
{
    int before = atomic_exchange(&one->state, (int)state);
    if (before == CONNECTION_IS_TOLD || state == CONNECTION_IS_TOLD)
        atomic_fetch_add(&one->all->telling, state == CONNECTION_IS_TOLD ? 1 : -1);
}

bool connection_is(const connection *one, connection_state state)
{
    return atomic_load(&one->state) == (int)state;
}

bool connection_is_leaving(const connection *one)
{
    return atomic_load(&one->leaving);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void release(connections *c)
{
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->all);
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
    c->all = calloc((size_t)threads, sizeof(c->all[0]));
    c->sought = calloc((size_t)threads, sizeof(c->sought[0]));
    c->candidates = calloc((size_t)threads, sizeof(c->candidates[0]));
    for (int i = 0; c->all && i < threads; i++) {
        connection *one = &c->all[i];
        one->client =
            (api_client){.direct = {.wakeup = -1, .ready = is_ready}, .send = send_directly};
        one->all = c;
        one->next_free = c->first_free;
        c->first_free = one;
    }
    if (c->all && c->sought && c->candidates && pthread_create(&c->thread, NULL, make_room, c) == 0)
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
