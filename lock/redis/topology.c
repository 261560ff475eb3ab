/*
 * What is known of the servers, and the thread that keeps it up to date.
 *
 * Routing takes no lock: a slot's server and a server's generation are atomics. A caller may go on
 * using a server's number. It is given to another server only when numbers run out, and only after
 * its server was not named for a while. The generation tells the two servers apart.
 */
#include "redis/topology.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "redis/thread.h"

#define FORGET_MS 10000 /* until the number of a server that serves no keys may be another's */

typedef struct server {
    address_host at;  /* port 0: not known at present */
    dlock_time named; /* last, by a map or a redirection */
    atomic_uint generation;
    atomic_bool serves;
} server;

struct topology {
    address url;
    void *tls;
    const finder *finder; /* NULL = the one server of the URL */
    void *found;          /* the finder's state */
    atomic_int refs;

    pthread_mutex_t lock; /* guards the servers' addresses, and complaint */
    pthread_cond_t changed;
    char complaint[256];
    server servers[DLOCK_SERVERS_MAX];
    atomic_int count;
    _Atomic int16_t *slots; /* of a cluster */

    pthread_t thread;
    int doubt_fd; /* eventfd */
    atomic_bool stop;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void *keep_looking(void *arg)
{
    topology *t = arg;
    while (!atomic_load(&t->stop)) {
        int64_t pause_ms = t->finder->look(t, t->found);
        struct pollfd fds[2] = {
            {.fd = t->doubt_fd, .events = POLLIN},
            {.fd = t->finder->news_fd(t, t->found), .events = POLLIN},
        };
        uint64_t doubts;
        poll(fds, 2, (int)pause_ms);
        if (fds[0].revents && read(t->doubt_fd, &doubts, sizeof(doubts)) < 0)
            continue; /* another look can not hurt */
    }
    return NULL;
}

void dlock_topology_doubt(topology *t)
{
    uint64_t one = 1;
    if (t->finder && write(t->doubt_fd, &one, sizeof(one)) < 0)
        return; /* it is readable already */
}

/* ---- its life -------------------------------------------------------------------------------- */

static void release(topology *t)
{
    if (t->finder && t->found)
        t->finder->stop(t->found);
    if (t->doubt_fd >= 0)
        close(t->doubt_fd);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    explicit_bzero(&t->url, sizeof(t->url));
    free(t->slots);
    free(t);
}

static bool start_finder(topology *t)
{
    if (t->finder->cluster) {
        t->slots = malloc(SLOTS * sizeof(*t->slots));
        for (int i = 0; t->slots && i < SLOTS; i++)
            atomic_init(&t->slots[i], NO_SERVER);
        if (!t->slots)
            return false;
    } else {
        atomic_store(&t->count, 1); /* the master, wherever it is */
    }
    t->doubt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t->found = t->doubt_fd >= 0 ? t->finder->start(t) : NULL;
    return t->found && dlock_thread_start(&t->thread, keep_looking, t);
}

topology *dlock_topology_new(const address *url, void *tls, const finder *how)
{
    topology *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->url = *url;
    t->tls = tls;
    t->finder = how;
    t->doubt_fd = -1;
    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->lock, NULL);
    dlock_cond_init(&t->changed);
    if (!how) {
        snprintf(t->servers[0].at.host, sizeof(t->servers[0].at.host), "%s", url->host);
        t->servers[0].at.port = url->port;
        atomic_init(&t->servers[0].serves, true);
        atomic_init(&t->count, 1);
        return t;
    }
    if (start_finder(t))
        return t;
    release(t);
    return NULL;
}

topology *dlock_topology_ref(topology *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void *dlock_topology_unref(topology *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return NULL;
    void *tls = t->tls;
    if (t->finder) {
        atomic_store(&t->stop, true);
        dlock_topology_doubt(t);
        pthread_join(t->thread, NULL);
    }
    release(t);
    return tls;
}

/* ---- asking ---------------------------------------------------------------------------------- */

const address *dlock_topology_url(const topology *t)
{
    return &t->url;
}

void *dlock_topology_tls(const topology *t)
{
    return t->tls;
}

int dlock_topology_servers(const topology *t)
{
    return atomic_load(&t->count);
}

bool dlock_topology_serves(const topology *t, int number)
{
    return number >= 0 && number < DLOCK_SERVERS_MAX && atomic_load(&t->servers[number].serves);
}

const finder *dlock_topology_finder(const topology *t)
{
    return t->finder;
}

unsigned dlock_topology_generation(const topology *t, int number)
{
    return atomic_load(&t->servers[number].generation);
}

static int any_that_serves(const topology *t)
{
    int count = dlock_topology_servers(t);
    for (int i = 0; i < count; i++)
        if (atomic_load(&t->servers[i].serves))
            return i;
    return NO_SERVER;
}

int dlock_topology_route(topology *t, const char *key, size_t key_len)
{
    if (!t->slots)
        return 0;
    return key ? atomic_load(&t->slots[dlock_slot_of(key, key_len)]) : any_that_serves(t);
}

static bool is_known(const topology *t, int number)
{
    return number != NO_SERVER && t->servers[number].at.port != 0;
}

int dlock_topology_await(topology *t, const char *key, size_t key_len, dlock_time deadline)
{
    int number = dlock_topology_route(t, key, key_len);
    if (!t->finder)
        return number;
    pthread_mutex_lock(&t->lock);
    while (!is_known(t, number) && !dlock_passed(deadline)) {
        dlock_cond_wait(&t->changed, &t->lock, deadline);
        number = dlock_topology_route(t, key, key_len);
    }
    number = is_known(t, number) ? number : NO_SERVER;
    pthread_mutex_unlock(&t->lock);
    return number;
}

bool dlock_topology_address(topology *t, int number, address_host *ret, unsigned *ret_generation)
{
    pthread_mutex_lock(&t->lock);
    *ret = t->servers[number].at;
    *ret_generation = atomic_load(&t->servers[number].generation);
    pthread_mutex_unlock(&t->lock);
    return ret->port != 0;
}

void dlock_topology_complaint(topology *t, char *buf, size_t buf_len)
{
    pthread_mutex_lock(&t->lock);
    snprintf(buf, buf_len, "%s", t->complaint);
    pthread_mutex_unlock(&t->lock);
}

bool dlock_topology_replicas(topology *t, dlock_replicas *ret)
{
    if (!t->finder || !t->finder->replicas)
        return false;
    t->finder->replicas(t->found, ret);
    return true;
}

/* ---- what finders find ----------------------------------------------------------------------- */

bool dlock_topology_stopped(const topology *t)
{
    return atomic_load(&t->stop);
}

void dlock_topology_complain(topology *t, const char *why)
{
    pthread_mutex_lock(&t->lock);
    snprintf(t->complaint, sizeof(t->complaint), "%s", why);
    pthread_mutex_unlock(&t->lock);
}

/* The number of the server at this address, or NO_SERVER. Under the lock, as what follows. */
static int find_number(const topology *t, const char *host, int port)
{
    int count = dlock_topology_servers(t);
    for (int i = 0; i < count; i++)
        if (t->servers[i].at.port == port && strcmp(t->servers[i].at.host, host) == 0)
            return i;
    return NO_SERVER;
}

/* A free number, or that of the server that was named longest ago, or NO_SERVER. */
static int free_number(const topology *t)
{
    int count = dlock_topology_servers(t), found = NO_SERVER;
    dlock_time before = {dlock_now().us - FORGET_MS * 1000};
    if (count < DLOCK_SERVERS_MAX)
        return count;
    for (int i = 0; i < count; i++) {
        if (atomic_load(&t->servers[i].serves) || t->servers[i].named.us > before.us)
            continue;
        before = t->servers[i].named;
        found = i;
    }
    return found;
}

static void place(topology *t, int number, const char *host, int port)
{
    server *s = &t->servers[number];
    snprintf(s->at.host, sizeof(s->at.host), "%s", host);
    s->at.port = port;
    atomic_fetch_add(&s->generation, 1);
    if (number == dlock_topology_servers(t))
        atomic_store(&t->count, number + 1);
}

int dlock_topology_number(topology *t, const char *host, int port)
{
    if (strlen(host) >= sizeof(t->servers[0].at.host))
        return NO_SERVER;
    pthread_mutex_lock(&t->lock);
    int number = find_number(t, host, port);
    if (number == NO_SERVER) {
        number = free_number(t);
        if (number != NO_SERVER)
            place(t, number, host, port);
    }
    if (number != NO_SERVER)
        t->servers[number].named = dlock_now();
    pthread_mutex_unlock(&t->lock);
    if (number == NO_SERVER)
        dlock_topology_complain(t, "there are too many servers: a cluster may have 64 primaries");
    return number;
}

void dlock_topology_moved_to(topology *t, const char *host, int port)
{
    server *s = &t->servers[0];
    pthread_mutex_lock(&t->lock);
    if (s->at.port != port || strcmp(s->at.host, host) != 0) {
        snprintf(s->at.host, sizeof(s->at.host), "%s", host);
        s->at.port = port;
        atomic_fetch_add(&s->generation, 1);
    }
    atomic_store(&s->serves, port != 0);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void dlock_topology_set_slots(topology *t, const int16_t slots[SLOTS])
{
    bool serves[DLOCK_SERVERS_MAX] = {false};
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < SLOTS; i++) {
        atomic_store(&t->slots[i], slots[i]);
        if (slots[i] != NO_SERVER)
            serves[slots[i]] = true;
    }
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        atomic_store(&t->servers[i].serves, serves[i]);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void dlock_topology_set_slot(topology *t, int slot, int number)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->slots[slot], (int16_t)number);
    if (number != NO_SERVER)
        atomic_store(&t->servers[number].serves, true);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}
