/*
 * dlock run: a command under a lock.
 *
 * All signals of interest are blocked before the library starts its threads and read from one
 * signalfd, so the program is a sequence of two waits:
 *
 *   1. for the lock, where a second thread reads the signals, because dlock_acquire() blocks; a
 *      signal that would have ended the program cancels the wait;
 *   2. for the command, where poll() watches the signals, the hold's "lost" descriptor and the
 *      hold's own deadline, so that a stalled watchdog can not hide the loss.
 */
#include "cmd/child.h"
#include "cmd/command.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_GRACE_MS 2000

typedef struct run_job {
    const char *url, *name;
    char **command;
    int64_t wait_ms, lease_ms, grace_ms;
    sigset_t mask; /* the signal mask that we were started with, and that the command gets */
    int signals;   /* signalfd */
} run_job;

static bool read_options(run_job *run, int argc, char **argv)
{
    static const struct option options[] = {{"redis", required_argument, NULL, 'r'},
                                            {"wait-ms", required_argument, NULL, 'w'},
                                            {"lease-ms", required_argument, NULL, 'l'},
                                            {"grace-ms", required_argument, NULL, 'g'},
                                            {NULL, 0, NULL, 0}};
    const int64_t day_ms = 86400000;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        bool good = c != '?';
        if (c == 'r')
            run->url = optarg;
        else if (c == 'w')
            good = command_number("wait-ms", optarg, 0, INT32_MAX, &run->wait_ms);
        else if (c == 'l')
            good = command_number("lease-ms", optarg, 10, day_ms, &run->lease_ms);
        else if (c == 'g')
            good = command_number("grace-ms", optarg, 0, day_ms, &run->grace_ms);
        if (!good)
            return false;
    }
    if (argc - optind < 2) {
        command_complain("run needs NAME -- COMMAND");
        return false;
    }
    run->name = argv[optind];
    run->command = argv + optind + 1;
    return true;
}

static bool catch_signals(run_job *run)
{
    static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &run->mask);
    run->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signals >= 0;
}

/* ---- waiting for the lock -------------------------------------------------------------------- */

typedef struct run_interrupt {
    int signals, stop; /* (borrowed) signalfd; eventfd */
    dlock_cancel *cancel;
    int signo; /* the signal that ended the wait; 0 = none */
} run_interrupt;

static void *cancel_on_signal(void *arg)
{
    run_interrupt *self = arg;
    struct pollfd fds[] = {{.fd = self->signals, .events = POLLIN},
                           {.fd = self->stop, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 || !fds[1].revents) {
        struct signalfd_siginfo info;
        if (read(self->signals, &info, sizeof(info)) != sizeof(info))
            continue;
        if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2 || info.ssi_signo == SIGCHLD)
            continue; /* meant for a command that does not run yet */
        self->signo = (int)info.ssi_signo;
        dlock_cancel_now(self->cancel);
        break;
    }
    return NULL;
}

/* Acquires, until a signal ends the wait. *signo is that signal, or 0. */
static dlock_status acquire(run_job *run, dlock_lock *lock, dlock_hold **ret, int *signo)
{
    dlock_status status = DLOCK_NO_MEMORY;
    pthread_t thread;
    run_interrupt interrupt = {
        .signals = run->signals, .stop = eventfd(0, EFD_CLOEXEC), .cancel = dlock_cancel_new()};
    if (interrupt.stop >= 0 && interrupt.cancel &&
        pthread_create(&thread, NULL, cancel_on_signal, &interrupt) == 0) {
        dlock_wait wait = {.wait_ms = run->wait_ms, .cancel = interrupt.cancel};
        status = dlock_acquire(lock, &wait, ret);
        eventfd_write(interrupt.stop, 1);
        pthread_join(thread, NULL);
    }
    if (interrupt.stop >= 0)
        close(interrupt.stop);
    dlock_cancel_free(interrupt.cancel);
    *signo = interrupt.signo;
    return status;
}

/* ---- watching the command -------------------------------------------------------------------- */

/* Reads what signals came, passes them on. True when the command has ended, with its code. */
static bool heed_signals(run_job *run, const child_process *child, int *code)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGCHLD)
            child_forward(child, &info);
    }
    return child_ended(child, code);
}

/* Watches the command to its end. Returns its exit code, or EXIT_LOST. */
static int watch(run_job *run, const child_process *child, dlock_hold *hold)
{
    struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                           {.fd = dlock_lost_fd(hold), .events = POLLIN}};
    bool lost = false;
    dlock_time kill_at = {0};
    int code;
    while (!heed_signals(run, child, &code)) {
        if (!lost && !dlock_held(hold)) {
            command_complain("the lock \"%s\" is lost: ending %s", run->name, run->command[0]);
            lost = true;
            fds[1].fd = -1;
            kill_at = dlock_in_ms(run->grace_ms);
            child_signal(child, SIGTERM);
        } else if (lost && dlock_passed(kill_at)) {
            child_signal(child, SIGKILL);
            kill_at = dlock_in_ms(run->grace_ms + 100);
        }
        int64_t left_ms = lost ? dlock_left_ms(kill_at) : dlock_validity_ms(hold) + 1;
        poll(fds, 2, (int)(left_ms < INT32_MAX ? left_ms : INT32_MAX));
    }
    if (lost && child->own_group)
        child_signal(child, SIGKILL); /* what the command left behind has no lock any more */
    return lost ? EXIT_LOST : code;
}

static void tell_command(dlock_hold *hold)
{
    char fence[24];
    snprintf(fence, sizeof(fence), "%llu", (unsigned long long)dlock_fence(hold));
    setenv("DLOCK_FENCE", fence, 1);
    setenv("DLOCK_OWNER", dlock_owner(hold), 1);
}

/* Runs the command under the hold, and releases. */
static int run_under(run_job *run, dlock_hold *hold)
{
    child_process child;
    int code = EXIT_SYSTEM;
    tell_command(hold);
    if (child_start(&child, run->command, &run->mask))
        code = watch(run, &child, hold);
    else
        command_complain("no process: %s", strerror(errno));

    dlock_status released = dlock_release(hold);
    if (released == DLOCK_OK || code == EXIT_LOST)
        return code;
    if (released == DLOCK_EXPIRED || released == DLOCK_NOT_OWNER) {
        command_complain("the lock \"%s\" was lost before %s ended", run->name, run->command[0]);
        return EXIT_LOST;
    }
    command_complain("the lock \"%s\" may stay until its lease ends: %s", run->name,
                     dlock_status_text(released));
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int acquire_and_run(run_job *run, command_session *session)
{
    dlock_hold *hold;
    int signo;
    dlock_status status = acquire(run, session->lock, &hold, &signo);
    if (status == DLOCK_OK && !signo)
        return run_under(run, hold);
    if (status == DLOCK_OK)
        dlock_release(hold);
    if (signo)
        return 128 + signo;
    char err[256] = "";
    if (status != DLOCK_BUSY)
        dlock_last_error(session->client, err, sizeof(err));
    command_complain("the lock \"%s\" was not obtained: %s%s%s", run->name,
                     dlock_status_text(status), *err ? ": " : "", err);
    return command_exit_code(status);
}

int command_run(int argc, char **argv)
{
    run_job run = {.wait_ms = DLOCK_FOREVER, .grace_ms = DEFAULT_GRACE_MS};
    if (!read_options(&run, argc, argv))
        return command_usage();
    if (!catch_signals(&run)) {
        command_complain("no signalfd: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    command_session session;
    dlock_options options = {.kind = DLOCK_STRING, .lease_ms = run.lease_ms};
    int code = command_session_open(run.url, run.name, &options, &session);
    if (code)
        return code;
    code = acquire_and_run(&run, &session);
    command_session_close(&session);
    close(run.signals);
    return code;
}
