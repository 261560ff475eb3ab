/* The dlock command: its manual (--help), and the choice of the subcommand. */
#include "cmd/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "dlock - distributed locks over Redis for shell scripts and cron jobs\n"
    "\n"
    "usage:\n"
    "  dlock run [options] NAME -- COMMAND [ARG...]   run a command under the lock NAME\n"
    "  dlock status [--json] NAME                     who holds it, since when, how many wait\n"
    "  dlock release --force NAME                     take it away from whoever has it\n"
    "  dlock bench [options]                          measure the kinds of lock, contended\n"
    "  dlock bench --renew N [options]                hold N locks, measure their renewal\n"
    "\n"
    "  --redis URL    the server; else the environment's DLOCK_REDIS (which keeps a password\n"
    "                 out of ps), else redis://127.0.0.1:6379. Also unix:///path/redis.sock\n"
    "  --help, --version\n"
    "\n"
    "run: waits until the lock is free, holds and renews it while COMMAND runs, then releases it.\n"
    "  --wait-ms N    give up after N ms (0: one try). Default: wait for ever\n"
    "  --lease-ms N   how long the lock outlives a crash of this machine. Default 10000\n"
    "  --grace-ms N   when the lock is lost, COMMAND gets SIGTERM, and N ms later SIGKILL.\n"
    "                 Default 2000\n"
    "  COMMAND finds DLOCK_FENCE, a number that rises with every grant, and DLOCK_OWNER, the\n"
    "  token in Redis, in its environment. Pass the fence to what you write to, and refuse lower\n"
    "  ones there: that keeps out a holder that was stopped for longer than its lease.\n"
    "  Signals are passed on to COMMAND. It ends with dlock, even if dlock is killed. Without a\n"
    "  terminal on stdin COMMAND gets a process group of its own, and signals reach all of it.\n"
    "\n"
    "  exit codes: COMMAND's own (128 + N when signal N ended it, 126/127 when it can not be\n"
    "  started), 64 usage, 69 Redis unreachable, 75 not obtained, 76 the lock was lost\n"
    "\n"
    "status, release: exit code 0: it is (was) held; 1: it is free; 64, 69 as above.\n"
    "\n"
    "bench: P processes with T threads each take and release one lock as fast as they can.\n"
    "  --kinds LIST   configurations, measured one after another; default poll50,hash,fair,cohort\n"
    "                   string   SET NX PX, waiters poll with jitter\n"
    "                   hash     Redisson's layout, broadcast wake-up (also called pubsub)\n"
    "                   poll50   the same, but waiters ask every 50 ms\n"
    "                   fair     FIFO queue, direct hand-off\n"
    "                   cohort   fair, and a grant is passed on inside the process\n"
    "                   quorum   Redlock over the servers of --quorum\n"
    "  --processes P (3)   --threads T (16)   --duration-ms D (5000)\n"
    "  --think-ms A-B (1-3)   pause before each acquisition, uniform   --hold-us H (0)\n"
    "  --lease-ms N (10000)   --cohort-max N (32)   --cohort-ms N (10)\n"
    "  --quorum URL,URL,...   independent servers   --json FILE   results, \"schema\": 1\n"
    "  --kill holder|queued   kills one process halfway, while it holds or does not hold the\n"
    "                         lock, and shows for how long nobody got it\n"
    "  Under the lock each thread reads and writes one counter with GET and SET. canary_lost is\n"
    "  how many of its increments got lost; exit code 1 if any did.\n"
    "  Contended locks are all wake-ups. Where waking a thread on another CPU is slow (small "
    "virtual\n"
    "  machines), compare the kinds on one CPU: start both redis-server and this with taskset -c "
    "0.\n"
    "  --renew N      one client holds N locks for the duration; shows CPU time, late renewals\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", command_run},
    {"status", command_status},
    {"release", command_release},
    {"bench", command_bench},
};

static bool asks_for(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (asks_for(argc, argv, "--help")) {
        fputs(help, stdout);
        return 0;
    }
    if (asks_for(argc, argv, "--version")) {
        puts("dlock " FLASHSALE_VERSION);
        return 0;
    }
    if (argc < 2) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    command_complain("there is no command \"%s\"", argv[1]);
    return command_usage();
}
