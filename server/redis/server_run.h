/*
 * server_run.h - which run of the Redis server this process may write to.
 *
 * A Redis that was restarted, restored or taken over by another may have forgotten what it had
 * acknowledged, and nobody can tell by asking it. So the store's connections are pinned to a run
 * of the server (lock/dlock_redis.h, `admit`). Another run is admitted by default at once, after
 * server_run_guard() by whoever has compared; until then no run is written to.
 *
 * A run that was left may be there still, stopped or cut off. Whoever says server_run_look_at()
 * also says dlock_redis_readmit() to the connections, so that none to the run before is used.
 *
 * Any number of threads may use it.
 */
#ifndef FLASHSALE_SERVER_RUN_H
#define FLASHSALE_SERVER_RUN_H

#include "lock/dlock_redis.h"

#define RUN_ID_MAX 95

typedef struct server_run {
    pthread_mutex_t lock;
    char admitted[RUN_ID_MAX + 1];  /* "" = none at present */
    char looked_at[RUN_ID_MAX + 1]; /* "" = whichever comes */
    bool guarded;                   /* the first one that comes is not admitted by itself */
    bool admitted_one;              /* so far */
} server_run;

void server_run_init(server_run *run);
void server_run_free(server_run *run);

/* For dlock_redis_options.admit: of connections that sell, and of those that compare and halt. */
bool server_run_admits(server_run *run, const char *id);
bool server_run_looks_at(server_run *run, const char *id);

/* From now on no run is admitted but by server_run_admit(). */
void server_run_guard(server_run *run);
void server_run_look_at(server_run *run, const char *id);
void server_run_admit(server_run *run, const char *id);

/* The server has been left, for one that may know more: no run is admitted. Otherwise as
 * server_run_look_at(), when there is none to look at. */
void server_run_forget(server_run *run);

/* A short name of the run that is looked at, or of the admitted one. "" = there is none. */
#define RUN_NAME_MAX 17
void server_run_name(server_run *run, char ret[RUN_NAME_MAX + 1]);

/* Whether `now` is `before`, by their ids or their names. A promoted server forgets what it has
 * taken over when its first replica comes or its last one has been gone for long: so "X" goes on as
 * "X.Y" did, but "X.Y" is not "X", which was promoted since. */
bool server_run_goes_on(const char *before, const char *now);

/* The admitted run, if it goes on as that one, is called so from now on. False: it is another. */
bool server_run_keep(server_run *run, const char *id);

/* Whether no run has been admitted so far. */
bool server_run_is_first(server_run *run);

typedef struct server_answer {
    char run_id[RUN_ID_MAX + 1];
    bool loading; /* its data: it has less than it will have */
    bool replica;
} server_answer;

/* Asks the server which run it is. False: it does not say by the deadline. */
bool server_run_ask_on(dlock_redis_conn *conn, dlock_time deadline, server_answer *ret);

/* The same of whoever is the server with this number now, on a new connection. */
bool server_run_ask(dlock_redis *redis, int server, dlock_time deadline, server_answer *ret);

#endif
