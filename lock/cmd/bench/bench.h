/*
 * dlock bench: many processes and threads on one lock, measured from outside.
 *
 *     bench.c     options; one measurement after another
 *     measure.c   one measurement: forks the workers, starts and stops them, adds up
 *     worker.c    one worker process: its threads take and release the lock
 *     renew.c     another mode: one client holds many locks, and renews
 *     pending.c   the third one: what waiting costs, without a thread and with many
 *     waiters.c   the process whose waiters are measured then
 *     report.c    the table and the result file
 *     latency.c   a histogram of durations
 *
 * The workers are forked before any of them connects, since a client does not survive a fork.
 * They count into one block of shared memory. What only the lock's holder writes needs no care
 * but atomic loads and stores; what only one thread writes needs none. All times there are in
 * ns of the clock of dlock_now(), which processes of one machine share.
 */
#ifndef DLOCK_CMD_BENCH_H
#define DLOCK_CMD_BENCH_H

#include "cmd/bench/latency.h"
#include "cmd/json.h"
#include "dlock.h"

#include <stdatomic.h>

#define BENCH_SERVERS_MAX   16
#define BENCH_PROCESSES_MAX 64
#define BENCH_THREADS_MAX   256

/* Releases that still wait for a waiter to follow them; newcomers may snatch the lock meanwhile. */
#define BENCH_RELEASES_MAX 4096

/* Gaps between two grants that count as a standstill after a kill. */
#define BENCH_STALL_NS 20000000

typedef enum bench_victim { BENCH_KILL_NOBODY, BENCH_KILL_HOLDER, BENCH_KILL_QUEUED } bench_victim;

typedef struct bench_options {
    const char *url;
    const char *quorum[BENCH_SERVERS_MAX];
    int quorum_len;
    const char *kinds, *json_path;
    int64_t processes, threads, duration_ms;
    int64_t think_min_us, think_max_us, hold_us;
    int64_t lease_ms, cohort_max, cohort_ms, renew_locks, pending;
    int64_t readers;       /* rw: of 100 acquisitions, how many only read */
    int64_t permits, take; /* semaphore: how many there are, and each takes */
    bench_victim kill;
} bench_options;

/* ---- one measurement ------------------------------------------------------------------------- */

/* A named configuration, and where it runs. */
typedef struct bench_run {
    const bench_options *bench;
    const char *kind;
    dlock_options options;
    const char *urls[BENCH_SERVERS_MAX]; /* one server, or the quorum */
    int urls_len;
    char name[64], canary[80]; /* keys */
} bench_run;

/* Whether several may hold its lock at once. */
static inline bool bench_is_shared(const bench_run *run)
{
    return run->options.kind == DLOCK_WRITE || run->options.kind == DLOCK_SEMAPHORE;
}

typedef struct bench_thread {
    _Alignas(64) uint64_t ops; /* acquired, worked and released within the time */
    uint64_t increments;       /* of the canary, confirmed */
    uint64_t errors;           /* acquisitions, canary steps or releases that failed */
    uint64_t broken;           /* reads beside a write; sections beyond the permits */
    latency_histogram acquire; /* acquire called -> returned */
    latency_histogram writing; /* the same, of rw's writers alone */
    latency_histogram handoff; /* a release called -> the next waiter's acquire returned */
} bench_thread;

typedef struct bench_shared {
    atomic_int ready;       /* workers that wait for `go` */
    atomic_bool go, failed; /* failed: a worker could not start, and said why */
    _Atomic int64_t start_ns, stop_ns;

    _Atomic int64_t taken; /* semaphore: permits of the sections that are running */

    /* Written by the lock's holder only, and not where there may be several. */
    atomic_int holder; /* index of its process while it works; -1 = between two */
    _Atomic int64_t released_ns[BENCH_RELEASES_MAX]; /* releases were called then, oldest first */
    atomic_int released_len;
    _Atomic int64_t granted_ns;                 /* the last acquire returned then */
    _Atomic int64_t takeover_ns;                /* from the kill to the first grant after it */
    _Atomic int64_t longest_gap_ns, stalled_ns; /* between grants, since the kill */

    _Atomic int64_t killed_ns; /* the parent's; 0 = not yet */

    bench_thread thread[]; /* processes x threads */
} bench_shared;

typedef struct bench_row {
    const bench_run *run;
    double ops_per_s, fairness, cpu_us_per_op;
    double redis_cmds_per_op;  /* executed by Redis, those within scripts included */
    double round_trips_per_op; /* requests that Redis read; a pipeline is one */
    double takeover_ms, longest_gap_ms, stalled_ms; /* after the kill; NAN without one */
    int64_t canary_lost;
    uint64_t ops, errors, broken;
    latency_histogram acquire, writing, handoff;
} bench_row;

/* Runs one measurement. 0, or the exit code after a complaint. */
int bench_measure(const bench_run *run, bench_row *ret);

/* The life of worker process `index`; returns its exit code. */
int bench_work(const bench_run *run, bench_shared *shared, int index);

/* Holds many locks in one process, watches their leases, reports. Returns the exit code. */
int bench_renew(const bench_run *run, const char *redis_version);

/* Measures waiters without threads, and with. Returns the exit code. */
int bench_pending(const bench_run *run, const char *redis_version);

/* ---- what the measurements share ------------------------------------------------------------- */

#define BENCH_MS_NS 1000000

int64_t bench_now_ns(void);
void bench_sleep_until_ns(int64_t at_ns);

/* CPU time in us so far: of this process (RUSAGE_SELF) or of its ended children. */
double bench_cpu_us(int who);

/* Memory, all zero, that forked processes share. NULL after a complaint. */
void *bench_share(size_t len);

/* Opens the run's servers. False after a complaint; what is open then is to be closed too. */
bool bench_open_servers(const bench_run *run, dlock_redis **ret);
void bench_close_servers(const bench_run *run, dlock_redis **servers);

/* Removes a lock, its companions and the canary. */
void bench_remove_keys(dlock_redis *redis, const char *name);

/* ---- report ---------------------------------------------------------------------------------- */

void bench_print_head(void);
void bench_print_row(const bench_row *row);

/* Opens the result file with its "schema" and "environment", for one array or object more. False
 * after a complaint. */
bool bench_json_start(json_writer *json, const char *path, const char *redis_version);
bool bench_json_finish(json_writer *json, const char *path);
void bench_json_row(json_writer *json, const bench_row *row);

/* The number, or the text, that INFO of the key's server shows for a field. */
bool bench_info(dlock_redis *redis, const char *key, const char *field, char *ret, size_t ret_len);

#endif
