/*
 * The process whose waiters are measured. It takes every lock itself first, so that all of them
 * queue; counts what they cost as soon as Redis has all of them in its queues; and gives the locks
 * back, which are then handed on from one to the next.
 */
#include "cmd/bench/waiters.h"
#include "cmd/command.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define QUEUE_MS  60000  /* limit until all are in the queues */
#define GRANTS_MS 300000 /* limit until all were granted */
#define LOOK_MS   20
#define EVENTS    256

typedef struct waiters {
    const waiters_plan *plan;
    waiters_cost *cost;
    command_session session;
    dlock_lock **locks;
    dlock_hold **gates; /* of this process: nobody gets a lock before its gate is released */
    int64_t made, gated;
    _Atomic int64_t next, grants, errors; /* of the threads */
} waiters;

/* An acquisition, or the release that follows it. */
typedef struct pending_call {
    dlock_pending *pending;
    bool releases;
} pending_call;

void waiters_lock_name(const bench_run *run, int64_t index, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s:%" PRId64, run->name, index);
}

/* ---- what the process has -------------------------------------------------------------------- */

static int64_t count_entries(const char *path, const char *target)
{
    int64_t count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char link[300], text[64] = "";
        snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (target && readlink(link, text, sizeof(text) - 1) < 0)
            continue;
        count += !target || strncmp(text, target, strlen(target)) == 0;
    }
    if (dir)
        closedir(dir);
    return count;
}

static int64_t resident_bytes(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %lld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* ---- before and behind the waiters ----------------------------------------------------------- */

static bool make_locks(waiters *self)
{
    const waiters_plan *plan = self->plan;
    self->locks = calloc((size_t)plan->locks, sizeof(dlock_lock *));
    self->gates = calloc((size_t)plan->locks, sizeof(dlock_hold *));
    for (int64_t i = 0; self->locks && self->gates && i < plan->locks; i++) {
        char name[96], err[256] = "";
        waiters_lock_name(plan->run, i, name, sizeof(name));
        dlock_status status = dlock_lock_new(self->session.client, name, &plan->run->options,
                                             &self->locks[i], err, sizeof(err));
        self->made += status == DLOCK_OK;
        if (status == DLOCK_OK)
            status = dlock_acquire(self->locks[i], NULL, &self->gates[i]);
        if (status != DLOCK_OK) {
            command_complain("lock %s: %s %s", name, dlock_status_text(status), err);
            return false;
        }
        self->gated++;
    }
    if (self->gated < plan->locks)
        command_complain("out of memory");
    return self->gated == plan->locks;
}

static void open_gates(waiters *self)
{
    for (; self->gated > 0; self->gated--)
        dlock_release(self->gates[self->gated - 1]);
}

/* Whether all of them stand in the queues now. */
static bool are_queued(waiters *self, int64_t expected)
{
    int64_t found = 0;
    for (int64_t i = 0; i < self->plan->locks; i++) {
        dlock_info info;
        if (dlock_inspect(self->locks[i], &info) != DLOCK_OK)
            return false;
        found += info.waiters;
    }
    return found >= expected;
}

/* Waits until all are queued, and notes what that costs. */
static bool note_cost(waiters *self, int64_t resident_before)
{
    const waiters_plan *plan = self->plan;
    waiters_cost *cost = self->cost;
    dlock_time limit = dlock_in_ms(QUEUE_MS);
    cost->waiting = plan->threads && plan->threads < plan->total ? plan->threads : plan->total;
    while (!are_queued(self, cost->waiting)) {
        if (dlock_passed(limit)) {
            command_complain("not all of %" PRId64 " were queued after %d s", cost->waiting,
                             QUEUE_MS / 1000);
            return false;
        }
        dlock_sleep(dlock_in_ms(LOOK_MS));
    }
    cost->threads = count_entries("/proc/self/task", NULL);
    cost->connections = count_entries("/proc/self/fd", "socket:");
    cost->resident = resident_bytes();
    cost->added = cost->resident - resident_before;
    return true;
}

/* ---- pending calls --------------------------------------------------------------------------- */

static bool listen_to(int loop, pending_call *call)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = call};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, dlock_pending_fd(call->pending), &event) == 0)
        return true;
    command_complain("epoll: %s", strerror(errno));
    return false;
}

static bool start_all(waiters *self, int loop, pending_call *calls)
{
    const waiters_plan *plan = self->plan;
    dlock_wait wait = {.wait_ms = DLOCK_FOREVER};
    for (int64_t i = 0; i < plan->total; i++) {
        dlock_status status =
            dlock_acquire_start(self->locks[i % plan->locks], &wait, &calls[i].pending);
        if (status != DLOCK_OK) {
            command_complain("start %" PRId64 ": %s", i, dlock_status_text(status));
            return false;
        }
        if (!listen_to(loop, &calls[i]))
            return false;
    }
    return true;
}

/* Goes on with a call that is decided. True once it has come to its end, one way or the other. */
static bool go_on(waiters *self, int loop, pending_call *call)
{
    dlock_hold *hold;
    dlock_status status = call->releases ? dlock_release_finish(call->pending)
                                         : dlock_acquire_finish(call->pending, &hold);
    if (status == DLOCK_PENDING)
        return false;
    call->pending = NULL;
    if (status == DLOCK_OK && !call->releases) {
        self->cost->grants++;
        call->releases = true;
        status = dlock_release_start(hold, &call->pending);
        if (status == DLOCK_OK) {
            if (listen_to(loop, call))
                return false;
            self->cost->errors++;
        }
    }
    self->cost->errors += status != DLOCK_OK;
    return true;
}

static void run_loop(waiters *self, int loop)
{
    struct epoll_event events[EVENTS];
    dlock_time limit = dlock_in_ms(GRANTS_MS);
    int64_t left = self->plan->total;
    while (left > 0 && !dlock_passed(limit)) {
        int len = epoll_wait(loop, events, EVENTS, LOOK_MS);
        for (int i = 0; i < len; i++)
            left -= go_on(self, loop, events[i].data.ptr);
    }
    self->cost->errors += left;
}

/* What is left of a measurement that failed. */
static void cancel_all(waiters *self, pending_call *calls)
{
    dlock_hold *hold;
    for (int64_t i = 0; i < self->plan->total; i++) {
        pending_call *call = &calls[i];
        dlock_time limit = dlock_in_ms(QUEUE_MS);
        dlock_status status = DLOCK_PENDING;
        if (call->pending)
            dlock_pending_cancel(call->pending);
        while (call->pending && status == DLOCK_PENDING && !dlock_passed(limit)) {
            status = call->releases ? dlock_release_finish(call->pending)
                                    : dlock_acquire_finish(call->pending, &hold);
            if (status == DLOCK_PENDING)
                dlock_sleep(dlock_in_ms(1));
            else if (status == DLOCK_OK && !call->releases)
                dlock_release(hold);
        }
    }
}

static int run_pending(waiters *self)
{
    pending_call *calls = calloc((size_t)self->plan->total, sizeof(*calls));
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int64_t resident_before = resident_bytes();
    bool good = calls && loop >= 0 && start_all(self, loop, calls);
    if (good && note_cost(self, resident_before)) {
        double cpu_us = bench_cpu_us(RUSAGE_SELF);
        int64_t since_ns = bench_now_ns();
        open_gates(self);
        run_loop(self, loop);
        self->cost->seconds = (double)(bench_now_ns() - since_ns) / 1e9;
        self->cost->cpu_us = bench_cpu_us(RUSAGE_SELF) - cpu_us;
    } else {
        good = false;
    }
    if (calls)
        cancel_all(self, calls);
    if (loop >= 0)
        close(loop);
    free(calls);
    return good ? 0 : EXIT_SYSTEM;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *wait_in_turn(void *arg)
{
    waiters *self = arg;
    const waiters_plan *plan = self->plan;
    dlock_wait wait = {.wait_ms = GRANTS_MS};
    for (int64_t i; (i = atomic_fetch_add(&self->next, 1)) < plan->total;) {
        dlock_hold *hold;
        dlock_status status = dlock_acquire(self->locks[i % plan->locks], &wait, &hold);
        if (status == DLOCK_OK) {
            self->grants++;
            status = dlock_release(hold);
        }
        self->errors += status != DLOCK_OK;
    }
    return NULL;
}

static int run_threads(waiters *self)
{
    const waiters_plan *plan = self->plan;
    pthread_t *threads = calloc((size_t)plan->threads, sizeof(*threads));
    int64_t resident_before = resident_bytes(), started = 0;
    while (threads && started < plan->threads &&
           pthread_create(&threads[started], NULL, wait_in_turn, self) == 0)
        started++;
    bool good = started == plan->threads;
    if (!good)
        command_complain("not enough threads are available");
    good = good && note_cost(self, resident_before);
    if (!good)
        self->next = plan->total;
    double cpu_us = bench_cpu_us(RUSAGE_SELF);
    int64_t since_ns = bench_now_ns();
    open_gates(self);
    for (int64_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    self->cost->seconds = (double)(bench_now_ns() - since_ns) / 1e9;
    self->cost->cpu_us = bench_cpu_us(RUSAGE_SELF) - cpu_us;
    self->cost->grants = self->grants;
    self->cost->errors = self->errors;
    free(threads);
    return good ? 0 : EXIT_SYSTEM;
}

int waiters_run(const waiters_plan *plan, waiters_cost *ret)
{
    waiters self = {.plan = plan, .cost = ret};
    int code = command_session_open(plan->run->urls[0], NULL, NULL, &self.session);
    if (code)
        return code;
    code = !make_locks(&self) ? EXIT_SYSTEM
           : plan->threads    ? run_threads(&self)
                              : run_pending(&self);
    open_gates(&self);
    for (int64_t i = 0; i < self.made; i++)
        dlock_lock_free(self.locks[i]);
    free(self.locks);
    free(self.gates);
    command_session_close(&self.session);
    return code;
}
