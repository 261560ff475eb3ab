/*
 * One worker process of the bench. Each of its threads thinks, takes the lock, reads and writes the
 * canary under it, releases it, and notes when each of this happened. Whoever is not alone under
 * it, a reader or the holder of permits, reads the canary twice, and looks for what must not be
 * beside.
 */
#include "cmd/bench/bench.h"
#include "cmd/command.h"

#include <pthread.h>
#include <stdlib.h>

#define STEP_MS        2000      /* limit of one canary step */
#define CANARY_LIFE_MS "3600000" /* should the bench be killed */
#define AFTER_ERROR_MS 10        /* pause, so that an outage does not become a busy loop */

typedef struct bench_worker {
    const bench_run *run;
    bench_shared *shared;
    int index;
    dlock_redis *redis[BENCH_SERVERS_MAX];
    dlock_client *client;
    dlock_lock *lock, *reading; /* reading: rw's other side; NULL for other kinds */
    dlock_cancel *cancel;
} bench_worker;

typedef struct bench_worker_thread {
    pthread_t id;
    bench_worker *worker;
    bench_thread *counters;
    uint64_t random;
} bench_worker_thread;

/* Never beyond the end of the measurement. */
static void pause_us(const bench_shared *shared, int64_t us)
{
    int64_t until_ns = bench_now_ns() + us * 1000;
    if (us > 0)
        bench_sleep_until_ns(until_ns < shared->stop_ns ? until_ns : shared->stop_ns);
}

/* Marsaglia's xorshift64: plenty for think times. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void think(bench_worker_thread *self)
{
    const bench_options *bench = self->worker->run->bench;
    uint64_t range_us = (uint64_t)(bench->think_max_us - bench->think_min_us) + 1;
    int64_t us = bench->think_min_us + (int64_t)(next_random(&self->random) % range_us);
    pause_us(self->worker->shared, us);
}

/* ---- the section under the lock -------------------------------------------------------------- */

static bool canary_read(bench_worker *worker, int64_t *ret)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "GET");
    dlock_args_text(&args, worker->run->canary);
    dlock_redis_outcome outcome = dlock_redis_command(worker->redis[0], worker->run->canary, &args,
                                                      dlock_in_ms(STEP_MS), &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK)
        *ret = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return outcome == DLOCK_REDIS_OK;
}

static bool canary_write(bench_worker *worker, int64_t number)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "SET");
    dlock_args_text(&args, worker->run->canary);
    dlock_args_int(&args, number);
    dlock_args_text(&args, "PX");
    dlock_args_text(&args, CANARY_LIFE_MS);
    dlock_redis_outcome outcome = dlock_redis_command(worker->redis[0], worker->run->canary, &args,
                                                      dlock_in_ms(STEP_MS), NULL);
    dlock_args_free(&args);
    return outcome == DLOCK_REDIS_OK;
}

/* The unprotected read-modify-write that only mutual exclusion makes right. */
static void work(bench_worker_thread *self)
{
    bench_worker *worker = self->worker;
    int64_t count, hold_us = worker->run->bench->hold_us;
    if (canary_read(worker, &count) && canary_write(worker, count + 1))
        self->counters->increments++;
    else
        self->counters->errors++;
    pause_us(worker->shared, hold_us);
}

/* A reader's section: what it reads must not change meanwhile. */
static void look(bench_worker_thread *self)
{
    bench_worker *worker = self->worker;
    int64_t before, after;
    bool good = canary_read(worker, &before);
    pause_us(worker->shared, worker->run->bench->hold_us);
    good = good && canary_read(worker, &after);
    self->counters->errors += !good;
    self->counters->broken += good && before != after;
}

/* A section under some of the permits: with those of all others they must not be too many. They are
 * counted in the shared memory, which no fault of Redis or the way to it can make wrong. */
static void share(bench_worker_thread *self)
{
    bench_shared *shared = self->worker->shared;
    const bench_options *bench = self->worker->run->bench;
    int64_t before = atomic_fetch_add(&shared->taken, bench->take);
    self->counters->broken += before + bench->take > bench->permits;
    look(self); /* nobody writes: two round trips, as many as the other kinds' sections have */
    atomic_fetch_sub(&shared->taken, bench->take);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Notes the gap since the last grant. Called by the holder, so nobody else writes. */
static void note_grant(bench_shared *shared, int64_t now_ns)
{
    int64_t gap_ns = now_ns - shared->granted_ns;
    shared->granted_ns = now_ns;
    if (!shared->killed_ns)
        return;
    if (!shared->takeover_ns)
        shared->takeover_ns = now_ns - shared->killed_ns;
    if (gap_ns > shared->longest_gap_ns)
        shared->longest_gap_ns = gap_ns;
    if (gap_ns > BENCH_STALL_NS)
        shared->stalled_ns += gap_ns;
}

/* Ends the hand-offs that this grant is the end of: to somebody who called acquire at `called_ns`,
 * from all releases that came later. A newcomer who snatches the lock ends none. */
static void note_handoffs(bench_worker_thread *self, int64_t called_ns, int64_t got_ns)
{
    bench_shared *shared = self->worker->shared;
    int len = shared->released_len;
    for (; len > 0 && shared->released_ns[len - 1] > called_ns; len--) {
        if (got_ns < shared->stop_ns)
            latency_record(&self->counters->handoff, got_ns - shared->released_ns[len - 1]);
    }
    shared->released_len = len;
}

static void note_release(bench_shared *shared, int64_t now_ns)
{
    enum { HALF = BENCH_RELEASES_MAX / 2 };
    int len = shared->released_len;
    if (len == BENCH_RELEASES_MAX) { /* nobody waited at the oldest ones: nobody will follow them */
        for (len = 0; len < HALF; len++)
            shared->released_ns[len] = (int64_t)shared->released_ns[len + HALF];
    }
    shared->released_ns[len] = now_ns;
    shared->released_len = len + 1;
}

/* The section of the only holder, with the notes that only one can make. */
static void work_alone(bench_worker_thread *self, int64_t called_ns, int64_t got_ns)
{
    bench_shared *shared = self->worker->shared;
    shared->holder = self->worker->index;
    note_grant(shared, got_ns);
    note_handoffs(self, called_ns, got_ns);
    work(self);
    shared->holder = -1;
    note_release(shared, bench_now_ns());
}

static void take_once(bench_worker_thread *self)
{
    bench_worker *worker = self->worker;
    const bench_run *run = worker->run;
    bench_thread *counters = self->counters;
    bool reads =
        worker->reading && (int64_t)(next_random(&self->random) / 16 % 100) < run->bench->readers;
    dlock_wait wait = {.wait_ms = DLOCK_FOREVER, .cancel = worker->cancel};
    if (run->options.kind == DLOCK_SEMAPHORE)
        wait.permits = run->bench->take;
    dlock_hold *hold;

    int64_t called_ns = bench_now_ns();
    dlock_status status = dlock_acquire(reads ? worker->reading : worker->lock, &wait, &hold);
    int64_t got_ns = bench_now_ns();
    if (status == DLOCK_CANCELLED)
        return;
    if (status != DLOCK_OK) {
        counters->errors++;
        dlock_sleep(dlock_in_ms(AFTER_ERROR_MS));
        return;
    }
    if (!bench_is_shared(run))
        work_alone(self, called_ns, got_ns);
    else if (reads)
        look(self);
    else if (worker->reading)
        work(self);
    else
        share(self);
    status = dlock_release(hold);
    counters->errors += status != DLOCK_OK;

    if (bench_now_ns() > worker->shared->stop_ns)
        return;
    counters->ops++;
    latency_record(&counters->acquire, got_ns - called_ns);
    if (worker->reading && !reads)
        latency_record(&counters->writing, got_ns - called_ns);
}

static void *run_thread(void *arg)
{
    bench_worker_thread *self = arg;
    bench_sleep_until_ns(self->worker->shared->start_ns);
    for (;;) {
        think(self);
        if (bench_now_ns() >= self->worker->shared->stop_ns)
            return NULL;
        take_once(self);
    }
}

/* Runs the threads from start to stop. False when one could not be started. */
static bool run_threads(bench_worker *worker)
{
    int64_t len = worker->run->bench->threads, started = 0;
    bench_worker_thread *threads = calloc((size_t)len, sizeof(*threads));
    for (; threads && started < len; started++) {
        bench_worker_thread *thread = &threads[started];
        int64_t number = worker->index * len + started;
        thread->worker = worker;
        thread->counters = &worker->shared->thread[number];
        thread->random = 0x9E3779B97F4A7C15u * (uint64_t)(number + 1);
        if (pthread_create(&thread->id, NULL, run_thread, thread) != 0)
            break;
    }
    bench_sleep_until_ns(worker->shared->stop_ns);
    dlock_cancel_now(worker->cancel);
    for (int64_t i = 0; i < started; i++)
        pthread_join(threads[i].id, NULL);
    free(threads);
    return started == len;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* The lock, and rw's other side. */
static dlock_status make_locks(bench_worker *worker, char *err, size_t err_len)
{
    const bench_run *run = worker->run;
    dlock_status status =
        dlock_lock_new(worker->client, run->name, &run->options, &worker->lock, err, err_len);
    if (status != DLOCK_OK || run->options.kind != DLOCK_WRITE)
        return status;
    dlock_options reads = run->options;
    reads.kind = DLOCK_READ;
    return dlock_lock_new(worker->client, run->name, &reads, &worker->reading, err, err_len);
}

static bool open_worker(bench_worker *worker)
{
    const bench_run *run = worker->run;
    char err[256] = "out of memory";
    if (!bench_open_servers(run, worker->redis))
        return false;
    dlock_client_options client = {.redis = worker->redis[0]};
    if (run->options.kind == DLOCK_QUORUM) {
        client.quorum = worker->redis;
        client.quorum_len = run->urls_len;
    }
    worker->cancel = dlock_cancel_new();
    if (worker->cancel &&
        dlock_client_new(&client, &worker->client, err, sizeof(err)) == DLOCK_OK &&
        make_locks(worker, err, sizeof(err)) == DLOCK_OK)
        return true;
    command_complain("%s", err);
    return false;
}

static void close_worker(bench_worker *worker)
{
    dlock_lock_free(worker->reading);
    dlock_lock_free(worker->lock);
    dlock_client_free(worker->client);
    dlock_cancel_free(worker->cancel);
    bench_close_servers(worker->run, worker->redis);
}

int bench_work(const bench_run *run, bench_shared *shared, int index)
{
    bench_worker worker = {.run = run, .shared = shared, .index = index};
    bool good = open_worker(&worker);
    if (good) {
        shared->ready++;
        while (!shared->go)
            dlock_sleep(dlock_in_ms(1));
        good = run_threads(&worker);
        if (!good)
            command_complain("not enough threads are available");
    }
    if (!good)
        shared->failed = true;
    close_worker(&worker);
    return good ? 0 : EXIT_SYSTEM;
}
