/*
 * dlock bench: its options, the configurations that can be measured, and one measurement after
 * another.
 */
#include "cmd/bench/bench.h"
#include "cmd/command.h"
#include "cmd/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Redisson's hash polled every 50 ms is the hand-made lock of many articles: the baseline. */
static const struct {
    const char *name, *alias;
    dlock_options options;
    bool cohort;
} kinds[] = {
    {"poll50", NULL, {.kind = DLOCK_HASH, .poll_ms = 50}, false},
    {"string", NULL, {.kind = DLOCK_STRING}, false},
    {"hash", "pubsub", {.kind = DLOCK_HASH}, false},
    {"fair", NULL, {.kind = DLOCK_FAIR}, false},
    {"cohort", NULL, {.kind = DLOCK_FAIR}, true},
    {"quorum", "redlock", {.kind = DLOCK_QUORUM}, false},
    {"rw", NULL, {.kind = DLOCK_WRITE}, false},
    {"semaphore", NULL, {.kind = DLOCK_SEMAPHORE}, false},
};

static const char help[] =
    "usage: dlock bench [options]\n"
    "       dlock bench --renew N [options]\n"
    "       dlock bench --pending N [options]\n"
    "\n"
    "P processes with T threads each acquire and release one lock as fast as they can. Under the\n"
    "lock each reads and writes one counter with GET and SET, the canary. canary_lost is how many\n"
    "increments were lost. Holders that are not alone read the counter twice: \"canary broken\"\n"
    "in the table also counts readers that saw it change, and holders of permits when there were\n"
    "too many.\n"
    "\n"
    "  --kinds LIST           configurations, measured one after another.\n"
    "                         Default poll50,hash,fair,cohort\n"
    "                           string     SET NX PX, waiters poll with jitter\n"
    "                           hash       Redisson's layout, broadcast wake-up (or: pubsub)\n"
    "                           poll50     the same, but waiters ask every 50 ms\n"
    "                           fair       FIFO queue, direct hand-off\n"
    "                           cohort     fair, and a grant is passed on inside the process\n"
    "                           quorum     Redlock over the servers of --quorum (or: redlock)\n"
    "                           rw         read/write lock, --readers of 100 only read\n"
    "                           semaphore  --permits, each takes --take of them\n"
    "  --processes P          default 3\n"
    "  --threads T            in each process, default 16\n"
    "  --duration-ms D        of each measurement, default 5000\n"
    "  --think-ms A-B         pause before each acquisition, uniform; default 1-3\n"
    "  --hold-us H            pause under the lock, default 0\n"
    "  --lease-ms N           default 10000\n"
    "  --cohort-max N, --cohort-ms N\n"
    "                         limits of a cohort, default 32 grants and 10 ms\n"
    "  --quorum URL,URL,...   independent servers for the kind quorum\n"
    "  --readers N            of 100 acquisitions of kind rw, default 90\n"
    "  --permits N, --take N  of kind semaphore, default 4 permits, of which each takes 1\n"
    "  --kill holder|queued   kill one process halfway, while it holds or does not hold the lock,\n"
    "                         and show for how long nobody got the lock; not with rw and\n"
    "                         semaphore, which may have several holders\n"
    "  --renew N              one client holds N locks for the duration; show CPU time and late\n"
    "                         renewals\n"
    "  --pending N            in one process N acquisitions of kind fair wait at once, without a\n"
    "                         thread for each, on one lock and on N/100; show memory, threads and\n"
    "                         connections, then grants, and the same for 64 and 1,000 threads\n"
    "  --json FILE            write the results, \"schema\": 1\n" COMMAND_REDIS_HELP
    "  -h, --help             show this\n"
    "\n"
    "The cost of a contended lock is mostly wake-ups. If it is slow to wake a thread on another\n"
    "CPU (small virtual machines), compare the kinds on one CPU: start redis-server and this\n"
    "command with taskset -c 0.\n"
    "\n"
    "Exit codes:\n"
    "  0   measured, and the canary was not broken\n"
    "  1   it was broken: the lock does not exclude as it must\n"
    "  64  usage\n"
    "  69  Redis not reached\n"
    "  71  no process or memory\n"
    "\n"
    "Example: dlock bench --kinds hash,fair --processes 2 --duration-ms 3000\n";

/* ---- options --------------------------------------------------------------------------------- */

/* "1-3", "0.5", ... in ms. */
static bool read_think(bench_options *bench, const char *text)
{
    char *end;
    double least = strtod(text, &end), most = least;
    bool good = end != text;
    if (good && *end == '-') {
        text = end + 1;
        most = strtod(text, &end);
        good = end != text;
    }
    if (!good || *end || !(least >= 0 && least <= most && most <= 3600000)) {
        command_complain("--think-ms takes \"1-3\" or one number");
        return false;
    }
    bench->think_min_us = llround(least * 1000);
    bench->think_max_us = llround(most * 1000);
    return true;
}

static bool read_victim(bench_options *bench, const char *text)
{
    if (strcmp(text, "holder") == 0)
        bench->kill = BENCH_KILL_HOLDER;
    else if (strcmp(text, "queued") == 0)
        bench->kill = BENCH_KILL_QUEUED;
    else
        command_complain("--kill takes holder or queued");
    return bench->kill != BENCH_KILL_NOBODY;
}

/* Splits "a,b,c" in place. The number of its parts, or -1 when there are too many. */
static int split(char *list, const char **parts, int parts_max)
{
    int len = 0;
    char *rest = list;
    for (char *part; (part = strsep(&rest, ","));) {
        if (*part && len == parts_max)
            return -1;
        if (*part)
            parts[len++] = part;
    }
    return len;
}

static bool read_quorum(bench_options *bench, char *list)
{
    bench->quorum_len = split(list, bench->quorum, BENCH_SERVERS_MAX);
    if (bench->quorum_len > 0)
        return true;
    command_complain("--quorum takes 1 to %d addresses", BENCH_SERVERS_MAX);
    return false;
}

/* Options that are one whole number. */
static const struct {
    const char *name;
    size_t offset;
    int64_t min, max;
} numbers[] = {
    {"processes", offsetof(bench_options, processes), 1, BENCH_PROCESSES_MAX},
    {"threads", offsetof(bench_options, threads), 1, BENCH_THREADS_MAX},
    {"duration-ms", offsetof(bench_options, duration_ms), 100, 3600000},
    {"hold-us", offsetof(bench_options, hold_us), 0, 3600000000},
    {"lease-ms", offsetof(bench_options, lease_ms), 10, 86400000},
    {"cohort-max", offsetof(bench_options, cohort_max), 1, 1000000},
    {"cohort-ms", offsetof(bench_options, cohort_ms), 1, 3600000},
    {"renew", offsetof(bench_options, renew_locks), 1, 1000000},
    {"pending", offsetof(bench_options, pending), 1, 1000000},
    {"readers", offsetof(bench_options, readers), 0, 100},
    {"permits", offsetof(bench_options, permits), 1, 1000000000},
    {"take", offsetof(bench_options, take), 1, 1000000000},
};

#define NUMBER 256 /* getopt values from here on are indices into numbers[] */
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static bool take_option(bench_options *bench, int c)
{
    switch (c) {
    case 'r':
        bench->url = optarg;
        return true;
    case 'k':
        bench->kinds = optarg;
        return true;
    case 'j':
        bench->json_path = optarg;
        return true;
    case 't':
        return read_think(bench, optarg);
    case 'q':
        return read_quorum(bench, optarg);
    case 'v':
        return read_victim(bench, optarg);
    case '?':
        return false;
    default:
        return command_number(numbers[c - NUMBER].name, optarg, numbers[c - NUMBER].min,
                              numbers[c - NUMBER].max,
                              (int64_t *)(void *)((char *)bench + numbers[c - NUMBER].offset));
    }
}

/* Whether the options can be followed together. False after a complaint. */
static bool go_together(const bench_options *bench)
{
    if (bench->kill && bench->processes < 2)
        command_complain("--kill needs two processes at least");
    else if (bench->take > bench->permits)
        command_complain("--take is more than --permits: nobody would get them");
    else if (bench->pending && (bench->renew_locks || bench->kinds))
        command_complain("--pending measures kind fair, and nothing else beside");
    else
        return true;
    return false;
}

/* -1, or the exit code: help was shown, or an error. */
static int read_options(bench_options *bench, int argc, char **argv)
{
    static const struct option words[] = {
        {"redis", required_argument, NULL, 'r'},
        {"kinds", required_argument, NULL, 'k'},
        {"json", required_argument, NULL, 'j'},
        {"think-ms", required_argument, NULL, 't'},
        {"quorum", required_argument, NULL, 'q'},
        {"kill", required_argument, NULL, 'v'},
        COMMAND_HELP,
    };
    struct option options[LEN(words) + LEN(numbers) + 1] = {{NULL, 0, NULL, 0}};
    memcpy(options, words, sizeof(words));
    for (size_t i = 0; i < LEN(numbers); i++)
        options[LEN(words) + i] =
            (struct option){numbers[i].name, required_argument, NULL, NUMBER + (int)i};
    for (int c; (c = command_option(argc, argv, "h", options)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (!take_option(bench, c))
            return command_usage("bench");
    }
    if (optind < argc)
        command_complain("bench: what to do with \"%s\"?", argv[optind]);
    return optind == argc && go_together(bench) ? -1 : command_usage("bench");
}

/* ---- measurements ---------------------------------------------------------------------------- */

/* Makes the run of a named configuration. False after a complaint. */
static bool prepare(const bench_options *bench, const char *kind, bench_run *ret)
{
    size_t i = 0;
    while (i < LEN(kinds) && strcmp(kinds[i].name, kind) != 0 &&
           (!kinds[i].alias || strcmp(kinds[i].alias, kind) != 0))
        i++;
    if (i == LEN(kinds)) {
        command_complain("there is no kind \"%s\"", kind);
        return false;
    }
    *ret = (bench_run){.bench = bench, .kind = kinds[i].name, .options = kinds[i].options};
    ret->options.lease_ms = bench->lease_ms;
    if (kinds[i].cohort) {
        ret->options.cohort_max = (int)bench->cohort_max;
        ret->options.cohort_ms = bench->cohort_ms;
    }
    ret->urls[0] = command_redis_url(bench->url);
    if (!ret->urls[0])
        return false;
    ret->urls_len = 1;
    if (ret->options.kind == DLOCK_QUORUM) {
        memcpy(ret->urls, bench->quorum, sizeof(ret->urls));
        ret->urls_len = bench->quorum_len;
    }
    if (ret->options.kind == DLOCK_SEMAPHORE)
        ret->options.permits = bench->permits;
    if (ret->urls_len == 0)
        command_complain("the kind quorum needs --quorum URL,URL,...");
    if (bench->kill && bench_is_shared(ret)) {
        command_complain("--kill goes with kinds that one holds alone, not with %s", kind);
        return false;
    }
    int pid = (int)getpid();
    snprintf(ret->name, sizeof(ret->name), "bench:{%d-%s}", pid, ret->kind);
    snprintf(ret->canary, sizeof(ret->canary), "bench:{%d-%s}:canary", pid, ret->kind);
    return ret->urls_len > 0;
}

static int measure_all(const bench_options *bench, const bench_run *runs, int runs_len,
                       const char *redis_version)
{
    json_writer json;
    int code = 0;
    if (bench->json_path && !bench_json_start(&json, bench->json_path, redis_version))
        return EXIT_USAGE;
    if (bench->json_path)
        json_open(&json, "rows", '[');
    printf("%d processes x %d threads on one lock, think %g-%g ms, hold %g ms, %g s each, Redis ",
           (int)bench->processes, (int)bench->threads, (double)bench->think_min_us / 1000,
           (double)bench->think_max_us / 1000, (double)bench->hold_us / 1000,
           (double)bench->duration_ms / 1000);
    plain_put(stdout, redis_version);
    putchar('\n');
    bench_print_head();
    for (int i = 0; i < runs_len && code != EXIT_SYSTEM; i++) {
        bench_row row;
        int failed = bench_measure(&runs[i], &row);
        if (failed) {
            code = failed;
            continue;
        }
        bench_print_row(&row);
        if (bench->json_path)
            bench_json_row(&json, &row);
        if (row.canary_lost > 0 || row.broken > 0)
            code = EXIT_BENCH_FAILED;
    }
    if (bench->json_path) {
        json_close(&json, ']');
        if (!bench_json_finish(&json, bench->json_path))
            code = EXIT_SYSTEM;
    }
    return code;
}

/* Reaches the server once, before anything is forked. 0, or the exit code after a complaint. */
static int ask_version(const bench_run *run, char *ret, size_t ret_len)
{
    command_session session;
    int code = command_session_open(run->urls[0], NULL, NULL, &session);
    if (code)
        return code;
    if (!bench_info(session.redis, run->name, "redis_version", ret, ret_len))
        snprintf(ret, ret_len, "unknown");
    command_session_close(&session);
    return 0;
}

int command_bench(int argc, char **argv)
{
    bench_options bench = {.processes = 3,
                           .threads = 16,
                           .duration_ms = 5000,
                           .think_min_us = 1000,
                           .think_max_us = 3000,
                           .lease_ms = 10000,
                           .cohort_max = 32,
                           .cohort_ms = 10,
                           .readers = 90,
                           .permits = 4,
                           .take = 1};
    int code = read_options(&bench, argc, argv);
    if (code >= 0)
        return code;

    char list[256], version[32];
    const char *names[16];
    bench_run runs[16];
    const char *fallback = bench.renew_locks ? "string"
                           : bench.pending   ? "fair"
                                             : "poll50,hash,fair,cohort";
    snprintf(list, sizeof(list), "%s", bench.kinds ? bench.kinds : fallback);
    int len = split(list, names, LEN(names));
    if (len < 1)
        command_complain("--kinds takes 1 to %zu kinds", LEN(names));
    for (int i = 0; i < len; i++) {
        if (!prepare(&bench, names[i], &runs[i]))
            len = -1;
    }
    if (len < 1)
        return command_usage("bench");
    code = ask_version(&runs[0], version, sizeof(version));
    if (code)
        return code;
    return bench.renew_locks ? bench_renew(&runs[0], version)
           : bench.pending   ? bench_pending(&runs[0], version)
                             : measure_all(&bench, runs, len, version);
}
