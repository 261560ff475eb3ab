/*
 * One process: threads that think, acquire, hold and release, and write all of it down.
 *
 * A holder asks its hold every millisecond whether it is still held, and notes the last yes and the
 * first no. It never gives up a hold early because it was lost: a program that does not look is
 * what a lock has to be safe against.
 */
#include "tests/tools/lockload/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/history.h"

#define LOOK_NS 1000000

typedef struct load {
    const load_options *options;
    dlock_redis *redis[LOAD_SERVERS_MAX];
    dlock_client *client;
    dlock_lock *locks[LOAD_LOCKS_MAX];
    dlock_lock *reads[LOAD_LOCKS_MAX]; /* of a read/write lock: its other side */
    dlock_guard *guard;
    int64_t end_ns;
    int process;
} load;

typedef struct worker {
    load *load;
    pthread_t thread;
    uint64_t random;
    int number;
} worker;

/* One hold under way. */
typedef struct turn {
    worker *worker;
    int which; /* of the locks */
    dlock_hold *hold;
    hist_event event; /* op, hold, lock, share and fence filled in */
    bool lost;
} turn;

/* ---- chance and time ------------------------------------------------------------------------- */

/* xorshift64: a number from 0 to limit - 1. */
static int64_t below(worker *w, int64_t limit)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return limit > 0 ? (int64_t)(w->random % (uint64_t)limit) : 0;
}

static bool chance(worker *w, int64_t percent)
{
    return below(w, 100) < percent;
}

static int64_t some_ns(worker *w, int64_t limit_ms)
{
    return w->load->options->fixed ? limit_ms * 1000000 : below(w, limit_ms * 1000000 + 1);
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    if (ns > 0)
        nanosleep(&t, NULL);
}

/* ---- one turn -------------------------------------------------------------------------------- */

static void note(turn *t, event_kind kind, int64_t ns, int depth)
{
    hist_event event = t->event;
    event.kind = kind;
    event.ns = ns;
    event.depth = depth;
    hist_write(&event);
}

/* The time is taken before the question: see held in event.h. */
static void look(turn *t)
{
    int64_t ns = hist_now_ns();
    if (dlock_held(t->hold)) {
        note(t, EVENT_HELD, ns, 0);
    } else if (!t->lost) {
        note(t, EVENT_LOST, 0, 0);
        t->lost = true;
    }
}

static void hold_for(turn *t, int64_t ns)
{
    int64_t end = hist_now_ns() + ns;
    for (int64_t left; (left = end - hist_now_ns()) > 0;) {
        look(t);
        sleep_ns(left < LOOK_NS ? left : LOOK_NS);
    }
    look(t);
}

/* A write of the kind that fences protect. FAILED may have written, so it counts as unknown. */
static void write_guarded(turn *t)
{
    load *l = t->worker->load;
    dlock_args args;
    char key[512];
    snprintf(key, sizeof(key), "{%s}:canary", t->event.lock);
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    note(t, EVENT_GUARD_INVOKE, 0, 0);
    int64_t io_ms = l->options->io_ms ? l->options->io_ms : 1000;
    dlock_status status =
        dlock_guard_call(t->hold, l->guard, 1, &args, false, dlock_in_ms(io_ms), NULL);
    note(t,
         status == DLOCK_OK            ? EVENT_GUARD_OK
         : status == DLOCK_STALE       ? EVENT_GUARD_STALE
         : status == DLOCK_UNAVAILABLE ? EVENT_GUARD_FAIL
                                       : EVENT_GUARD_UNKNOWN,
         0, 0);
    dlock_args_free(&args);
}

static void release(turn *t, int depth_left)
{
    note(t, EVENT_RELEASE_INVOKE, 0, depth_left);
    dlock_status status = dlock_release(t->hold);
    note(t,
         status == DLOCK_OK                                     ? EVENT_RELEASE_OK
         : status == DLOCK_EXPIRED || status == DLOCK_NOT_OWNER ? EVENT_RELEASE_FAIL
                                                                : EVENT_RELEASE_UNKNOWN,
         0, depth_left);
}

static event_kind outcome_of(dlock_status status)
{
    switch (status) {
    case DLOCK_BUSY:
    case DLOCK_CANCELLED:
    case DLOCK_UNAVAILABLE:
        return EVENT_FAIL;
    default:
        return EVENT_UNKNOWN;
    }
}

static void set_share(turn *t, bool reads)
{
    const load_options *o = t->worker->load->options;
    t->event.takes = t->event.of = 0;
    if (reads) {
        t->event.takes = 1;
    } else if (o->lock.kind == DLOCK_SEMAPHORE) {
        t->event.of = (int)o->lock.permits;
        t->event.takes = 1 + (int)below(t->worker, o->take);
    }
}

static bool takes_all(const turn *t)
{
    return t->event.takes == 0;
}

/* Acquires for `t`; the events of a re-entry carry an operation of their own. */
static bool acquire(turn *t, dlock_hold **ret)
{
    load *l = t->worker->load;
    bool permits = t->event.of > 0;
    dlock_wait wait = {.wait_ms = l->options->wait_ms, .permits = permits ? t->event.takes : 0};
    dlock_lock *lock = permits || takes_all(t) ? l->locks[t->which] : l->reads[t->which];
    t->event.op = hist_op();
    t->event.hold = 0;
    note(t, EVENT_INVOKE, 0, 0);
    dlock_status status = dlock_acquire(lock, &wait, ret);
    if (status != DLOCK_OK)
        note(t, outcome_of(status), 0, 0);
    else
        t->event.fence = dlock_fence(*ret);
    return status == DLOCK_OK;
}

static void use(turn *t);

/* The same lock again, inside. When the hold was lost meanwhile, it is a new one beside it. */
static void reenter(turn *t)
{
    turn inner = *t;
    dlock_hold *hold;
    inner.event.fence = 0;
    if (t->worker->load->reads[t->which] && chance(t->worker, 50))
        set_share(&inner, true); /* who writes may read as well */
    if (!acquire(&inner, &hold))
        return;
    if (hold != t->hold) {
        inner.event.hold = inner.event.op;
        inner.hold = hold;
        inner.lost = false;
        note(&inner, EVENT_OK, 0, 1);
        use(&inner);
        release(&inner, 0);
        return;
    }
    inner.event.hold = t->event.hold;
    note(&inner, EVENT_OK, 0, 2);
    use(t);
    release(t, 1);
}

static void use(turn *t)
{
    worker *w = t->worker;
    hold_for(t, some_ns(w, w->load->options->hold_ms));
    if (w->load->guard && takes_all(t) && chance(w, w->load->options->guard))
        write_guarded(t);
}

/* What was held for writing is released, and what is held for reading is another hold. */
static bool downgrade(turn *t)
{
    turn writer = *t;
    dlock_hold *hold;
    set_share(t, true);
    t->event.op = hist_op();
    t->event.hold = 0;
    note(&writer, EVENT_RELEASE_INVOKE, 0, 0);
    note(t, EVENT_INVOKE, 0, 0);
    dlock_status status = dlock_downgrade(t->hold, t->worker->load->reads[t->which], &hold);
    bool ours = status == DLOCK_OK, over = status == DLOCK_EXPIRED || status == DLOCK_NOT_OWNER;
    if (status == DLOCK_INVALID) {
        fprintf(stderr, "lockload: a hold could not be downgraded\n");
        exit(EXIT_FAILURE);
    }
    if (ours) {
        t->hold = hold;
        t->lost = false;
        t->event.hold = t->event.op;
        t->event.fence = dlock_fence(hold);
    }
    note(t, ours ? EVENT_OK : over ? EVENT_FAIL : EVENT_UNKNOWN, 0, ours);
    note(&writer,
         ours   ? EVENT_RELEASE_OK
         : over ? EVENT_RELEASE_FAIL
                : EVENT_RELEASE_UNKNOWN,
         0, 0);
    return ours;
}

static void take_turn(worker *w)
{
    const load_options *o = w->load->options;
    turn t = {.worker = w, .which = (int)below(w, o->locks_len)};
    t.event.lock = o->locks[t.which];
    set_share(&t,
              o->lock.kind == DLOCK_READ || (o->lock.kind == DLOCK_WRITE && chance(w, o->readers)));
    if (!acquire(&t, &t.hold))
        return;
    t.event.hold = t.event.op;
    note(&t, EVENT_OK, 0, 1);
    use(&t);
    if (o->lock.kind != DLOCK_SEMAPHORE && chance(w, o->reenter))
        reenter(&t);
    if (o->lock.kind == DLOCK_WRITE && takes_all(&t) && chance(w, o->downgrade)) {
        if (!downgrade(&t))
            return;
        use(&t);
    }
    release(&t, 0);
}

static void *work(void *arg)
{
    worker *w = arg;
    while (hist_now_ns() < w->load->end_ns) {
        take_turn(w);
        sleep_ns(some_ns(w, w->load->options->think_ms));
    }
    return NULL;
}

/* ---- one process ----------------------------------------------------------------------------- */

static bool open_client(load *l)
{
    char err[256];
    for (int i = 0; i < l->options->urls_len; i++) {
        dlock_redis_options options = {.url = l->options->urls[i]};
        if (dlock_redis_open(&options, &l->redis[i], err, sizeof(err)) != 0) {
            fprintf(stderr, "lockload: %s\n", err);
            return false;
        }
    }
    dlock_client_options options = {.redis = l->redis[0],
                                    .quorum = l->redis,
                                    .quorum_len = l->options->urls_len,
                                    .io_ms = l->options->io_ms,
                                    .recheck_ms = l->options->recheck_ms};
    if (dlock_client_new(&options, &l->client, err, sizeof(err)) != DLOCK_OK) {
        fprintf(stderr, "lockload: %s\n", err);
        return false;
    }
    return true;
}

static bool open_lock(load *l, int which, const dlock_options *options, dlock_lock **ret)
{
    char err[256];
    if (dlock_lock_new(l->client, l->options->locks[which], options, ret, err, sizeof(err)) ==
        DLOCK_OK)
        return true;
    fprintf(stderr, "lockload: %s\n", err);
    return false;
}

static bool open_locks(load *l)
{
    dlock_options plain = l->options->lock, reads = plain;
    bool sides = plain.kind == DLOCK_READ || plain.kind == DLOCK_WRITE;
    reads.kind = DLOCK_READ;
    reads.cohort_max = 0;
    for (int i = 0; i < l->options->locks_len; i++) {
        if (!open_lock(l, i, &plain, &l->locks[i]) ||
            (sides && !open_lock(l, i, &reads, &l->reads[i])))
            return false;
    }
    if (l->options->guard > 0)
        l->guard = dlock_guard_new("canary", "return redis.call('INCR', KEYS[1])");
    return true;
}

static void close_all(load *l)
{
    for (int i = 0; i < l->options->locks_len; i++) {
        dlock_lock_free(l->locks[i]);
        dlock_lock_free(l->reads[i]);
    }
    dlock_guard_free(l->guard);
    dlock_client_free(l->client);
    for (int i = 0; i < l->options->urls_len; i++)
        dlock_redis_close(l->redis[i]);
}

static bool run_threads(load *l)
{
    int64_t threads = l->options->threads, started = 0;
    worker *workers = calloc((size_t)threads, sizeof(*workers));
    if (!workers)
        return false;
    for (; started < threads; started++) {
        uint64_t seed = (uint64_t)(l->options->seed * 1000003 + l->process * 1009 + started + 1);
        workers[started] = (worker){.load = l, .random = seed * 0x9E3779B97F4A7C15ULL};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    }
    for (int64_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
    return started == threads;
}

int load_run(const load_options *options, int process)
{
    load l = {.options = options, .process = process};
    if (options->history && hist_open(options->history) != 0) {
        perror(options->history);
        return 1;
    }
    l.end_ns = hist_now_ns() + options->duration_ms * 1000000;
    bool ok = open_client(&l) && open_locks(&l) && run_threads(&l);
    close_all(&l);
    return !ok;
}
