/*
 * server_run.h - which run of the Redis server this process may write to.
 *
 * A Redis that was restarted, restored or replaced may have lost what it acknowledged, and it can
 * not tell. So the store's connections are pinned to a run of the server (lock/dlock_redis.h,
 * `admit`). By default the first run is admitted at once. After server_run_guard() a run is
 * admitted only when it has been compared; until then no run is written to.
 *
 * An abandoned run may still exist, paused or cut off. A caller of server_run_look_at() must also
 * call dlock_redis_readmit() for the connections, so that none to the old run is used.
 *
 * Any number of threads may use it.
 */
#ifndef FLASHSALE_SERVER_RUN_H
#define FLASHSALE_SERVER_RUN_H

#include "lock/dlock_redis.h"

#define RUN_ID_MAX 95

typedef struct server_run {
    pthread_mutex_t lock;
    char admitted[RUN_ID_MAX + 1];  /* "" = none now */
    char looked_at[RUN_ID_MAX + 1]; /* "" = any */
    bool guarded;                   /* the first run is not admitted automatically */
    bool admitted_one;              /* a run was admitted before */
} server_run;

void server_run_init(server_run *run);
void server_run_free(server_run *run);

/* For dlock_redis_options.admit of connections that sell, and of those that compare and halt. */
bool server_run_admits(server_run *run, const char *id);
bool server_run_looks_at(server_run *run, const char *id);

/* From now on only server_run_admit() admits a run. */
void server_run_guard(server_run *run);
void server_run_look_at(server_run *run, const char *id);
void server_run_admit(server_run *run, const char *id);

/* The server was left for one that may know more: no run is admitted, and none is looked at. */
void server_run_forget(server_run *run);

/* A short name of the run that is looked at, or else of the admitted one. "" = none. */
#define RUN_NAME_MAX 17
void server_run_name(server_run *run, char ret[RUN_NAME_MAX + 1]);

/* Whether run `now` continues run `before`, by ids or names. A promoted server drops the id that it
 * has taken over when its first replica connects, or when its last one was away for long. So "X"
 * continues "X.Y"; but "X.Y" does not continue "X", as it was promoted since. */
bool server_run_goes_on(const char *before, const char *now);

/* If this run continues the admitted one, gives that one its id. False: it is another run. */
bool server_run_keep(server_run *run, const char *id);

/* Whether no run was admitted so far. */
bool server_run_is_first(server_run *run);

typedef struct server_answer {
    char run_id[RUN_ID_MAX + 1];
    bool loading; /* still loading its data */
    bool replica;
} server_answer;

/* Asks the server which run it is. False: no answer by the deadline. */
bool server_run_ask_on(dlock_redis_conn *conn, dlock_time deadline, server_answer *ret);

/* The same for the current server with this number, on a new connection. */
bool server_run_ask(dlock_redis *redis, int server, dlock_time deadline, server_answer *ret);

#endif
