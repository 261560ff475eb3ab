/*
 * topology.h - Redis in one of its forms, real and private, started by scripts/redis-topology.
 *
 *     fx_topology *t = fx_topology_start("cluster", NULL);
 *     ... connect to fx_topology_url(t) ...
 *     int primary = fx_topology_primary(t, key);
 *     fx_topology_kill(t, primary);
 *     int next = fx_topology_next_primary(t, key, primary, 30000);
 *     fx_topology_restart(t, primary);
 *     fx_topology_settle(t, 30000);
 *     fx_topology_stop(t);
 *
 * Its members have the script's numbers, from 0 on, for as long as it is there, whatever part they
 * take now: replicas: 0 is the first primary, 1 and 2 its replicas. sentinel: likewise, and 3 to 5
 * are the sentinels. cluster: 0 to 2 are the first primaries, 3 to 5 their replicas, in that
 * order; with FX_REPLICAS=2 in the environment 6 to 8 are further ones, as the script has it by
 * default (they cost time and memory, and most tests need none). quorum: 0 is the sale's server, 1
 * to 3 those of the locks.
 *
 * Like all fixtures: for the main thread, what goes wrong fails the running test, and all of it
 * ends with the test program.
 */
#ifndef TESTS_SUPPORT_TOPOLOGY_H
#define TESTS_SUPPORT_TOPOLOGY_H

#include "tests/support/fixture.h"

enum { FX_MEMBERS_MAX = 16 };

typedef struct fx_topology fx_topology;

/* Starts one of the script's kinds, and waits until it is formed. The arguments are further
 * settings of each server ("--appendonly", "yes", NULL), ending with NULL, or NULL. */
fx_topology *fx_topology_start(const char *kind, const char *const *server_args);

/* Likewise one whose members are not taken for down merely because the machine is busy: for tests
 * that kill none. */
fx_topology *fx_topology_start_steady(const char *kind, const char *const *server_args);
void fx_topology_stop(fx_topology *t); /* NULL is allowed */

const char *fx_topology_kind(const fx_topology *t);
const char *fx_topology_url(const fx_topology *t);    /* what a client takes */
const char *fx_topology_quorum(const fx_topology *t); /* URL,URL,URL of a quorum's; else "" */
const char *fx_topology_dir(const fx_topology *t, int member, char *buf, size_t len);

int fx_topology_size(const fx_topology *t); /* the members, sentinels included */
int fx_topology_port(const fx_topology *t, int member);
bool fx_topology_is_sentinel(const fx_topology *t, int member);

/* SIGKILL, and waits until it is gone. */
void fx_topology_kill(fx_topology *t, int member);

/* SIGSTOP, SIGCONT. A stopped one is asked nothing by these functions until it goes on. */
void fx_topology_signal(fx_topology *t, int member, int signo);

/* Starts it again (killing it, if it runs) with the same port and directory, and what it has
 * written into its configuration; waits until it answers. */
void fx_topology_restart(fx_topology *t, int member);

/* The member that is the primary now, of the key in a cluster (NULL: the first of its primaries).
 * -1 = there is none that runs and thinks so. */
int fx_topology_primary(fx_topology *t, const char *key);

/* Waits until another member than `old` is that primary: its number. */
int fx_topology_next_primary(fx_topology *t, const char *key, int old, int deadline_ms);

/* Waits until all running members agree again: every slot of a cluster is served, every replica
 * that runs is up to date, every sentinel that runs knows the same primary. */
void fx_topology_settle(fx_topology *t, int deadline_ms);

/* A connection to a member (owned by the topology), with a limit of 20 s for each command; made
 * when there is none, NULL when it can not be asked. Ask for it again rather than keep it. */
redisContext *fx_topology_ctx(fx_topology *t, int member);

/* Sends one member a command, written as for redisCommand(): its answer, errors included; NULL
 * when it does not run or gave none within 20 s. Free with freeReplyObject(). */
redisReply *fx_topology_ask(fx_topology *t, int member, const char *format, ...);

/* Likewise, to where the command belongs: by its key (the first; of a script the first of KEYS) to
 * that key's primary (waiting for a new one during a failover), else
 *   - KEYS, DBSIZE, FLUSHALL, SCRIPT, INFO, CLIENT, SAVE: to all primaries;
 *   - CONFIG, ACL: to all members that run but sentinels;
 *   - others without a key: to the primary, in a cluster the first.
 * Of several answers numbers are added up, lists and texts joined; an error comes before them.
 * It fails the test when no primary answers. */
redisReply *fx_topology_command(fx_topology *t, const char *format, va_list args);

#endif
