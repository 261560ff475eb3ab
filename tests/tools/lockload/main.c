/*
 * lockload - processes and threads that fight over locks of libdlock and write down what happened,
 * for histcheck. See tests/tools/README.md.
 *
 * Prints `lockload pids P P P` once the processes are forked, so that a test can stop and kill
 * them. Exit: 0, 1 when a process failed (one that was killed did not), 64 usage.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/lockload/load.h"

#define EXIT_USAGE 64

static const struct number {
    const char *name;
    size_t offset;
    int64_t fallback;
    const char *help;
} numbers[] = {
    {"processes", offsetof(load_options, processes), 2, "processes"},
    {"threads", offsetof(load_options, threads), 2, "threads in each"},
    {"duration-ms", offsetof(load_options, duration_ms), 1000, "how long they go on"},
    {"think-ms", offsetof(load_options, think_ms), 2, "pause after a turn, at most"},
    {"hold-ms", offsetof(load_options, hold_ms), 2, "time of a hold, at most"},
    {"fixed", offsetof(load_options, fixed), 0, "1: think and hold exactly so long"},
    {"wait-ms", offsetof(load_options, wait_ms), 2000, "limit of one wait, -1 none"},
    {"reenter", offsetof(load_options, reenter), 0, "percent of holds that re-enter"},
    {"guard", offsetof(load_options, guard), 0, "percent of holds that write guarded"},
    {"readers", offsetof(load_options, readers), 0, "kind write: percent of turns that read"},
    {"downgrade", offsetof(load_options, downgrade), 0, "percent of writers that read on"},
    {"permits", offsetof(load_options, lock.permits), 0, "kind semaphore: how many there are"},
    {"take", offsetof(load_options, take), 1, "and how many a turn takes, at most"},
    {"lease-ms", offsetof(load_options, lock.lease_ms), 1000, "lease"},
    {"renew-ms", offsetof(load_options, lock.renew_ms), 0, "renewal's period, -1 none"},
    {"max-hold-ms", offsetof(load_options, lock.max_hold_ms), 0, "cap on a grant's time"},
    {"poll-ms", offsetof(load_options, lock.poll_ms), 0, "poll instead of being woken"},
    {"cohort-ms", offsetof(load_options, lock.cohort_ms), 0, "budget of a cohort in time"},
    {"io-ms", offsetof(load_options, io_ms), 0, "limit of one question to Redis"},
    {"recheck-ms", offsetof(load_options, recheck_ms), 0, "the client's re-check"},
    {"seed", offsetof(load_options, seed), 1, "of all chances"},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
#define NUMBER  256 /* getopt's values from here on are indices into numbers[] */

static int usage(void)
{
    fputs("usage: lockload --redis URL [--redis URL ...] [--lock NAME ...] [--history DIR]\n"
          "                [--kind string|hash|fair|quorum|read|write|semaphore] [--cohort MAX]\n"
          "and, with numbers:\n",
          stderr);
    for (size_t i = 0; i < NUMBERS; i++)
        fprintf(stderr, "  --%-12s %s (%lld)\n", numbers[i].name, numbers[i].help,
                (long long)numbers[i].fallback);
    return EXIT_USAGE;
}

static bool read_kind(const char *text, dlock_kind *ret)
{
    static const char *const names[] = {"string", "hash",  "fair",     "quorum",
                                        "read",   "write", "semaphore"};
    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (dlock_kind)i;
            return true;
        }
    }
    return false;
}

static bool take_option(load_options *o, int name)
{
    if (name >= NUMBER) {
        *(int64_t *)(void *)((char *)o + numbers[name - NUMBER].offset) = strtoll(optarg, NULL, 10);
        return true;
    }
    switch (name) {
    case 'r':
        if (o->urls_len < LOAD_SERVERS_MAX)
            o->urls[o->urls_len++] = optarg;
        return true;
    case 'l':
        if (o->locks_len < LOAD_LOCKS_MAX)
            o->locks[o->locks_len++] = optarg;
        return true;
    case 'd':
        o->history = optarg;
        return true;
    case 'c':
        o->lock.cohort_max = (int)strtol(optarg, NULL, 10);
        return true;
    case 'k':
        return read_kind(optarg, &o->lock.kind);
    default:
        return false;
    }
}

static bool read_options(int argc, char **argv, load_options *o)
{
    struct option options[NUMBERS + 6] = {{"redis", required_argument, NULL, 'r'},
                                          {"lock", required_argument, NULL, 'l'},
                                          {"history", required_argument, NULL, 'd'},
                                          {"cohort", required_argument, NULL, 'c'},
                                          {"kind", required_argument, NULL, 'k'}};
    for (size_t i = 0; i < NUMBERS; i++) {
        options[5 + i] = (struct option){numbers[i].name, required_argument, NULL, NUMBER + (int)i};
        *(int64_t *)(void *)((char *)o + numbers[i].offset) = numbers[i].fallback;
    }
    for (int name; (name = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (!take_option(o, name))
            return false;
    }
    if (o->locks_len == 0)
        o->locks[o->locks_len++] = "lockload";
    return o->urls_len > 0 && optind == argc && o->processes > 0 && o->threads > 0;
}

/* The processes are forked before there is a client: a child can not inherit one. */
static bool fork_all(const load_options *o)
{
    pid_t parent = getpid();
    printf("lockload pids");
    for (int i = 0; i < o->processes; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(getppid() == parent ? load_run(o, i) : EXIT_FAILURE); /* a leak checker listens */
        }
        if (pid < 0) {
            perror("lockload");
            return false;
        }
        printf(" %d", (int)pid);
    }
    printf("\n");
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    load_options options = {0};
    if (!read_options(argc, argv, &options))
        return usage();
    signal(SIGPIPE, SIG_IGN);
    bool ok = fork_all(&options);
    for (int status; wait(&status) > 0;)
        ok = ok && (WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
