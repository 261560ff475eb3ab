/* dlock run's manual and its options. The names of those that flock(1) has too are flock's. */
#include "cmd/run_options.h"
#include "cmd/command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_S       31536000
#define LEASE_MIN_MS 100
#define LEASE_MAX_MS 86400000
#define LEASE_MS     10000
#define GRACE_PART   5 /* of the lease, unless given; at most a third of it */
#define GRACE_MAX_MS LEASE_MAX_MS

static const char help[] =
    "usage: dlock run [options] NAME -- COMMAND [ARG...]\n"
    "\n"
    "Waits until the lock NAME is free, holds and renews it while COMMAND and all that it starts\n"
    "run, then releases it. The \"--\" may be left out if no option stands behind NAME and "
    "COMMAND\n"
    "has no \"--\".\n"
    "\n"
    "  -w, --wait SECONDS     give up after so long, as in 2.5; 0 to 31536000 (a year).\n"
    "                         Default: wait for ever\n"
    "  --wait-ms N            the same in ms\n"
    "  -n, --nonblock         one try only, as --wait 0\n"
    "  -E, --conflict-exit-code N\n"
    "                         exit code when another has the lock, 0 to 255. Default 75\n"
    "  --lease-ms N           for how long the lock outlives a crash of this machine; it is\n"
    "                         renewed every third of that. 100 to 86400000. Default 10000\n"
    "  --grace-ms N           from SIGTERM to SIGKILL when COMMAND has to be ended; more than a\n"
    "                         third of the lease counts as a third. Default: a fifth of "
    "it\n" COMMAND_REDIS_HELP "  -h, --help             this\n"
    "\n"
    "Without a wait the lock is waited for for ever, a Redis that does not answer at the start "
    "for\n"
    "5 s; with a wait both until it is over, the first question to Redis for 1 s at least. One "
    "that\n"
    "refuses the user or the password is not waited for.\n"
    "In a crontab give a wait, or -n: without one, runs pile up behind one that hangs.\n"
    "\n"
    "COMMAND finds in its environment DLOCK_FENCE, a number that rises with every grant, and\n"
    "DLOCK_OWNER, the token in Redis. Pass the fence to what you write to, and refuse lower ones\n"
    "there: that keeps out a holder whose machine stood still for longer than its lease.\n"
    "\n"
    "Nothing that COMMAND started, in whatever session, runs longer than the lock is held:\n"
    "  COMMAND ends           what it left behind has the grace to end, then SIGTERM, after the\n"
    "                         grace SIGKILL; then the lock is released. So a daemon is started\n"
    "                         by its service manager, not here\n"
    "  Redis is silent, or dlock is stopped (Ctrl-Z too)\n"
    "                         SIGTERM in time, SIGKILL before the lease is over\n"
    "  dlock is killed        SIGTERM at once, SIGKILL after the grace, before the lease is over\n"
    "  the lock is taken away (dlock release --force)\n"
    "                         SIGKILL at the next renewal; until then the next holder is not\n"
    "                         alone\n"
    "Not reached: what others run for COMMAND (service managers, docker, at, ssh); processes of\n"
    "another user (sudo), for which the lock is kept while it can be renewed; processes that "
    "/proc\n"
    "hides (hidepid=2) or that fork and end so fast that none is met; COMMAND's descendants when\n"
    "both dlock and the process lock-supervisor below it are killed or stopped; a process stuck "
    "in\n"
    "the kernel; a machine that stands still.\n"
    "\n"
    "Signals to dlock are passed on to COMMAND, without a terminal to all of its process group;\n"
    "when it has ended, TERM, INT, HUP and QUIT end at once what it left behind. Signals ignored "
    "at\n"
    "the start (nohup) stay ignored.\n"
    "\n"
    "Exit codes:\n"
    "  N        COMMAND's own; 126 or 127 when it can not be started\n"
    "  64       usage\n"
    "  69       Redis not reached\n"
    "  71       no process or memory, no /proc, or the supervisor was killed\n"
    "  75       the lock was not obtained\n"
    "  76       it was lost, or about to be, before COMMAND's end\n"
    "  128 + N  signal N ended COMMAND, or the wait\n"
    "\n"
    "Example, one run at a time on all machines, none if the last one still runs:\n"
    "  */5 * * * * dlock run -n -E 0 nightly-report -- /usr/local/bin/report.sh\n";

static bool take_option(run_options *ret, int c)
{
    switch (c) {
    case 'r':
        ret->url = optarg;
        return true;
    case 'w':
        return command_seconds("wait", optarg, &ret->wait_ms);
    case 'm':
        return command_number("wait-ms", optarg, 0, (int64_t)YEAR_S * 1000, &ret->wait_ms);
    case 'n':
        ret->wait_ms = 0;
        return true;
    case 'E':
        return command_number("conflict-exit-code", optarg, 0, 255, &ret->busy_code);
    case 'l':
        return command_number("lease-ms", optarg, LEASE_MIN_MS, LEASE_MAX_MS, &ret->lease_ms);
    case 'g':
        return command_number("grace-ms", optarg, 0, GRACE_MAX_MS, &ret->grace_ms);
    default:
        return false;
    }
}

/* NAME, and the command: behind "--", at words[dashes], or else right behind NAME. */
static bool take_words(run_options *ret, char **words, int len, int dashes)
{
    bool good = dashes < len ? dashes == 1 && len > 2 : len > 1;
    if (good) {
        ret->name = words[0];
        ret->command = words + (dashes < len ? 2 : 1);
    } else {
        command_complain("run: what is needed is NAME -- COMMAND");
    }
    return good;
}

/* Options may stand behind NAME as long as "--" tells them from the command's own. */
static bool read_words(run_options *ret, int argc, char **argv, bool *help_wanted)
{
    static const struct option options[] = {{"redis", required_argument, NULL, 'r'},
                                            {"wait", required_argument, NULL, 'w'},
                                            {"wait-ms", required_argument, NULL, 'm'},
                                            {"nonblock", no_argument, NULL, 'n'},
                                            {"conflict-exit-code", required_argument, NULL, 'E'},
                                            {"lease-ms", required_argument, NULL, 'l'},
                                            {"grace-ms", required_argument, NULL, 'g'},
                                            COMMAND_HELP,
                                            {NULL, 0, NULL, 0}};
    int dashes = 1;
    bool seen[UCHAR_MAX + 1] = {false};
    while (dashes < argc && strcmp(argv[dashes], "--") != 0)
        dashes++;
    const char *letters = dashes < argc ? "w:nE:h" : "+w:nE:h";
    for (int c; (c = command_option(dashes, argv, letters, options)) != -1;) {
        *help_wanted = c == 'h';
        if (*help_wanted || !take_option(ret, c))
            return *help_wanted;
        bool *again = &seen[c == 'm' || c == 'n' ? 'w' : c];
        if (*again) {
            command_complain(again == &seen['w'] ? "run: only one of --wait, --wait-ms and "
                                                   "--nonblock may be given, once"
                                                 : "run: an option is given twice");
            return false;
        }
        *again = true;
    }
    return take_words(ret, argv + optind, argc - optind, dashes - optind);
}

int run_options_read(run_options *ret, int argc, char **argv)
{
    bool help_wanted = false;
    *ret = (run_options){.wait_ms = DLOCK_FOREVER,
                         .lease_ms = LEASE_MS,
                         .grace_ms = -1,
                         .busy_code = EXIT_NOT_OBTAINED};
    if (!read_words(ret, argc, argv, &help_wanted))
        return command_usage("run");
    if (help_wanted) {
        fputs(help, stdout);
        return 0;
    }
    if (ret->grace_ms < 0)
        ret->grace_ms = ret->lease_ms / GRACE_PART;
    if (ret->grace_ms > ret->lease_ms / 3)
        ret->grace_ms = ret->lease_ms / 3;
    return -1;
}
