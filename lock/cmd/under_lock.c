/*
 * A command under a lock.
 *
 * The supervisor (supervisor.h), which will run the command and end its descendants in time, is
 * forked first. All signals of interest are blocked before the library starts its threads and read
 * from one signalfd, so the program is a sequence of three waits:
 *
 *   1. for Redis to answer at all, where nothing is held yet: a signal just ends the program;
 *   2. for the lock, where a second thread reads the signals, because dlock_acquire() blocks; a
 *      signal that would have ended the program cancels the wait;
 *   3. for the supervisor's end, where poll() watches the signals, the hold's "lost" descriptor and
 *      the hold's own deadline, so that a stalled watchdog can not hide the loss.
 *
 * In an election the second one is poll() as well. A leader has its whole lease at once, as the
 * supervisor needs it; who is handed a lock of kind FAIR by dlock_acquire() has a claim window.
 * After a loss all is done anew, with a client of its own, so that no thread runs at the next fork.
 */
#include "cmd/under_lock.h"
#include "cmd/signals.h"
#include "cmd/spacing.h"
#include "cmd/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define UNREACHED_MS 5000 /* patience with a server that never answered, where no wait is given */
#define QUESTION_MS  1000 /* what the first question may take, however short the wait is */
#define AGAIN_MS     100  /* pause before it is asked again */
#define LEAVE_MS     500  /* what a release may take after a signal */

/* For the supervisor two; the others are for one server. */
enum { DESCRIPTORS = 6, DESCRIPTORS_ELECT = 9 };

typedef struct run_job {
    run_options options;
    under_lock_prepare *prepare; /* NULL: none */
    bool unsettled;              /* it is to be asked again */
    dlock_time deadline;         /* of the wait */
    sigset_t mask; /* the signal mask that we were started with, and that the command gets */
    sigset_t caught;
    int signals; /* signalfd of `caught` */
    supervisor supervisor;
    spacing spacing;
    dlock_election *election; /* NULL: none, but the session's lock */
    bool again;               /* it has led before */
    bool lost;                /* ... and lost that before the command's end */
    bool told_to_end;         /* by a signal, which the command got as well */
} run_job;

/* ---- signals --------------------------------------------------------------------------------- */

static void pass_signals(run_job *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
        int signo = (int)info.ssi_signo;
        if (signo != SIGCHLD)
            supervisor_signal(&run->supervisor, signo, info.ssi_code == SI_KERNEL);
        run->told_to_end |= signo == SIGTERM || signo == SIGINT || signo == SIGQUIT;
    }
}

/* ---- waiting for Redis ----------------------------------------------------------------------- */

/* A try again would be answered the same. */
static bool refused_for_good(void)
{
    static const char *const words[] = {"NOAUTH", "NOPERM", "WRONGPASS"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(dlock_redis_said(), words[i]) == 0)
            return true;
    }
    return false;
}

/* Asks the server until it answers or the wait is over; but a question may always take a moment. 0,
 * or the exit code. */
static int reach(const run_job *run, const command_session *session)
{
    char err[256] = "";
    bool waits = run->options.wait_ms != DLOCK_FOREVER;
    dlock_time patience = waits ? run->deadline : dlock_in_ms(UNREACHED_MS);
    dlock_time moment = dlock_in_ms(QUESTION_MS);
    for (bool said = false;; said = true) {
        dlock_time answer_by = dlock_sooner(dlock_in_ms(HELLO_MS), patience);
        if (answer_by.us < moment.us)
            answer_by = moment;
        if (command_answers(session, answer_by, err, sizeof(err)))
            return 0;
        if (refused_for_good() || dlock_passed(patience)) {
            command_complain("Redis can not be reached: %s", err);
            return EXIT_UNREACHABLE;
        }
        if (!said)
            command_complain("Redis can not be reached, trying again for %d s: %s",
                             (dlock_left_ms(patience) + 999) / 1000, err);
        dlock_sleep(dlock_sooner(patience, dlock_in_ms(AGAIN_MS)));
    }
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
    while (!self->signo && (poll(fds, 2, -1) < 0 || !fds[1].revents))
        self->signo = signals_ending(self->signals);
    if (self->signo)
        dlock_cancel_now(self->cancel);
    return NULL;
}

/* Acquires, until a signal ends the wait. *signo is that signal, or 0. */
static dlock_status acquire(const run_job *run, dlock_lock *lock, dlock_hold **ret, int *signo)
{
    dlock_status status = DLOCK_NO_MEMORY;
    pthread_t thread;
    run_interrupt interrupt = {
        .signals = run->signals, .stop = eventfd(0, EFD_CLOEXEC), .cancel = dlock_cancel_new()};
    if (interrupt.stop >= 0 && interrupt.cancel &&
        pthread_create(&thread, NULL, cancel_on_signal, &interrupt) == 0) {
        dlock_wait wait = {
            .wait_ms = DLOCK_FOREVER, .cancel = interrupt.cancel, .permits = run->options.take};
        if (run->options.wait_ms != DLOCK_FOREVER)
            wait.wait_ms = dlock_left_ms(run->deadline);
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

/* The same of the leadership; *ret is the election's. */
static dlock_status campaign(const run_job *run, dlock_hold **ret, int *signo)
{
    dlock_election *e = run->election;
    struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                           {.fd = dlock_election_fd(e), .events = POLLIN}};
    dlock_status status = dlock_election_start(e, NULL);
    while (status == DLOCK_OK) {
        poll(fds, 2, -1);
        *signo = signals_ending(run->signals);
        if (*signo)
            return dlock_election_resign(e) == DLOCK_OK ? DLOCK_CANCELLED : DLOCK_UNKNOWN;
        status = dlock_election_status(e);
        if (status == DLOCK_OK && (*ret = dlock_election_hold(e)))
            return DLOCK_OK;
        if (status == DLOCK_PENDING)
            status = DLOCK_OK;
        else if (status == DLOCK_OK || status == DLOCK_EXPIRED || status == DLOCK_NOT_OWNER)
            status = dlock_election_start(e, NULL); /* it is over before the command began */
    }
    return status;
}

/* ---- the command's time ---------------------------------------------------------------------- */

/* Tells the supervisor of every renewal, until nobody of the command's descendants is left. The
 * exit code. A lock that is lost (taken away, or the supervisor was too slow) may be another's
 * already: no grace then. */
static int watch(run_job *run, dlock_hold *hold)
{
    supervisor *s = &run->supervisor;
    int64_t tick_ms = run->options.lease_ms / 10;
    struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                           {.fd = dlock_lost_fd(hold), .events = POLLIN}};
    int code;
    /* The signals first: that a SIGCHLD was among them shows in the end it tells of. */
    for (pass_signals(run); !supervisor_ended(s, &code); pass_signals(run)) {
        if (!dlock_held(hold)) {
            command_complain("the lock \"%s\" is lost: killing %s", run->options.name,
                             run->options.command[0]);
            supervisor_end(s);
            run->lost = true;
            return EXIT_LOST;
        }
        supervisor_extend(s, hold);
        poll(fds, 2, (int)tick_ms);
    }
    run->lost = supervisor_lost(s);
    return code;
}

static void may_stay(const run_job *run, dlock_status released)
{
    command_complain("the lock \"%s\" may stay until its lease ends: %s", run->options.name,
                     dlock_status_text(released));
}

/* Runs the command under the hold, and releases, or leaves the name taken. */
static int run_under(run_job *run, dlock_hold *hold)
{
    const char *name = run->options.name;
    int code = watch(run, hold);
    spacing_end end = spacing_finish(&run->spacing, hold, &code);
    if (end == SPACING_OPEN && run->options.at_least_ms > 0)
        _exit(code); /* a release that came through would give the name away too early */
    dlock_status released =
        run->election ? dlock_election_resign(run->election) : dlock_release(hold);
    if (released == DLOCK_OK || code == EXIT_LOST || end != SPACING_RELEASE)
        return code;
    if (released == DLOCK_EXPIRED || released == DLOCK_NOT_OWNER) {
        command_complain("the lock \"%s\" was lost before %s ended", name, run->options.command[0]);
        return EXIT_LOST;
    }
    may_stay(run, released);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* After a signal, because of which a Redis that is silent anyway gets no more than a moment. */
static void release_soon(const run_job *run, dlock_hold *hold, int code)
{
    dlock_pending *release;
    if (dlock_release_start(hold, &release) != DLOCK_OK) {
        dlock_release(hold);
        return;
    }
    struct pollfd decided = {.fd = dlock_pending_fd(release), .events = POLLIN};
    poll(&decided, 1, LEAVE_MS);
    dlock_status status = dlock_release_finish(release);
    bool pending = status == DLOCK_PENDING;
    if (pending || status == DLOCK_UNKNOWN || status == DLOCK_UNAVAILABLE)
        may_stay(run, pending ? DLOCK_UNKNOWN : status);
    if (pending)
        _exit(code); /* the end of the session would wait for it */
}

/* The lock is ours: runs the command, if it is to run. */
static int run_granted(run_job *run, const command_session *session, dlock_hold *hold)
{
    int code = run->unsettled ? run->prepare(session, &run->options) : 0;
    bool runs = code == 0 &&
                spacing_begin(&run->spacing, &run->options, session, hold, run->signals, &code);
    int signo = runs ? signals_ending(run->signals) : run->spacing.signo;
    if (runs && !signo)
        return run_under(run, hold);
    if (runs) /* a terminal's signal until here has reached no command: it would be lost */
        code = 128 + signo;
    if (signo && !run->election)
        release_soon(run, hold, code);
    else if (!run->election) /* which resigns when it is freed */
        dlock_release(hold);
    return code;
}

static int acquire_and_run(run_job *run, const command_session *session)
{
    dlock_hold *hold;
    int signo = 0;
    dlock_status status =
        run->election ? campaign(run, &hold, &signo) : acquire(run, session->lock, &hold, &signo);
    if (status == DLOCK_OK && !signo)
        return run_granted(run, session, hold);
    if (status == DLOCK_OK)
        dlock_release(hold);
    if (signo)
        return 128 + signo;
    if (status == DLOCK_BUSY && run->options.busy_code == 0)
        return 0; /* as asked for: no word either, which cron would send by mail */
    char err[256] = "";
    const char *why = dlock_status_text(status);
    bool permits = run->options.kind == DLOCK_SEMAPHORE;
    if (status != DLOCK_BUSY)
        dlock_last_error(session->client, err, sizeof(err));
    else if (permits)
        why = "not as many are free, or others wait for them";
    command_complain("the %s \"%s\" %s not obtained: %s%s%s", permits ? "permits of" : "lock",
                     run->options.name, permits ? "were" : "was", why, *err ? ": " : "", err);
    if (strstr(err, "WRONGKIND"))
        return EXIT_USAGE;
    return status == DLOCK_BUSY ? (int)run->options.busy_code : command_exit_code(status);
}

/* Until the server has answered, and is told what is to be done first. 0, or the exit code. */
static int reach_and_prepare(run_job *run, const command_session *session)
{
    signals_end_us(&run->caught, true);
    int code = reach(run, session);
    if (code == 0)
        code = command_check_server(session);
    if (code == 0 && run->prepare)
        code = run->prepare(session, &run->options);
    run->unsettled = code == UNDER_LOCK_UNSETTLED;
    signals_end_us(&run->caught, false);
    return run->unsettled ? 0 : code;
}

static int make_election(run_job *run, const command_session *session)
{
    char err[256];
    dlock_election_options options = {.lease_ms = run->options.lease_ms};
    dlock_status status = dlock_election_new(session->client, run->options.name, &options,
                                             &run->election, err, sizeof(err));
    if (status != DLOCK_OK)
        command_complain("%s", err);
    return command_exit_code(status);
}

/* Whether what is still to be opened can be: a connection that can not be opened would be tried
 * again without an end, and without one there is no renewal. */
static bool has_descriptors(const run_job *run)
{
    int fds[DESCRIPTORS_ELECT], len = 0;
    int needed = run->options.kind == DLOCK_FAIR ? DESCRIPTORS_ELECT : DESCRIPTORS;
    while (len < needed && (fds[len] = eventfd(0, EFD_CLOEXEC)) >= 0)
        len++;
    if (len < needed)
        command_complain("too few descriptors, see ulimit -n: %s", strerror(errno));
    for (int i = 0; i < len; i++)
        close(fds[i]);
    return len == needed;
}

static int run_session(run_job *run)
{
    command_session session;
    bool elects = run->options.kind == DLOCK_FAIR;
    dlock_options options = {.kind = run->options.kind,
                             .lease_ms = spacing_lease_ms(&run->options),
                             .renew_ms = run->options.lease_ms / 3,
                             .permits = run->options.permits};
    const char *slash = strrchr(run->options.command[0], '/');
    int code = command_session_make(run->options.url, slash ? slash + 1 : run->options.command[0],
                                    elects ? NULL : run->options.name, &options, &session);
    if (code)
        return code;
    if (elects)
        code = make_election(run, &session);
    if (code == 0 && !run->again)
        code = reach_and_prepare(run, &session);
    if (code == 0)
        code = acquire_and_run(run, &session);
    dlock_election_free(run->election);
    run->election = NULL;
    command_session_close(&session);
    return code;
}

/* Whether there is to be another term. */
static bool campaigns_again(run_job *run)
{
    run->again = run->options.kind == DLOCK_FAIR && run->lost && !run->told_to_end;
    if (run->again)
        command_complain("leadership of \"%s\" is lost: campaigning again", run->options.name);
    run->lost = false;
    return run->again;
}

int under_lock(const run_options *options, under_lock_prepare *prepare)
{
    struct sigaction on_sigpipe;
    run_job run = {.options = *options, .prepare = prepare, .signals = -1};
    run.deadline = dlock_in_ms(options->wait_ms);
    supervisor_job job = {.name = options->name,
                          .command = options->command,
                          .lease_ms = options->lease_ms,
                          .grace_ms = options->grace_ms,
                          .mask = &run.mask,
                          .signals = &run.caught};
    if (!signals_catch(&run.caught, &run.mask, &run.signals)) {
        command_complain("no signalfd: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    if (!has_descriptors(&run))
        return EXIT_SYSTEM;
    sigaction(SIGPIPE, NULL, &on_sigpipe);
    int code;
    do {
        sigaction(SIGPIPE, &on_sigpipe, NULL); /* a session ignores it, the command should not */
        if (!supervisor_start(&job, &run.supervisor))
            return EXIT_SYSTEM;
        code = run_session(&run);
        supervisor_close(&run.supervisor);
    } while (campaigns_again(&run));
    close(run.signals);
    return code;
}
