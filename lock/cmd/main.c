/* The dlock command: an overview (--help), and the choice of the subcommand. */
#include "cmd/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "dlock - distributed locks over Redis for shell scripts and cron jobs\n"
    "\n"
    "usage:\n"
    "  dlock run [options] NAME -- COMMAND [ARG...]   run a command under the lock NAME\n"
    "  dlock semaphore [options] N NAME -- COMMAND    run it with one of N permits\n"
    "  dlock elect [options] NAME -- COMMAND          run it while this process leads\n"
    "  dlock leader [options] NAME                    who leads, since when, with which fence\n"
    "  dlock status [options] NAME                    who holds it, since when, how many wait\n"
    "  dlock release --force [options] NAME           take it away from its holders\n"
    "  dlock latch set|down|left [options] [N] NAME   a latch, open once counted down N times\n"
    "  dlock wait [options] NAME                      wait until the latch NAME is open\n"
    "  dlock bench [options]                          measure the kinds of lock\n"
    "  dlock --help, --version\n"
    "\n"
    "Each subcommand has its own help: dlock run --help. The server is --redis URL, or else the\n"
    "environment's DLOCK_REDIS, or else redis://127.0.0.1:6379.\n"
    "\n"
    "Exit codes, which all share:\n"
    "  64  usage\n"
    "  69  Redis not reached\n"
    "  71  no process or memory\n"
    "\n"
    "Example, one run at a time on all machines; it waits for the last run, 5 s at most:\n"
    "  dlock run --wait 5 nightly-report -- ./report.sh\n";

static struct {
    const char *name;
    char title[20]; /* what getopt_long() puts before its complaints */
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "dlock: run", command_run},
    {"semaphore", "dlock: semaphore", command_semaphore},
    {"elect", "dlock: elect", command_elect},
    {"leader", "dlock: leader", command_leader},
    {"status", "dlock: status", command_status},
    {"release", "dlock: release", command_release},
    {"latch", "dlock: latch", command_latch},
    {"wait", "dlock: wait", command_wait},
    {"bench", "dlock: bench", command_bench},
};

static bool is(const char *word, const char *option, const char *letter)
{
    return strcmp(word, option) == 0 || strcmp(word, letter) == 0;
}

/* Where one of the first three descriptors is closed, the next file would become stdin, or be taken
 * for stderr. Where SIGCHLD is ignored, a wait for a child fails. */
static bool start_clean(void)
{
    signal(SIGCHLD, SIG_DFL);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    dlock_redis_hide_words(argc, argv);
    if (!start_clean())
        return EXIT_SYSTEM;
    if (argc < 2) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    if (is(argv[1], "--help", "-h")) {
        fputs(help, stdout);
        return 0;
    }
    if (is(argv[1], "--version", "-V")) {
        puts("dlock " FLASHSALE_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            argv[1] = commands[i].title;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    command_complain("there is no command \"%s\"", argv[1]);
    return command_usage(NULL);
}
