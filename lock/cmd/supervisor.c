/* The supervisor: forked, it keeps the time of the descendants; the handle is what dlock sees of
 * it. */
#include "cmd/supervisor.h"
#include "cmd/command.h"
#include "cmd/title.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

/* What the pipe carries; written and read whole, being shorter than PIPE_BUF. */
typedef struct order {
    dlock_time until;
    uint64_t fence;
    char owner[160];
} order;

typedef struct supervision {
    supervisor_job job;
    int orders, signals, lost_fd;
    bool own_group;
    pid_t holder, holders_group;
    descendants descendants; /* of this process */
    void (*on_sigpipe)(int); /* the disposition that we were started with */
    pid_t command;           /* 0: has ended, with `code` */
    int code;
    dlock_time until;      /* the lock is sure until then */
    dlock_time left_alone; /* the command has ended: what it left may run so long */
    dlock_time kill_at;
    bool holder_gone, ending, lost;
} supervision;

static int exit_code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void become_command(const supervision *w)
{
    char **argv = w->job.command;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != w->descendants.root) /* it died before the line above */
        _exit(EXIT_NOT_EXECUTABLE);
    setpgid(0, w->own_group ? 0 : w->holders_group);
    signal(SIGPIPE, w->on_sigpipe);
    sigprocmask(SIG_SETMASK, w->job.mask, NULL);
    execvp(argv[0], argv);
    int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    command_complain("%s: %s", argv[0], strerror(errno));
    _exit(code);
}

static bool start_command(supervision *w, const order *first)
{
    char fence[24];
    snprintf(fence, sizeof(fence), "%llu", (unsigned long long)first->fence);
    if (first->fence)
        setenv("DLOCK_FENCE", fence, 1);
    else
        unsetenv("DLOCK_FENCE"); /* a reader before the first writer; not that of a dlock around */
    setenv("DLOCK_OWNER", first->owner, 1);
    w->until = first->until;
    w->command = fork();
    if (w->command == 0)
        become_command(w);
    if (w->command > 0 && w->own_group)
        setpgid(w->command, w->command); /* both do it: whoever is first, it is done */
    return w->command > 0;
}

/* ---- keeping time ---------------------------------------------------------------------------- */

/* Between SIGKILL and the end of what is sure: on a busy machine it takes this process a while to
 * run, and the others to end. */
static int64_t margin_ms(const supervisor_job *job)
{
    int64_t ms = job->lease_ms / 10;
    return ms > 2000 ? 2000 : ms;
}

static dlock_time last_moment(const supervision *w)
{
    return (dlock_time){w->until.us - margin_ms(&w->job) * 1000};
}

static dlock_time last_warning(const supervision *w)
{
    return (dlock_time){last_moment(w).us - w->job.grace_ms * 1000};
}

static void read_orders(supervision *w)
{
    order o;
    ssize_t len;
    while ((len = read(w->orders, &o, sizeof(o))) == sizeof(o))
        w->until = o.until;
    w->holder_gone = w->holder_gone || len == 0;
}

/* The command, with its group if that is its own. */
static void signal_group(const supervision *w, int signo)
{
    if (w->command)
        kill(w->own_group ? -w->command : w->command, signo);
}

/* Those that dlock passed on, and no other: the whole group of processes may have got them. When
 * the command has ended they hurry what it left. True: somebody is to be reaped. */
static bool pass_signals(supervision *w)
{
    struct signalfd_siginfo info;
    bool ended = false;
    while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
        int signo = (int)info.ssi_signo;
        bool from_terminal = info.ssi_int != 0;
        ended = ended || signo == SIGCHLD;
        if (signo == SIGCHLD || (pid_t)info.ssi_pid != w->holder)
            continue;
        if (w->command && (w->own_group || !from_terminal))
            signal_group(w, signo);
        else if (!w->command && signo != SIGUSR1 && signo != SIGUSR2)
            w->left_alone = dlock_now();
    }
    return ended;
}

/* False when nobody of the descendants is left. */
static bool reap(supervision *w)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != w->command)
            continue;
        w->code = exit_code_of(status);
        w->command = 0;
        w->left_alone = dlock_in_ms(w->job.grace_ms);
    }
    return pid == 0;
}

static void begin_to_end(supervision *w)
{
    static const int polite[] = {SIGTERM, SIGCONT}; /* who is stopped does not hear SIGTERM */
    pid_t one;
    w->ending = true;
    w->kill_at = dlock_in_ms(w->job.grace_ms);
    for (size_t i = 0; i < sizeof(polite) / sizeof(polite[0]); i++) {
        if (descendants_signal(&w->descendants, polite[i], &one) < 0)
            signal_group(w, polite[i]); /* without /proc nobody else is found */
    }
}

/* Why the descendants must end now, or that it need not yet. */
static void end_in_time(supervision *w)
{
    const char *command = w->job.command[0];
    if (w->holder_gone && !w->ending) {
        command_complain("dlock was killed: ending %s", command);
    } else if (!w->holder_gone && !w->lost && dlock_passed(last_warning(w))) {
        command_complain("the lock \"%s\" is not renewed and about to be lost: ending %s",
                         w->job.name, command);
        w->lost = true;
        eventfd_write(w->lost_fd, 1);
    } else if (!w->ending && !w->command && dlock_passed(w->left_alone)) {
        pid_t one = 0;
        int found = descendants_signal(&w->descendants, 0, &one);
        if (found > 0)
            command_complain("%s has ended: ending what it left behind, %d processes, one is %d",
                             command, found, (int)one);
    } else {
        return;
    }
    if (!w->ending)
        begin_to_end(w);
}

static int keep_time(supervision *w)
{
    while (reap(w)) {
        read_orders(w);
        bool ended = pass_signals(w);
        end_in_time(w);
        dlock_time next = last_warning(w);
        if (w->ending)
            next = dlock_sooner(w->kill_at, last_moment(w));
        else if (!w->command)
            next = dlock_sooner(next, w->left_alone);
        /* poll() does not count while the machine sleeps, the lease does: look now and then. */
        int64_t left_ms = dlock_left_ms(next), tick_ms = w->job.lease_ms / 10;
        if (w->ending && left_ms == 0) {
            int pause_ms;
            if (descendants_kill(&w->descendants, &pause_ms) < 0)
                signal_group(w, SIGKILL);
            left_ms = pause_ms;
        }
        struct pollfd fds[] = {{.fd = w->signals, .events = POLLIN},
                               {.fd = w->holder_gone ? -1 : w->orders, .events = POLLIN}};
        poll(fds, 2, ended ? 0 : (int)(left_ms < tick_ms ? left_ms : tick_ms));
    }
    return w->lost ? EXIT_LOST : w->code;
}

/* Copies what is in the memory of main()'s words, which get a title. */
static bool own_words(supervisor_job *job)
{
    size_t len = 0;
    while (job->command[len])
        len++;
    char **command = calloc(len + 1, sizeof(*command));
    bool good = command && (job->name = strdup(job->name));
    for (size_t i = 0; good && i < len; i++)
        good = (command[i] = strdup(job->command[i]));
    job->command = command;
    return good;
}

/* What kills dlock, by its name or its process group, or the command's group, does not kill this.
 * Out of the terminal's foreground it still may complain. */
static bool stand_apart(supervision *w)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, NULL);
    w->on_sigpipe = signal(SIGPIPE, SIG_IGN);
    setpgid(0, 0);
    return own_words(&w->job) && title_set("lock-supervisor") && descendants_begin(&w->descendants);
}

/* Waits for the first order and does it. Returns the exit code. */
static int supervise(supervision *w)
{
    order first;
    if (!stand_apart(w) || read(w->orders, &first, sizeof(first)) != sizeof(first))
        return EXIT_SYSTEM; /* no lock, no command */
    if (dlock_passed(first.until)) {
        eventfd_write(w->lost_fd, 1);
        return EXIT_LOST;
    }
    fcntl(w->orders, F_SETFL, O_NONBLOCK);
    w->signals = signalfd(-1, w->job.signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->signals < 0 || !start_command(w, &first)) {
        command_complain("no process: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    return keep_time(w);
}

/* ---- dlock's side ---------------------------------------------------------------------------- */

/* With a terminal the command stays in dlock's process group, so that Ctrl-C, Ctrl-Z and reading
 * from the terminal work as without dlock. */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

bool supervisor_start(const supervisor_job *job, supervisor *ret)
{
    int ends[2];
    supervisor s;
    supervision watch = {.job = *job,
                         .own_group = !has_terminal(),
                         .holder = getpid(),
                         .holders_group = getpgrp(),
                         .code = EXIT_SYSTEM};
    if (!descendants_begin(&s.descendants))
        return false;
    watch.lost_fd = s.lost = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s.lost < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        command_complain("no process: %s", strerror(errno));
        return false;
    }
    s.pid = fork();
    if (s.pid == 0) {
        close(ends[1]);
        watch.orders = ends[0];
        _exit(supervise(&watch));
    }
    close(ends[0]);
    s.orders = ends[1];
    fcntl(s.orders, F_SETFL, O_NONBLOCK); /* a stopped supervisor must not stop dlock */
    *ret = s;
    if (s.pid < 0)
        command_complain("no process: %s", strerror(errno));
    return s.pid > 0;
}

void supervisor_extend(const supervisor *self, dlock_hold *hold)
{
    order o = {.until = dlock_in_ms(dlock_validity_ms(hold)), .fence = dlock_fence(hold)};
    snprintf(o.owner, sizeof(o.owner), "%s", dlock_owner(hold));
    if (write(self->orders, &o, sizeof(o)) < 0)
        return; /* it has ended, or is stopped: either is seen elsewhere */
}

void supervisor_signal(const supervisor *self, int signo, bool from_terminal)
{
    sigqueue(self->pid, signo, (union sigval){.sival_int = from_terminal});
}

void supervisor_end(supervisor *self)
{
    descendants_end(&self->descendants);
}

bool supervisor_ended(supervisor *self, int *ret)
{
    int status = 0;
    pid_t pid = waitpid(self->pid, &status, WNOHANG);
    if (pid == 0)
        return false;
    *ret = exit_code_of(status);
    if (pid < 0 || WIFSIGNALED(status)) {
        *ret = EXIT_SYSTEM;
        command_complain("the command's supervisor was killed: ending the command");
        descendants_end(&self->descendants); /* what it left is ours */
    }
    return true;
}

bool supervisor_lost(const supervisor *self)
{
    eventfd_t count;
    return eventfd_read(self->lost, &count) == 0;
}

void supervisor_close(supervisor *self)
{
    close(self->orders);
    close(self->lost);
    descendants_free(&self->descendants);
}
