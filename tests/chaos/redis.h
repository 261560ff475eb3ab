/*
 * redis.h - the Redis of a cell that is killed, started again, or loses its power; and what its
 * buyers are told meanwhile.
 */
#ifndef TESTS_CHAOS_REDIS_H
#define TESTS_CHAOS_REDIS_H

#include "tests/chaos/cell.h"
#include "tests/support/topology.h"

/* SIGKILL, and the same server again, on what it has written. One server, no topology. */
void redis_kill(cell *c);
void redis_start(cell *c);

/* The name of the process that runs now. */
enum { REDIS_RUN_ID = 41 };
void redis_run_id(char buf[REDIS_RUN_ID]);

/* How often it has answered with an error that begins with this word. */
long long redis_errors(const char *word);

/* ---- its disk, a preloaded one (tests/tools/shims/fsync.c) ------------------------------------
 */

/* For prepare() and clean_up(). */
void redis_disk_put(cell *c);
void redis_disk_remove(cell *c);

/* From now on each sync takes so long; how many have. */
void redis_disk_slow(int delay_ms);
long long redis_disk_delayed(void);

/* Bytes in the append-only file, and those of them that are on the disk. */
typedef struct redis_file {
    long long written, synced;
} redis_file;
redis_file redis_disk_file(void);

/* SIGKILL, and what was not on the disk is gone: so many bytes. */
long long redis_lose_power(cell *c);

/* ---- buyers meanwhile ------------------------------------------------------------------------ */

/* Attempts that were answered with a refusal (503) or not at all. */
int redis_refusals(void);

/* Waits until nobody is sold anything because Redis has forgotten orders, and nothing can be
 * undone: the sale is over, its note says how many orders are lost. The refusals that then follow
 * have landed; none when an order was sold in between. */
void redis_has_forgotten(cell *c);

/* Waits until another member than `old` is the primary (of the key, in a cluster). */
bool redis_is_replaced(fx_topology *t, const char *key, int old, int deadline_ms);

/* Behind a failover: waits until every instance sells again, or all say that orders were lost. Then
 * the sale is over. */
void redis_after_failover(cell *c);

/* Waits until the sale is halted, and lets it go on as the admin does. */
void redis_resume(cell *c);

#endif
