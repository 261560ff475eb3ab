/*
 * Many acquisitions at once on one thread: each is a descriptor in an epoll loop, and costs no
 * thread of its own. Whoever gets the lock of its item works on it, and
 * gives it back, without waiting for Redis either. Ctrl-C cancels what still waits. There may be as
 * many as ulimit -n allows descriptors.
 *
 *     epoll [ACQUISITIONS [redis://127.0.0.1:6379]]
 */
#include <dlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ITEMS  4
#define MANY   100000
#define EVENTS 64

/* One piece of work: waits for its lock, then for its release. */
typedef struct job {
    dlock_pending *pending; /* NULL: it has ended */
    bool releases;
} job;

typedef struct program {
    int loop;
    job *jobs;
    long started, ended, worked;
} program;

static void listen_to(const program *self, int fd, job *one)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    if (epoll_ctl(self->loop, EPOLL_CTL_ADD, fd, &event) != 0) {
        perror("epoll");
        exit(1); /* the leases end by themselves */
    }
}

/* A job's descriptor is readable. Each call closes its own, so the loop forgets it by itself. */
static void go_on(program *self, job *one)
{
    dlock_hold *hold;
    dlock_status status = one->releases ? dlock_release_finish(one->pending)
                                        : dlock_acquire_finish(one->pending, &hold);
    if (status == DLOCK_PENDING)
        return;
    one->pending = NULL;
    if (status == DLOCK_OK && !one->releases) {
        self->worked++; /* the work under the lock would be here */
        one->releases = true;
        status = dlock_release_start(hold, &one->pending);
        if (status == DLOCK_OK) {
            listen_to(self, dlock_pending_fd(one->pending), one);
            return;
        }
    }
    if (status != DLOCK_OK && status != DLOCK_CANCELLED)
        fprintf(stderr, "%s: %s\n", one->releases ? "release" : "acquire",
                dlock_status_text(status));
    self->ended++;
}

static void run(program *self, int interrupts)
{
    struct epoll_event events[EVENTS];
    while (self->ended < self->started) {
        int len = epoll_wait(self->loop, events, EVENTS, -1);
        for (int i = 0; i < len; i++) {
            struct signalfd_siginfo info;
            if (events[i].data.ptr) {
                go_on(self, events[i].data.ptr);
            } else if (read(interrupts, &info, sizeof(info)) > 0) {
                for (long j = 0; j < self->started; j++)
                    if (self->jobs[j].pending)
                        dlock_pending_cancel(self->jobs[j].pending); /* still to be finished */
            }
        }
    }
}

static bool start(program *self, dlock_lock *const *locks, long many)
{
    dlock_wait wait = {.wait_ms = 60000};
    for (; self->started < many; self->started++) {
        job *one = &self->jobs[self->started];
        dlock_status status =
            dlock_acquire_start(locks[self->started % ITEMS], &wait, &one->pending);
        if (status != DLOCK_OK) {
            fprintf(stderr, "start: %s\n", dlock_status_text(status));
            return false;
        }
        listen_to(self, dlock_pending_fd(one->pending), one);
    }
    return true;
}

/* Ctrl-C as a descriptor. Before threads are started, which inherit that it is blocked. */
static int watch_interrupts(const program *self)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int fd = signalfd(-1, &signals, SFD_NONBLOCK);
    listen_to(self, fd, NULL);
    return fd;
}

static bool open_locks(dlock_client *client, dlock_lock **locks, char *err, size_t err_len)
{
    dlock_options how = {.kind = DLOCK_FAIR};
    for (int i = 0; i < ITEMS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "stock:%d", i);
        if (dlock_lock_new(client, name, &how, &locks[i], err, err_len) != DLOCK_OK)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char err[256] = "out of memory";
    dlock_client *client = NULL;
    dlock_lock *locks[ITEMS] = {NULL};
    long many = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    if (many < 1 || many > MANY)
        return fprintf(stderr, "usage: epoll [1..%d [URL]]\n", MANY), 64;

    signal(SIGPIPE, SIG_IGN);
    const char *url = argc > 2 ? argv[2] : "redis://127.0.0.1:6379";
    program self = {.loop = epoll_create1(0), .jobs = calloc((size_t)many, sizeof(job))};
    int interrupts = watch_interrupts(&self);
    bool good = self.jobs && dlock_client_open(url, NULL, &client, err, sizeof(err)) == DLOCK_OK &&
                open_locks(client, locks, err, sizeof(err));
    if (!good) {
        fprintf(stderr, "%s\n", err);
    } else {
        good = start(&self, locks, many);
        if (!good)
            raise(SIGINT); /* what was started must be finished: cancel it */
        run(&self, interrupts);
        printf("%ld of %ld worked under their lock\n", self.worked, many);
    }

    for (int i = 0; i < ITEMS; i++)
        dlock_lock_free(locks[i]);
    dlock_client_free(client);
    close(interrupts);
    close(self.loop);
    free(self.jobs);
    return good ? 0 : 1;
}
