/*
 * A connection, and what connecting needs to know of its servers. The functions on connections are
 * public, see "your own connection" in dlock_redis.h.
 */
#ifndef DLOCK_REDIS_CONN_H
#define DLOCK_REDIS_CONN_H

#include <stdatomic.h>

#include "dlock_redis.h"
#include "redis/tls.h"
#include "redis/topology.h"

enum { ERROR_LEN = 256, RUN_ID_LEN = 96 };

struct dlock_redis_conn {
    dlock_redis *redis;  /* (borrowed) */
    int server;          /* its number in the topology, ... */
    unsigned generation; /* ... and where that was */
    redisContext *ctx;   /* non-blocking */
    tls_link *tls;       /* (borrowed from ctx) NULL = none */
    bool broken;
    bool ends;               /* broken as soon as nothing more is owed */
    bool listens;            /* it has subscribed: messages come unasked, and nobody counts them */
    int queued;              /* commands that are not sent yet, and ... */
    int owed;                /* ... answers that are not read yet */
    bool shared;             /* commands are queued before earlier ones are answered */
    unsigned misread;        /* redis->misread when it was opened */
    bool follows;            /* its user repeats calls where a redirection says */
    char run_id[RUN_ID_LEN]; /* dlock_redis_run_of() the server; "" = not asked yet */
    unsigned round;          /* of admission, when `admit` was last asked about it */
    struct dlock_redis_conn *next; /* in the pool's list of idle ones */
    char arrived[16384];           /* what is just being read */
};

/* One server's pooled connections, and the pause after a failure. */
typedef struct server_link {
    pthread_cond_t freed; /* a connection came back, or may be opened */
    dlock_redis_conn *idle;
    int open; /* pooled connections, idle or lent */
    int backoff_ms;
    dlock_time retry_at;       /* no connect before this, after failures, ... */
    unsigned retry_generation; /* ... unless the server is elsewhere by then */
} server_link;

struct dlock_redis {
    topology *topology;
    bool is_cluster;
    struct shared *shared;
    int64_t connect_ms;
    char name[64];
    int pool_max;
    bool (*admit)(void *arg, int server, const char *run_id); /* NULL = any run of a server */
    void *admit_arg;
    bool (*followed)(void *arg, int server, int acknowledged, const redisReply *role); /* NULL = no
                                                                        ROLE goes out with WAIT */
    void *followed_arg;
    atomic_uint round;   /* of admission: each dlock_redis_readmit() begins another */
    atomic_uint misread; /* answers of a wrong form; see dlock_redis_check() */

    pthread_mutex_t lock; /* guards everything below */
    char error[ERROR_LEN];
    dlock_time sweep_at; /* when idle connections to servers that were left are closed next */
    server_link links[DLOCK_SERVERS_MAX]; /* by the server's number */
};

/* The first word; there must be one. (borrowed) */
const char *dlock_args_first(const dlock_args *args, size_t *ret_len);

/* Writes a number in decimal digits behind `to`, and no NUL, and returns how many characters:
 * printf() would cost more than all the rest of a command, and 2 KB of the stack. */
size_t dlock_put_decimal(char *to, uint64_t number);

/* Whether connecting is put off after a failure; dlock_redis_said() is what that was for. */
bool dlock_redis_held_back(dlock_redis *redis, int server);

/* Puts ASKING behind what is queued; it has a reply of its own. */
void dlock_redis_queue_asking(dlock_redis_conn *conn);

/* For a connection that several calls are under way on (shared.c): the steps of flushing and
 * reading that do not wait. `push` writes what the kernel takes; *whole: that was all. `receive`
 * takes what has arrived; false: it is broken. `take` then gives one reply as dlock_redis_read()
 * does, if a whole one is there. */
dlock_redis_outcome dlock_redis_push(dlock_redis_conn *conn, bool *whole);
bool dlock_redis_receive(dlock_redis_conn *conn);
bool dlock_redis_take(dlock_redis_conn *conn, dlock_redis_outcome *ret_outcome, redisReply **ret);

/* Whether the connection may be used for another command, also by another caller: it is not broken,
 * every command is answered, nothing else has come, and since it was opened no answer had a wrong
 * form. */
bool dlock_redis_is_fit(const dlock_redis_conn *conn);

/* Keeps the sentence for dlock_redis_last_error(). */
__attribute__((format(printf, 2, 3))) void dlock_redis_note(dlock_redis *redis, const char *format,
                                                            ...);

/* Keeps an error reply for it, without a password that it may repeat. */
void dlock_redis_note_answer(dlock_redis *redis, const char *text);

/* Keeps the first word of an error reply for dlock_redis_said(); NULL: there was no answer. */
void dlock_redis_hear(const char *answer);

/* The same of the sentence that was kept last: nothing was asked, for what that says. */
void dlock_redis_hear_again(dlock_redis *redis);

/* Until the descriptor is ready, or the deadline: false. A signal does not end it. */
bool dlock_redis_wait_fd(int fd, short events, dlock_time deadline);

/* The server of a key, or of none (NULL). Waits until the finder knows it, but not longer than a
 * connect may take. NO_SERVER: noted. */
int dlock_redis_route(dlock_redis *redis, const char *key, size_t key_len, dlock_time deadline);

/* Asks a server for its ROLE. False: it did not say; noted. *ret_primary is false then. */
bool dlock_redis_is_role(const redisReply *reply); /* whether ROLE can be answered so */
bool dlock_redis_ask_role(dlock_redis_conn *conn, dlock_time deadline, bool *ret_primary);

/* The first words on a new connection (introduce.c). False: it is not to be used, and
 * dlock_redis_last_error() says why. *well: it works, but not this run of the server. */
bool dlock_redis_introduce(dlock_redis_conn *conn, dlock_time deadline, bool *well);

#endif
