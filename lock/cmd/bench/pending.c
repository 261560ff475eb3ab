/*
 * dlock bench --pending N: what waiting costs. N acquisitions of one client, on one lock and on a
 * hundredth as many, in two forms: all started at once in one thread's event loop, and made by
 * threads that wait. Each measurement has a process of its own, which begins with fresh memory.
 */
#include "cmd/bench/bench.h"
#include "cmd/bench/waiters.h"
#include "cmd/command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_FILES 1024 /* descriptors for all but the pending calls themselves */

/* The blocking form is measured with so many threads, as far as there is work for them. */
static const int64_t thread_counts[] = {64, 1000};
#define FORMS (1 + (int)(sizeof(thread_counts) / sizeof(thread_counts[0])))

/* Sees to it that the process may have so many descriptors. False after a complaint. */
static bool allow_files(int64_t needed)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    if (limit.rlim_cur >= (rlim_t)needed)
        return true;
    struct rlimit wanted = {.rlim_cur = (rlim_t)needed, .rlim_max = limit.rlim_max};
    if (wanted.rlim_max < wanted.rlim_cur)
        wanted.rlim_max = wanted.rlim_cur; /* root's privilege */
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        return true;
    command_complain("%" PRId64 " descriptors are needed, and no more than %" PRIu64
                     " allowed here: see ulimit -Hn, or ask for fewer with --pending",
                     needed, (uint64_t)limit.rlim_max);
    return false;
}

/* Runs one measurement in a process of its own. 0, or the exit code after a complaint. */
static int measure(const waiters_plan *plan, waiters_cost *shared)
{
    int status;
    pid_t parent = getpid();
    fflush(stdout);
    memset(shared, 0, sizeof(*shared));
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? waiters_run(plan, shared) : EXIT_SYSTEM);
    }
    if (child < 0) {
        command_complain("no process: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return EXIT_SYSTEM;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    command_complain("the measuring process was killed");
    return EXIT_SYSTEM;
}

static void remove_keys(const bench_run *run, int64_t locks)
{
    dlock_redis *redis[BENCH_SERVERS_MAX] = {NULL};
    if (bench_open_servers(run, redis)) {
        for (int64_t i = 0; i < locks; i++) {
            char name[96];
            waiters_lock_name(run, i, name, sizeof(name));
            bench_remove_keys(redis[0], name);
        }
    }
    bench_close_servers(run, redis);
}

/* ---- report ---------------------------------------------------------------------------------- */

static double per(double sum, int64_t count)
{
    return count > 0 ? sum / (double)count : NAN;
}

static void print_head(int64_t total, const char *redis_version)
{
    static const char columns[] = "%-14s %6s  %8s%8s%8s  %8s%8s  %8s%8s  %6s\n";
    printf("%" PRId64
           " acquisitions of kind fair by one process, each released at once, Redis %s\n",
           total, redis_version);
    printf(columns, "", "", "waiting", "", "connec-", "MB", "KB", "", "client", "");
    printf(columns, "form", "locks", "at once", "threads", "tions", "in all", "each", "grants/s",
           "us", "errors");
}

static void print_row(const waiters_plan *plan, const waiters_cost *cost)
{
    char form[32] = "pending";
    if (plan->threads)
        snprintf(form, sizeof(form), "%" PRId64 " threads", plan->threads);
    printf("%-14s %6" PRId64 "  %8" PRId64 "%8" PRId64 "%8" PRId64
           "  %8.1f%8.2f  %8.0f%8.0f  %6" PRId64 "\n",
           form, plan->locks, cost->waiting, cost->threads, cost->connections,
           (double)cost->resident / 1e6, per((double)cost->added / 1e3, cost->waiting),
           (double)cost->grants / cost->seconds, per(cost->cpu_us, cost->grants), cost->errors);
    fflush(stdout);
}

static void write_row(json_writer *json, const waiters_plan *plan, const waiters_cost *cost)
{
    json_open(json, NULL, '{');
    json_text(json, "form", plan->threads ? "threads" : "pending");
    json_int(json, "locks", plan->locks);
    json_int(json, "waiting", cost->waiting);
    json_int(json, "threads", cost->threads);
    json_int(json, "connections", cost->connections);
    json_int(json, "resident_bytes", cost->resident);
    json_number(json, "bytes_each", per((double)cost->added, cost->waiting), 0);
    json_int(json, "grants", cost->grants);
    json_number(json, "seconds", cost->seconds, 3);
    json_number(json, "grants_per_s", (double)cost->grants / cost->seconds, 1);
    json_number(json, "cpu_us_per_grant", per(cost->cpu_us, cost->grants), 1);
    json_int(json, "errors", cost->errors);
    json_close(json, '}');
}

/* ---- the measurements ------------------------------------------------------------------------ */

/* All forms on so many locks. The exit code. */
static int measure_forms(const bench_run *run, int64_t locks, waiters_cost *shared,
                         json_writer *json)
{
    int64_t total = run->bench->pending;
    int code = 0;
    for (int i = 0; i < FORMS && code != EXIT_SYSTEM; i++) {
        waiters_plan plan = {.run = run, .total = total, .locks = locks};
        if (i > 0)
            plan.threads = thread_counts[i - 1] < total ? thread_counts[i - 1] : total;
        int failed = measure(&plan, shared);
        if (failed) {
            code = failed;
            continue;
        }
        print_row(&plan, shared);
        if (json)
            write_row(json, &plan, shared);
        if (shared->errors > 0 || shared->grants < total)
            code = EXIT_BENCH_FAILED;
    }
    remove_keys(run, locks);
    return code;
}

int bench_pending(const bench_run *run, const char *redis_version)
{
    const bench_options *bench = run->bench;
    int64_t many = bench->pending / 100;
    json_writer json;
    if (!allow_files(bench->pending + OTHER_FILES))
        return EXIT_SYSTEM;
    waiters_cost *shared = bench_share(sizeof(*shared));
    if (!shared)
        return EXIT_SYSTEM;
    if (bench->json_path && !bench_json_start(&json, bench->json_path, redis_version)) {
        munmap(shared, sizeof(*shared));
        return EXIT_USAGE;
    }
    if (bench->json_path)
        json_open(&json, "pending", '[');
    print_head(bench->pending, redis_version);
    int code = measure_forms(run, 1, shared, bench->json_path ? &json : NULL);
    if (code == 0 && many > 1)
        code = measure_forms(run, many, shared, bench->json_path ? &json : NULL);
    if (bench->json_path) {
        json_close(&json, ']');
        if (!bench_json_finish(&json, bench->json_path))
            code = EXIT_SYSTEM;
    }
    munmap(shared, sizeof(*shared));
    return code;
}
