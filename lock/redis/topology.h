/*
 * The servers behind an address, and which of them a key is routed to.
 *
 * One server has number 0. Behind Sentinel 0 is the master, whichever machine that is now. In a
 * cluster each server that was met has a number of its own. When there are no more, the next server
 * gets that of one that serves no keys and was named longest ago, at least 10 s; its generation
 * changes then.
 *
 *     dlock_redis, dlock_redis ... (each with connections of its own)
 *          `----------.
 *     topology: servers[number] -- address, generation, whether it serves
 *               slots[16384] ----- number of the server, in a cluster
 *               finder ----------- keeps both up to date: none, sentinel.c or cluster.c
 *
 * Several dlock_redis may share a topology. All functions may be called from any thread; what only
 * a finder calls stands at the end.
 */
#ifndef DLOCK_REDIS_TOPOLOGY_H
#define DLOCK_REDIS_TOPOLOGY_H

#include <stdatomic.h>

#include "dlock_redis.h"
#include "redis/address.h"
#include "redis/slots.h"

enum { NO_SERVER = -1 };

typedef struct topology topology;
typedef struct finder finder;

/* Of the servers of a URL (`url` is copied; `tls` is taken over, NULL = none), with one reference,
 * the caller's. `how` finds them; NULL: there is the one that the URL names. NULL: out of memory,
 * or of threads; `tls` is the caller's still. */
topology *dlock_topology_new(const address *url, void *tls, const finder *how);
topology *dlock_topology_ref(topology *t);

/* The last one waits for the finder. NULL is allowed. Returns the TLS context to be freed, or NULL.
 */
void *dlock_topology_unref(topology *t);

/* As the URL has it: credentials, database, TLS. (borrowed, constant) */
const address *dlock_topology_url(const topology *t);
void *dlock_topology_tls(const topology *t);

int dlock_topology_servers(const topology *t); /* how many numbers have been given */
bool dlock_topology_serves(const topology *t, int number);
const finder *dlock_topology_finder(const topology *t); /* NULL = one server */

/* The server of a key, or, without one (NULL), any that serves; NO_SERVER: none is known. */
int dlock_topology_route(topology *t, const char *key, size_t key_len);

/* The same, and waits until one is known, or the deadline. */
int dlock_topology_await(topology *t, const char *key, size_t key_len, dlock_time deadline);

/* Where a server is now; host "" = the URL's Unix socket. False: not known at present. */
bool dlock_topology_address(topology *t, int number, address_host *ret, unsigned *ret_generation);

/* Changes whenever the server's address does. A connection of another generation leads to a machine
 * that must not be used any more. */
unsigned dlock_topology_generation(const topology *t, int number);

/* Something speaks against what is known: a server could not be connected to, or says that it is no
 * primary. Has the finder look again, without waiting for it. */
void dlock_topology_doubt(topology *t);

/* Why the finder could not look last; empty if it could. Copied into buf. */
void dlock_topology_complaint(topology *t, char *buf, size_t buf_len);

/* What the finder has heard of the replicas; as dlock_redis_replicas(), without asking. */
bool dlock_topology_replicas(topology *t, dlock_replicas *ret);

/* ---- finders --------------------------------------------------------------------------------- */

/* Where a refused call is to be repeated. */
typedef struct redirection {
    int server;
    bool asking;      /* ASKING precedes the repetition */
    int64_t pause_ms; /* before it */
} redirection;

/* How the servers behind a URL are found. Its functions but redirect() and replicas() run on the
 * topology's thread. */
struct finder {
    bool cluster;       /* keys are routed by their slot */
    bool wants_primary; /* a server that says in reply to ROLE that it is none must not be used */

    void *(*start)(topology *t);               /* NULL: out of memory. Does not ask yet */
    int64_t (*look)(topology *t, void *state); /* looks; ms until the next look at the latest */
    int (*news_fd)(const topology *t, void *state); /* readable: look at once; -1 = none */
    void (*stop)(void *state);

    /* What an error reply of the server `from` says about where to ask instead. *io says how that
     * was asked. False: nothing. NULL: never does. From any thread. */
    bool (*redirect)(topology *t, int from, const char *error, redirection *io);

    /* What was last heard of the replicas of server 0. NULL: there is nobody to hear it from. From
     * any thread. */
    void (*replicas)(void *state, dlock_replicas *ret);
};

/* Whether a look is to end, since nobody needs its outcome any more. */
bool dlock_topology_stopped(const topology *t);

/* Keeps the sentence for dlock_topology_complaint(); "": none. */
void dlock_topology_complain(topology *t, const char *why);

/* The number of the server at this address; given now if it is new. NO_SERVER: there are too many,
 * which is complained of, or the host is too long. Only for a server that is to be asked. */
int dlock_topology_number(topology *t, const char *host, int port);

/* Server 0 is there from now on. */
void dlock_topology_moved_to(topology *t, const char *host, int port);

/* All slots anew (`slots[i]` is a number or NO_SERVER), or one. */
void dlock_topology_set_slots(topology *t, const int16_t slots[SLOTS]);
void dlock_topology_set_slot(topology *t, int slot, int number);

#endif
