/*
 * One measurement, the parent's side: workers are forked, started together, one of them killed if
 * that was asked for, and what they and Redis counted is added up.
 */
#include "cmd/bench/bench.h"
#include "cmd/command.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_LIMIT_MS 10000
#define HEAD_START_NS  50000000 /* from `go` until the first acquisition */
#define ASK_MS         3000

typedef struct measurement {
    const bench_run *run;
    bench_shared *shared;
    size_t shared_len;
    pid_t pid[BENCH_PROCESSES_MAX];
    dlock_redis *redis[BENCH_SERVERS_MAX];
    double commands, reads; /* what Redis executed meanwhile; how often it read a request; NAN
                               where it does not tell */
    int64_t final;          /* the canary's last value */
    double cpu_us;          /* of all workers */
    int victim;             /* the process killed; -1 = none */
} measurement;

/* ---- what the measurements share ------------------------------------------------------------- */

int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now); /* as dlock_now(), which counts in us */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_sleep_until_ns(int64_t at_ns)
{
    dlock_sleep((dlock_time){(at_ns + 999) / 1000});
}

double bench_cpu_us(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void *bench_share(size_t len)
{
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    command_complain("no shared memory: %s", strerror(errno));
    return NULL;
}

bool bench_open_servers(const bench_run *run, dlock_redis **ret)
{
    char err[256];
    for (int i = 0; i < run->urls_len; i++) {
        dlock_redis_options address = {.url = run->urls[i], .name = "dlock-bench"};
        if (dlock_redis_open(&address, &ret[i], err, sizeof(err)) != 0) {
            command_complain("%s", err);
            return false;
        }
    }
    return true;
}

void bench_close_servers(const bench_run *run, dlock_redis **servers)
{
    for (int i = 0; i < run->urls_len; i++)
        dlock_redis_close(servers[i]);
}

/* ---- asking Redis ---------------------------------------------------------------------------- */

/* Runs a command of two words at the key's server. NULL when it failed; the caller frees the reply.
 */
static redisReply *ask(dlock_redis *redis, const char *key, const char *verb, const char *object)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, verb);
    dlock_args_text(&args, object);
    dlock_redis_outcome outcome =
        dlock_redis_command(redis, key, &args, dlock_in_ms(ASK_MS), &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK)
        return reply;
    freeReplyObject(reply);
    return NULL;
}

bool bench_info(dlock_redis *redis, const char *key, const char *field, char *ret, size_t ret_len)
{
    char start[64];
    int start_len = snprintf(start, sizeof(start), "\n%s:", field);
    redisReply *reply = ask(redis, key, "INFO", "all");
    const char *found = reply && reply->str ? strstr(reply->str, start) : NULL;
    if (found) {
        found += start_len;
        snprintf(ret, ret_len, "%.*s", (int)strcspn(found, "\r\n"), found);
    }
    freeReplyObject(reply);
    return found != NULL;
}

/* The sum of one INFO field over all servers; of a cluster only the lock's has work. */
static double count_all(measurement *self, const char *field)
{
    double sum = 0;
    for (int i = 0; i < self->run->urls_len; i++) {
        char text[32];
        bool told = bench_info(self->redis[i], self->run->name, field, text, sizeof(text));
        sum += told ? strtod(text, NULL) : NAN;
    }
    return sum;
}

/* Adds what was counted so far, with sign -1 before and +1 after the run. */
static void count_work(measurement *self, int sign)
{
    self->commands += sign * count_all(self, "total_commands_processed");
    self->reads += sign * count_all(self, "total_reads_processed");
}

void bench_remove_keys(dlock_redis *redis, const char *name)
{
    static const char *const roles[] = {"fence", "queue", "beats", "permits"};
    const char *tag = strchr(name, '{');
    char key[256];
    freeReplyObject(ask(redis, name, "DEL", name));
    snprintf(key, sizeof(key), "%s:canary", name);
    freeReplyObject(ask(redis, key, "DEL", key));
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        snprintf(key, sizeof(key), "dlock:%.*s:%s:%s", (int)strcspn(tag, "}") + 1, tag, roles[i],
                 name);
        freeReplyObject(ask(redis, key, "DEL", key));
    }
}

/* ---- the workers' lives ---------------------------------------------------------------------- */

static bool fork_workers(measurement *self)
{
    pid_t parent = getpid();
    fflush(stdout);
    for (int i = 0; i < self->run->bench->processes; i++) {
        self->pid[i] = fork();
        if (self->pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(getppid() == parent ? bench_work(self->run, self->shared, i) : EXIT_SYSTEM);
        }
        if (self->pid[i] < 0) {
            command_complain("no process: %s", strerror(errno));
            return false;
        }
    }
    return true;
}

static void reap_workers(measurement *self, bool kill_first)
{
    for (int i = 0; i < self->run->bench->processes && self->pid[i] > 0; i++) {
        if (kill_first)
            kill(self->pid[i], SIGKILL);
        while (waitpid(self->pid[i], NULL, 0) < 0 && errno == EINTR)
            continue;
    }
}

static bool wait_until_ready(measurement *self)
{
    dlock_time limit = dlock_in_ms(START_LIMIT_MS);
    while (self->shared->ready < self->run->bench->processes) {
        if (self->shared->failed || dlock_passed(limit))
            return false;
        dlock_sleep(dlock_in_ms(1));
    }
    return true;
}

/* ---- killing --------------------------------------------------------------------------------- */

/* The process to be killed: the one that works under the lock, or else the one after it, which
 * then at most waits. -1: just now nobody works. */
static int choose_victim(const bench_run *run, const bench_shared *shared)
{
    int holder = shared->holder;
    if (holder < 0 || run->bench->kill == BENCH_KILL_HOLDER)
        return holder;
    return (holder + 1) % (int)run->bench->processes;
}

/* Stops the victim, looks again where the lock is, and kills it only if that has not changed:
 * between looking and killing it can not move then. */
static bool try_kill(measurement *self)
{
    bench_shared *shared = self->shared;
    int status, victim = choose_victim(self->run, shared);
    if (victim < 0)
        return false;
    kill(self->pid[victim], SIGSTOP);
    if (waitpid(self->pid[victim], &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
        return false;
    if (choose_victim(self->run, shared) == victim) {
        kill(self->pid[victim], SIGKILL);
        shared->killed_ns = bench_now_ns();
        self->victim = victim;
        return true;
    }
    kill(self->pid[victim], SIGCONT);
    return false;
}

static bool kill_halfway(measurement *self)
{
    const bench_options *bench = self->run->bench;
    bench_sleep_until_ns(self->shared->start_ns + bench->duration_ms * BENCH_MS_NS / 2);
    while (bench_now_ns() < self->shared->stop_ns) {
        if (try_kill(self))
            return true;
        dlock_sleep(dlock_in_ms(1));
    }
    command_complain("no process could be killed: nobody held the lock");
    return false;
}

/* ---- adding up ------------------------------------------------------------------------------- */

static void add_up(const measurement *self, bench_row *row)
{
    const bench_options *bench = self->run->bench;
    const bench_shared *shared = self->shared;
    uint64_t slowest = UINT64_MAX, fastest = 0;
    int64_t increments = 0;

    for (int64_t i = 0; i < bench->processes * bench->threads; i++) {
        const bench_thread *thread = &shared->thread[i];
        row->ops += thread->ops;
        row->errors += thread->errors;
        row->broken += thread->broken;
        increments += (int64_t)thread->increments;
        latency_add(&row->acquire, &thread->acquire);
        latency_add(&row->writing, &thread->writing);
        latency_add(&row->handoff, &thread->handoff);
        if (i / bench->threads == self->victim) /* out of the race */
            continue;
        if (thread->ops < slowest)
            slowest = thread->ops;
        if (thread->ops > fastest)
            fastest = thread->ops;
    }
    double ops = (double)row->ops;
    row->ops_per_s = ops * 1000 / (double)bench->duration_ms;
    row->fairness = fastest ? (double)slowest / (double)fastest : NAN;
    /* Without the canary's GET and SET. */
    row->redis_cmds_per_op = row->ops ? self->commands / ops - 2 : NAN;
    row->round_trips_per_op = row->ops ? self->reads / ops - 2 : NAN;
    row->cpu_us_per_op = row->ops ? self->cpu_us / ops : NAN;
    row->canary_lost = increments > self->final ? increments - self->final : 0;
    bool killed = shared->killed_ns != 0;
    row->takeover_ms =
        killed && shared->takeover_ns ? (double)shared->takeover_ns / BENCH_MS_NS : NAN;
    row->longest_gap_ms = killed ? (double)shared->longest_gap_ns / BENCH_MS_NS : NAN;
    row->stalled_ms = killed ? (double)shared->stalled_ns / BENCH_MS_NS : NAN;
}

/* Lets the workers run for the duration, and collects what Redis knows. */
static bool run_workers(measurement *self)
{
    const bench_options *bench = self->run->bench;
    bench_shared *shared = self->shared;
    double cpu_us = bench_cpu_us(RUSAGE_CHILDREN);

    shared->start_ns = bench_now_ns() + HEAD_START_NS;
    shared->stop_ns = shared->start_ns + bench->duration_ms * BENCH_MS_NS;
    shared->granted_ns = shared->start_ns;
    shared->go = true;
    count_work(self, -1);
    bool good = bench->kill == BENCH_KILL_NOBODY || kill_halfway(self);
    bench_sleep_until_ns(shared->stop_ns);
    count_work(self, 1);
    reap_workers(self, false);

    self->cpu_us = bench_cpu_us(RUSAGE_CHILDREN) - cpu_us;
    redisReply *reply = ask(self->redis[0], self->run->canary, "GET", self->run->canary);
    self->final = reply && reply->str ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return good && !shared->failed;
}

int bench_measure(const bench_run *run, bench_row *ret)
{
    const bench_options *bench = run->bench;
    measurement self = {.run = run, .victim = -1};
    self.shared_len = sizeof(*self.shared) +
                      (size_t)(bench->processes * bench->threads) * sizeof(self.shared->thread[0]);
    self.shared = bench_share(self.shared_len);
    if (!self.shared)
        return EXIT_SYSTEM;
    self.shared->holder = -1;

    int code = EXIT_SYSTEM;
    if (!fork_workers(&self) || !wait_until_ready(&self) || !bench_open_servers(run, self.redis))
        reap_workers(&self, true);
    else if (run_workers(&self))
        code = 0;
    if (code == 0) {
        *ret = (bench_row){.run = run};
        add_up(&self, ret);
        for (int i = 0; i < run->urls_len; i++)
            bench_remove_keys(self.redis[i], run->name);
    }
    bench_close_servers(run, self.redis);
    munmap(self.shared, self.shared_len);
    return code;
}
