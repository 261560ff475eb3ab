/* Blocking calls on the client's workers: how they are told, their line, and their contexts. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lock/pending/pending.h"

enum { MOST = 32, MANY = MOST + 8 };

static atomic_bool no_threads; /* the system has no more */

bool __real_dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
bool __wrap_dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
bool __wrap_dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
    return !atomic_load(&no_threads) && __real_dlock_thread_start(ret, run, arg);
}

/* ---- what the cases share -------------------------------------------------------------------- */

static rig_reports seen;

/* With a client that has the time it needs on a crowded machine. */
static int setup(void **state)
{
    int code = rig_setup(state);
    rig *r = *state;
    dlock_client_free(r->client);
    r->client = rig_client(&(dlock_client_options){.redis = r->redis,
                                                   .quorum = &r->redis,
                                                   .quorum_len = 1,
                                                   .io_ms = fx_patient_ms(1000),
                                                   .report = rig_note,
                                                   .report_arg = &seen});
    return code;
}

static dlock_pending *start(dlock_client *client, dlock_status (*call)(void *arg), void *arg)
{
    dlock_pending *p = NULL;
    assert_int_equal(dlock_call_start(client, call, arg, &p), DLOCK_OK);
    return p;
}

static dlock_status finish(dlock_pending *p)
{
    assert_true(pd_readable(p, PATIENCE_MS));
    return dlock_call_finish(p);
}

static void assert_goes_on(dlock_pending *p)
{
    assert_false(pd_readable(p, 30));
    assert_int_equal(dlock_call_finish(p), DLOCK_PENDING);
}

/* What a call works with, and shows of itself. */
typedef struct job {
    atomic_bool began;
    pid_t tid;
    sem_t may_end; /* stay(): until then, and with this status */
    dlock_status says;
    dlock_pending *pending;
    dlock_lock *lock;
    dlock_hold *hold;
    dlock_guard *guard;
    dlock_latch *latch;
    dlock_cancel *cancel;
} job;

static job *begin(void *arg)
{
    job *j = arg;
    j->tid = gettid();
    atomic_store(&j->began, true);
    return j;
}

static dlock_status stay(void *arg)
{
    job *j = begin(arg);
    while (sem_wait(&j->may_end) != 0) {
    }
    return j->says;
}

static void start_job(job *j, dlock_client *client)
{
    sem_init(&j->may_end, 0, 0);
    j->pending = start(client, stay, j);
}

static dlock_status end_job(job *j)
{
    sem_post(&j->may_end);
    return finish(j->pending);
}

static bool has_begun(void *j)
{
    return atomic_load(&((job *)j)->began);
}

static bool has_ended(void *tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d", (int)*(pid_t *)tid);
    return access(path, F_OK) != 0;
}

/* ---- how they are told ----------------------------------------------------------------------- */

static void tell_their_status_by_a_descriptor(void **state)
{
    static const dlock_status told[][2] = {
        {DLOCK_OK, DLOCK_OK},
        {DLOCK_UNKNOWN, DLOCK_UNKNOWN},
        {DLOCK_PENDING, DLOCK_INVALID},
        {DLOCK_FORKED, DLOCK_INVALID},
    };
    rig *r = *state;
    for (size_t i = 0; i < COUNT(told); i++) {
        job j = {.says = told[i][0]};
        dlock_hold *none;
        start_job(&j, r->client);
        assert_goes_on(j.pending);
        assert_int_equal(dlock_acquire_finish(j.pending, &none), DLOCK_INVALID);
        assert_int_equal(dlock_release_finish(j.pending), DLOCK_INVALID);
        assert_int_equal(end_job(&j), told[i][1]);
    }
}

static dlock_status write_and_release(void *arg)
{
    job *j = begin(arg);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "{calls}written");
    dlock_status status =
        dlock_guard_call(j->hold, j->guard, 1, &args, true, dlock_in_ms(PATIENCE_MS), NULL);
    dlock_args_free(&args);
    dlock_status released = dlock_release(j->hold);
    return status == DLOCK_OK ? released : status;
}

static dlock_status wait_at_latch(void *arg)
{
    job *j = begin(arg);
    return dlock_latch_wait(j->latch, &(dlock_wait){.wait_ms = DLOCK_FOREVER, .cancel = j->cancel});
}

/* And re-enters once. */
static dlock_status acquire(void *arg)
{
    job *j = begin(arg);
    dlock_hold *again;
    dlock_status status = dlock_acquire(j->lock, NULL, &j->hold);
    if (status == DLOCK_OK && dlock_acquire(j->lock, NULL, &again) == DLOCK_OK)
        status = again == j->hold ? dlock_release(again) : DLOCK_INVALID;
    return status;
}

static void do_what_has_no_other_form(void **state)
{
    rig *r = *state;
    char err[256];
    job j = {.guard = dlock_guard_new("calls", "return redis.call('SET', KEYS[1], fence)")};
    j.lock = rig_lock(r->client, "{calls}guarded", (dlock_options){.kind = DLOCK_FAIR});
    j.hold = pd_get(pd_start(j.lock, 0));
    assert_int_equal(finish(start(r->client, write_and_release, &j)), DLOCK_OK);
    assert_true(rig_ask(r, "GET %s", "{calls}written") > 0);
    dlock_lock_free(j.lock);
    dlock_guard_free(j.guard);

    j.lock = rig_lock(r->client, "voted", (dlock_options){.kind = DLOCK_QUORUM});
    assert_int_equal(finish(start(r->client, acquire, &j)), DLOCK_OK);
    assert_int_equal(dlock_release(j.hold), DLOCK_OK);
    dlock_lock_free(j.lock);

    job waits = {.cancel = dlock_cancel_new()};
    assert_int_equal(dlock_latch_new(r->client, "opens", &waits.latch, err, sizeof(err)), DLOCK_OK);
    dlock_pending *p = start(r->client, wait_at_latch, &waits);
    assert_true(fx_wait_until(has_begun, &waits, PATIENCE_MS));
    dlock_pending_cancel(p);
    assert_goes_on(p);
    dlock_cancel_now(waits.cancel);
    assert_int_equal(finish(p), DLOCK_CANCELLED);
    dlock_latch_free(waits.latch);
    dlock_cancel_free(waits.cancel);
}

/* ---- their line ------------------------------------------------------------------------------ */

static void wait_in_line_behind_so_many(void **state)
{
    rig *r = *state;
    static job jobs[MANY];
    int descriptors = fx_descriptors_open(), ended = 0;
    for (int i = 0; i < MANY; i++)
        start_job(&jobs[i], r->client);
    for (int i = 0; i < MOST; i++)
        assert_true(fx_wait_until(has_begun, &jobs[i], PATIENCE_MS));
    job *cancelled = &jobs[MOST + 2];
    dlock_pending_cancel(cancelled->pending);
    assert_true(pd_readable(cancelled->pending, 0));
    assert_int_equal(dlock_call_finish(cancelled->pending), DLOCK_CANCELLED);
    for (int next = MOST; next < MANY; next++) {
        if (&jobs[next] == cancelled)
            continue;
        assert_goes_on(jobs[next].pending);
        for (int i = next; i < MANY; i++)
            assert_false(has_begun(&jobs[i]));
        assert_int_equal(end_job(&jobs[ended++]), DLOCK_OK);
        assert_true(fx_wait_until(has_begun, &jobs[next], PATIENCE_MS));
    }
    for (int i = ended; i < MANY; i++)
        if (&jobs[i] != cancelled)
            assert_int_equal(end_job(&jobs[i]), DLOCK_OK);
    assert_false(has_begun(cancelled));
    for (int i = 0; i < MOST; i++)
        assert_true(fx_wait_until(has_ended, &jobs[i].tid, PATIENCE_MS));
    assert_true(fx_descriptors_open() <= descriptors); /* the latch had one, for a while */
}

/* Also on the same thread as the one before. What one acquires is renewed when its thread has
 * ended.
 */
static void are_contexts_of_their_own(void **state)
{
    rig *r = *state;
    dlock_options brief = {.lease_ms = fx_lease_ms(900)};
    dlock_stats stats = {0};
    job one = {.lock = rig_lock(r->client, "kept", brief)}, two = one;
    assert_int_equal(finish(start(r->client, acquire, &one)), DLOCK_OK);
    assert_int_equal(finish(start(r->client, acquire, &two)), DLOCK_BUSY);
    assert_true(fx_wait_until(has_ended, &one.tid, PATIENCE_MS));
    assert_true(fx_wait_until(has_ended, &two.tid, PATIENCE_MS));
    dlock_lock_stats(one.lock, &stats);
    for (uint64_t so_far = stats.renewals; stats.renewals < so_far + 2;) {
        assert_true(dlock_held(one.hold));
        dlock_sleep(dlock_in_ms(5));
        dlock_lock_stats(one.lock, &stats);
    }
    assert_int_equal(atomic_load(&seen.count[DLOCK_REPORT_ORPHANED]), 0);
    assert_int_equal(dlock_release(one.hold), DLOCK_OK);
    dlock_lock_free(one.lock);
}

/* ---- where none can be ----------------------------------------------------------------------- */

static void are_not_for_a_child(void **state)
{
    rig *r = *state;
    job j = {.says = DLOCK_OK};
    int status;
    start_job(&j, r->client);
    pid_t child = fork();
    if (child == 0) {
        dlock_pending *more;
        dlock_pending_cancel(j.pending);
        bool well = dlock_call_start(r->client, stay, &j, &more) == DLOCK_FORKED &&
                    dlock_call_finish(j.pending) == DLOCK_FORKED &&
                    dlock_pending_fd(j.pending) == -1;
        _exit(well ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(end_job(&j), DLOCK_OK);
}

static void need_a_descriptor_and_a_thread(void **state)
{
    rig *r = *state;
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    job first = {.says = DLOCK_OK}, next = first;
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max});
    dlock_status status = dlock_call_start(client, stay, &first, &first.pending);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(status, DLOCK_NO_MEMORY);
    atomic_store(&no_threads, true);
    status = dlock_call_start(client, stay, &first, &first.pending);
    atomic_store(&no_threads, false);
    assert_int_equal(status, DLOCK_NO_MEMORY);
    assert_null(first.pending);

    start_job(&first, client);
    atomic_store(&no_threads, true); /* but one, so they take turns */
    start_job(&next, client);
    assert_goes_on(next.pending);
    assert_false(has_begun(&next));
    assert_int_equal(end_job(&first), DLOCK_OK);
    assert_int_equal(end_job(&next), DLOCK_OK);
    atomic_store(&no_threads, false);
    dlock_client_free(client); /* whose worker is idle: it ends at once */
    assert_true(fx_wait_until(has_ended, &next.tid, PATIENCE_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tell_their_status_by_a_descriptor),
        cmocka_unit_test(do_what_has_no_other_form),
        cmocka_unit_test(wait_in_line_behind_so_many),
        cmocka_unit_test(are_contexts_of_their_own),
        cmocka_unit_test(are_not_for_a_child),
        cmocka_unit_test(need_a_descriptor_and_a_thread),
    };
    return cmocka_run_group_tests_name("calls", tests, setup, rig_teardown);
}
