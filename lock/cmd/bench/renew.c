/*
 * dlock bench --renew N: one client holds N locks for a while.
 *
 * A forked holder acquires them all and then only sleeps, so the CPU time it uses is that of the
 * renewals. This process meanwhile reads the time to live of every lock: with a renewal every
 * third of the lease none may ever fall below two thirds, and by how much one does is how late
 * its renewal was.
 */
#include "cmd/bench/bench.h"
#include "cmd/command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLE_EACH_MS 250
#define SAMPLE_MS      5000   /* limit of reading all times to live once */
#define ACQUIRE_MS     120000 /* limit of acquiring all locks */

/* Shared by the two processes. */
typedef struct renew_shared {
    atomic_bool ready, stop, failed;
    dlock_stats before, after;
    double cpu_us, seconds;
} renew_shared;

typedef struct renew_holder {
    const bench_run *run;
    renew_shared *shared;
    command_session session;
    dlock_lock **locks;
    dlock_hold **holds;
    int64_t held;
} renew_holder;

static void lock_name(const bench_run *run, int64_t index, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s:%" PRId64, run->name, index);
}

/* ---- the holder ------------------------------------------------------------------------------ */

static bool acquire_all(renew_holder *self)
{
    for (int64_t i = 0; i < self->run->bench->renew_locks; i++) {
        char name[96], err[256] = "";
        lock_name(self->run, i, name, sizeof(name));
        dlock_status status = dlock_lock_new(self->session.client, name, &self->run->options,
                                             &self->locks[i], err, sizeof(err));
        if (status == DLOCK_OK)
            status = dlock_acquire(self->locks[i], NULL, &self->holds[i]);
        if (status != DLOCK_OK) {
            command_complain("lock %s: %s %s", name, dlock_status_text(status), err);
            return false;
        }
        self->held++;
    }
    return true;
}

static void hold_all(renew_holder *self)
{
    renew_shared *shared = self->shared;
    dlock_client_stats(self->session.client, &shared->before);
    double cpu_us = bench_cpu_us(RUSAGE_SELF);
    int64_t since_ns = bench_now_ns();
    shared->ready = true;
    while (!shared->stop)
        dlock_sleep(dlock_in_ms(50));
    shared->cpu_us = bench_cpu_us(RUSAGE_SELF) - cpu_us;
    shared->seconds = (double)(bench_now_ns() - since_ns) / 1e9;
    dlock_client_stats(self->session.client, &shared->after);
}

static int hold(const bench_run *run, renew_shared *shared)
{
    size_t len = (size_t)run->bench->renew_locks;
    renew_holder self = {.run = run,
                         .shared = shared,
                         .locks = calloc(len, sizeof(dlock_lock *)),
                         .holds = calloc(len, sizeof(dlock_hold *))};
    int code = self.locks && self.holds
                   ? command_session_open(run->urls[0], NULL, NULL, &self.session)
                   : EXIT_SYSTEM;
    if (code == 0) {
        if (acquire_all(&self))
            hold_all(&self);
        else
            code = EXIT_SYSTEM;
        for (int64_t i = 0; i < self.held; i++)
            dlock_release(self.holds[i]);
        for (size_t i = 0; i < len; i++)
            dlock_lock_free(self.locks[i]);
        command_session_close(&self.session);
    }
    if (code)
        shared->failed = true;
    free(self.locks);
    free(self.holds);
    return code;
}

/* ---- the observer ---------------------------------------------------------------------------- */

/* Lowers *lowest_ms to the shortest time to live found now; -2 when a lock is gone. */
static bool sample(dlock_redis_conn *conn, const bench_run *run, int64_t *lowest_ms)
{
    dlock_time deadline = dlock_in_ms(SAMPLE_MS);
    dlock_args args;
    dlock_args_init(&args);
    for (int64_t i = 0; i < run->bench->renew_locks; i++) {
        char name[96];
        lock_name(run, i, name, sizeof(name));
        dlock_args_clear(&args);
        dlock_args_text(&args, "PTTL");
        dlock_args_text(&args, name);
        dlock_redis_queue(conn, &args);
    }
    dlock_args_free(&args);
    dlock_redis_outcome outcome = dlock_redis_flush(conn, deadline);
    for (int64_t i = 0; i < run->bench->renew_locks && outcome == DLOCK_REDIS_OK; i++) {
        redisReply *reply = NULL;
        outcome = dlock_redis_read(conn, deadline, &reply);
        if (outcome == DLOCK_REDIS_OK && reply->integer < *lowest_ms)
            *lowest_ms = reply->integer;
        freeReplyObject(reply);
    }
    return outcome == DLOCK_REDIS_OK;
}

/* Watches until the duration is over. The shortest time to live seen, or INT64_MAX on failure. */
static int64_t watch(const bench_run *run, renew_shared *shared)
{
    char err[256];
    int64_t lowest_ms = INT64_MAX;
    dlock_redis *redis = NULL;
    dlock_redis_conn *conn = NULL;
    dlock_redis_options address = {.url = run->urls[0], .name = "dlock-bench"};
    dlock_time end = dlock_in_ms(ACQUIRE_MS);
    while (!shared->ready && !shared->failed && !dlock_passed(end))
        dlock_sleep(dlock_in_ms(1));

    bool good = shared->ready && dlock_redis_open(&address, &redis, err, sizeof(err)) == 0 &&
                dlock_redis_dial(redis, run->name, dlock_in_ms(SAMPLE_MS), &conn) == DLOCK_REDIS_OK;
    end = dlock_in_ms(run->bench->duration_ms);
    while (good && !dlock_passed(end)) {
        good = sample(conn, run, &lowest_ms);
        dlock_sleep(dlock_in_ms(SAMPLE_EACH_MS));
    }
    shared->stop = true;
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
    return good ? lowest_ms : INT64_MAX;
}

static int report(const bench_run *run, const renew_shared *shared, int64_t lowest_ms,
                  const char *redis_version)
{
    const bench_options *bench = run->bench;
    double cpu_percent = shared->cpu_us / shared->seconds / 1e4;
    uint64_t renewals = shared->after.renewals - shared->before.renewals;
    uint64_t failed = shared->after.renewals_failed - shared->before.renewals_failed;
    uint64_t lost = shared->after.lost - shared->before.lost;
    int64_t late_ms = bench->lease_ms - bench->lease_ms / 3 - lowest_ms;
    if (late_ms < 0)
        late_ms = 0;
    printf("%" PRId64 " locks of kind %s held for %.1f s, lease %" PRId64 " ms: %" PRIu64
           " renewals, %" PRIu64 " failed, %" PRIu64 " locks lost\n"
           "shortest time to live %" PRId64 " ms: renewed %" PRId64 " ms late at most; "
           "%.2f %% of one core\n",
           bench->renew_locks, run->kind, shared->seconds, bench->lease_ms, renewals, failed, lost,
           lowest_ms, late_ms, cpu_percent);
    int code = lost > 0 || lowest_ms < 0 ? EXIT_BENCH_FAILED : 0;
    json_writer json;
    if (!bench->json_path)
        return code;
    if (!bench_json_start(&json, bench->json_path, redis_version))
        return EXIT_USAGE;
    json_open(&json, "renew", '{');
    json_text(&json, "kind", run->kind);
    json_int(&json, "locks", bench->renew_locks);
    json_int(&json, "lease_ms", bench->lease_ms);
    json_number(&json, "seconds", shared->seconds, 3);
    json_number(&json, "cpu_percent", cpu_percent, 2);
    json_int(&json, "renewals", (int64_t)renewals);
    json_int(&json, "renewals_failed", (int64_t)failed);
    json_int(&json, "lost", (int64_t)lost);
    json_int(&json, "lowest_ttl_ms", lowest_ms);
    json_int(&json, "late_ms", late_ms);
    json_close(&json, '}');
    return bench_json_finish(&json, bench->json_path) ? code : EXIT_SYSTEM;
}

int bench_renew(const bench_run *run, const char *redis_version)
{
    renew_shared *shared = bench_share(sizeof(*shared));
    if (!shared)
        return EXIT_SYSTEM;
    pid_t holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(hold(run, shared));
    }
    int code = EXIT_SYSTEM;
    if (holder > 0) {
        int64_t lowest_ms = watch(run, shared);
        while (waitpid(holder, NULL, 0) < 0 && errno == EINTR)
            continue;
        if (lowest_ms != INT64_MAX && !shared->failed)
            code = report(run, shared, lowest_ms, redis_version);
        else if (!shared->failed)
            command_complain("the times to live could not be read");
    } else {
        command_complain("no process: %s", strerror(errno));
    }
    munmap(shared, sizeof(*shared));
    return code;
}
