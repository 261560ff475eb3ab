/*
 * server_run.h - which run of the Redis server this process may write to.
 *
 * A Redis that was restarted, restored or taken over by another may have forgotten what it had
 * acknowledged, and nobody can tell by asking it. So the store's connections are pinned to a run
 * of the server (lock/dlock_redis.h, `admit`), and another run is written to only once it has been
 * admitted: by default at once, after server_run_guard() by whoever has compared.
 *
 * Any number of threads may use it.
 */
#ifndef FLASHSALE_SERVER_RUN_H
#define FLASHSALE_SERVER_RUN_H

#include "lock/dlock_redis.h"

#define RUN_ID_MAX 63

typedef struct server_run {
    pthread_mutex_t lock;
    char admitted[RUN_ID_MAX + 1]; /* "" = none as yet */
    bool guarded;                  /* the first one that comes is not admitted by itself */
} server_run;

void server_run_init(server_run *run);

/* For dlock_redis_options.admit, with the server_run. */
bool server_run_admits(void *run, const char *id);

/* From now on no run is admitted but by server_run_admit(). */
void server_run_guard(server_run *run);
void server_run_admit(server_run *run, const char *id);

/* Whether no run has been admitted so far. */
bool server_run_is_first(server_run *run);

/* Asks the server behind `redis` which run it is, and for how long it has been up. False: not
 * answered by the deadline. */
bool server_run_ask(dlock_redis *redis, dlock_time deadline, char ret_id[RUN_ID_MAX + 1],
                    int64_t *ret_up_s);

#endif
