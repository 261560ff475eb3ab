/*
 * What a client and a lock count: after each way that an acquire, a hold and a release can end,
 * exactly the counters that dlock.h names for it have moved, and no other.
 */
#include "lock/core/lock.h"
#include "tests/lock/rig.h"
#include "tests/support/proxy.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>

enum { SOON_MS = 20000 };

/* ---- comparing ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(dlock_stats, name)                                                         \
    }
    FIELD(acquired),
    FIELD(reentered),
    FIELD(passed_on),
    FIELD(busy),
    FIELD(cancelled),
    FIELD(unavailable),
    FIELD(unknown),
    FIELD(released),
    FIELD(expired),
    FIELD(not_owner),
    FIELD(lost),
    FIELD(guarded),
    FIELD(stale),
    FIELD(held_now),
    FIELD(waiting_now),
    {"waits", offsetof(dlock_stats, wait_us.count)},
    {"holds", offsetof(dlock_stats, hold_us.count)},
#undef FIELD
};

static int64_t field_of(const dlock_stats *stats, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)stats + fields[i].at, sizeof(value));
    return (int64_t)value;
}

/* How much "acquired 1 held_now -1" says that a field has moved. */
static int64_t said_of(const char *moved, const char *field)
{
    char word[64];
    int64_t by;
    int len;
    for (const char *at = moved; sscanf(at, "%63s %" SCNd64 "%n", word, &by, &len) == 2; at += len)
        if (strcmp(word, field) == 0)
            return by;
    return 0;
}

/* What a lock and its client had counted. */
typedef struct counted {
    dlock_stats client, lock;
} counted;

static counted count_now(dlock_lock *lock)
{
    counted now;
    dlock_client_stats(lock->client, &now.client);
    dlock_lock_stats(lock, &now.lock);
    return now;
}

/* Both have moved by this; no other lock of the client has been used. */
static void counts(dlock_lock *lock, counted *before, const char *moved)
{
    counted now = count_now(lock);
    for (size_t i = 0; i < COUNT(fields); i++) {
        int64_t client = field_of(&now.client, i) - field_of(&before->client, i);
        int64_t one = field_of(&now.lock, i) - field_of(&before->lock, i);
        int64_t said = said_of(moved, fields[i].name);
        if (client != said || one != said)
            fail_msg("%s has moved by %lld, of the lock by %lld; expected: %s", fields[i].name,
                     (long long)client, (long long)one, moved);
    }
    *before = now;
}

/* ---- the ways of an acquire and a release ---------------------------------------------------- */

static void taken_and_given_back(void **state)
{
    rig *r = *state;
    counted last;
    dlock_lock *lock = rig_lock(r->client, "counted", (dlock_options){0});
    dlock_hold *hold, *again, *none;
    last = count_now(lock);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    counts(lock, &last, "acquired 1 held_now 1 waits 1");
    assert_int_equal(dlock_acquire(lock, NULL, &again), DLOCK_OK);
    counts(lock, &last, "reentered 1");
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.context = 2}, &none), DLOCK_BUSY);
    counts(lock, &last, "busy 1");
    dlock_cancel *cancel = dlock_cancel_new();
    dlock_cancel_now(cancel);
    dlock_wait wait = {.context = 2, .wait_ms = SOON_MS, .cancel = cancel};
    assert_int_equal(dlock_acquire(lock, &wait, &none), DLOCK_CANCELLED);
    counts(lock, &last, "cancelled 1");
    dlock_cancel_free(cancel);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = -2}, &none), DLOCK_INVALID);
    counts(lock, &last, "");
    assert_int_equal(dlock_release(again), DLOCK_OK);
    counts(lock, &last, "");
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    counts(lock, &last, "released 1 held_now -1 holds 1");
    dlock_lock_free(lock);
}

/* Its time ran out, or Redis says that it is another's. */
static void lost_while_it_was_held(void **state)
{
    rig *r = *state;
    counted last;
    dlock_hold *hold;
    dlock_options brief = {.lease_ms = fx_lease_ms(200), .renew_ms = DLOCK_NEVER};
    dlock_lock *lapsing = rig_lock(r->client, "lapses", brief);
    dlock_lock *taken = rig_lock(r->client, "taken", (dlock_options){0});
    last = count_now(lapsing);
    assert_int_equal(dlock_acquire(lapsing, NULL, &hold), DLOCK_OK);
    struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
    assert_int_equal(poll(&p, 1, SOON_MS), 1);
    counts(lapsing, &last, "acquired 1 held_now 1 waits 1 lost 1");
    assert_int_equal(dlock_release(hold), DLOCK_EXPIRED);
    counts(lapsing, &last, "expired 1 held_now -1 holds 1");
    last = count_now(taken);
    assert_int_equal(dlock_acquire(taken, NULL, &hold), DLOCK_OK);
    fx_redis_do(r->server, "SET taken stranger");
    assert_int_equal(dlock_release(hold), DLOCK_NOT_OWNER);
    counts(taken, &last, "acquired 1 waits 1 not_owner 1 holds 1");
    fx_redis_do(r->server, "DEL taken");
    dlock_lock_free(lapsing);
    dlock_lock_free(taken);
}

static dlock_status call(dlock_hold *hold, dlock_guard *guard, bool release)
{
    dlock_args none;
    dlock_args_init(&none);
    dlock_status status =
        dlock_guard_call(hold, guard, 0, &none, release, dlock_in_ms(SOON_MS), NULL);
    dlock_args_free(&none);
    return status;
}

static void guarded_calls(void **state)
{
    rig *r = *state;
    counted last;
    dlock_hold *hold;
    dlock_guard *guard = dlock_guard_new("counted", "return 1");
    dlock_lock *lock = rig_lock(r->client, "guarded", (dlock_options){0});
    last = count_now(lock);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(call(hold, guard, false), DLOCK_OK);
    counts(lock, &last, "acquired 1 held_now 1 waits 1 guarded 1");
    assert_int_equal(call(hold, guard, true), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    counts(lock, &last, "guarded 1 released 1 held_now -1 holds 1");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    fx_redis_do(r->server, "APPEND dlock:{guarded}:fence 1"); /* to another token */
    assert_int_equal(call(hold, guard, true), DLOCK_STALE);
    counts(lock, &last, "acquired 1 held_now 1 waits 1 stale 1 lost 1");
    assert_int_equal(dlock_release(hold), DLOCK_NOT_OWNER);
    counts(lock, &last, "not_owner 1 held_now -1 holds 1");
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

typedef struct wish {
    dlock_lock *lock;
    dlock_hold *hold;
    dlock_status status;
} wish;

static void *come_true(void *arg)
{
    wish *w = arg;
    w->status = dlock_acquire(w->lock, &(dlock_wait){.wait_ms = SOON_MS, .context = 2}, &w->hold);
    return NULL;
}

static bool one_is_in_line(void *arg)
{
    dlock_lock *lock = arg;
    pthread_mutex_lock(&lock->cohort.lock);
    bool there = lock->cohort.line.first;
    pthread_mutex_unlock(&lock->cohort.lock);
    return there;
}

/* A hand-off inside the cohort is an acquire of one, and a release of the other. A machine so slow
 * that the time for one was over before it could be made gets another try. */
static void passed_on_inside_a_cohort(void **state)
{
    rig *r = *state;
    enum { TRIES = 20 };
    counted last, now;
    dlock_options in_line = {.kind = DLOCK_FAIR, .cohort_max = 8, .cohort_ms = SOON_MS};
    wish w = {.lock = rig_lock(r->client, "cohort", in_line)};
    for (int i = 0; i == 0 || (now.lock.passed_on == last.lock.passed_on && i < TRIES); i++) {
        dlock_hold *hold;
        pthread_t thread;
        last = count_now(w.lock);
        assert_int_equal(dlock_acquire(w.lock, NULL, &hold), DLOCK_OK);
        pthread_create(&thread, NULL, come_true, &w);
        assert_true(fx_wait_until(one_is_in_line, w.lock, SOON_MS));
        counts(w.lock, &last, "acquired 1 held_now 1 waits 1 waiting_now 1");
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        pthread_join(thread, NULL);
        assert_int_equal(w.status, DLOCK_OK);
        assert_int_equal(dlock_release(w.hold), DLOCK_OK);
        now = count_now(w.lock);
    }
    counts(w.lock, &last,
           "passed_on 1 acquired 1 waits 1 waiting_now -1 released 2 holds 2 held_now -1");
    dlock_lock_free(w.lock);
}

/* ---- Redis does not answer ------------------------------------------------------------------- */

static void unknown_and_unavailable(void **state)
{
    fx_only_single("a proxy is before Redis");
    rig *r = *state;
    counted last;
    dlock_hold *hold;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis, .io_ms = 300});
    dlock_lock *lock = rig_lock(client, "unanswered", (dlock_options){.lease_ms = 60000});
    last = count_now(lock);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = SOON_MS}, &hold), DLOCK_OK);
    counts(lock, &last, "acquired 1 held_now 1 waits 1");
    fx_proxy_say(proxy, "drop reply");
    assert_int_equal(dlock_release(hold), DLOCK_UNKNOWN);
    counts(lock, &last, "unknown 1 held_now -1 holds 1");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_UNKNOWN);
    counts(lock, &last, "unknown 1");
    fx_proxy_stop(proxy);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_UNAVAILABLE);
    counts(lock, &last, "unavailable 1");
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_redis_do(r->server, "DEL unanswered");
}

/* ---- durations ------------------------------------------------------------------------------- */

/* Bucket i has what took less than 2^i us, and not less than half of that. */
static void durations_fall_into_their_buckets(void **state)
{
    rig *r = *state;
    enum { HELD_MS = 30 };
    dlock_stats before, after;
    dlock_lock *lock = rig_lock(r->client, "timed", (dlock_options){0});
    dlock_hold *hold;
    dlock_lock_stats(lock, &before);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    fx_let_pass(HELD_MS);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_stats(lock, &after);
    uint64_t us = after.hold_us.sum_us - before.hold_us.sum_us, in_all = 0;
    assert_true(us >= HELD_MS * 1000);
    for (int i = 0; i < DLOCK_HISTOGRAM_BUCKETS; i++) {
        uint64_t more = after.hold_us.bucket[i] - before.hold_us.bucket[i];
        bool its_own = i == DLOCK_HISTOGRAM_BUCKETS - 1 ||
                       (us < (uint64_t)1 << i && us >= (uint64_t)1 << (i - 1));
        in_all += more;
        assert_true(more == 0 || its_own);
    }
    assert_int_equal(in_all, 1);
    assert_true(after.wait_us.sum_us > before.wait_us.sum_us);
    dlock_lock_free(lock);
}

/* The last reference to the lock goes with its grant, and both are counted until then. */
static void freed_before_it_is_released(void **state)
{
    rig *r = *state;
    dlock_stats before, after;
    dlock_options none = {0};
    dlock_hold *hold;
    dlock_guard *guard = dlock_guard_new("freed", "return 1");
    dlock_client_stats(r->client, &before);
    for (int i = 0; i < 2; i++) {
        dlock_lock *lock = rig_lock(r->client, "freed", none);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        dlock_lock_free(lock);
        if (i == 1)
            assert_int_equal(call(hold, guard, true), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    dlock_client_stats(r->client, &after);
    assert_int_equal(after.released - before.released, 2);
    assert_int_equal(after.held_now, before.held_now);
    dlock_lock *anew = rig_lock(r->client, "freed", none);
    dlock_lock_stats(anew, &after);
    assert_int_equal(after.acquired, 0);
    dlock_lock_free(anew);
    dlock_guard_free(guard);
}

enum { MANY = 10000, NEIGHBOURS_MAX = 60 }; /* where ten in a bucket are usual */

static void count_one(void *arg, const char *name, const dlock_stats *stats)
{
    int *count = arg;
    (void)stats;
    *count += strncmp(name, "many:", 5) == 0;
}

/* The same name gives the same lock, and few others are compared with it. */
static void many_locks_are_found_by_their_names(void **state)
{
    const rig *r = *state;
    const dlock_options none = {.kind = DLOCK_FAIR};
    static dlock_lock *locks[MANY];
    int count = 0, longest = 0;
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "many:%d", i);
        locks[i] = rig_lock(r->client, name, none);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "many:%d", i);
        dlock_lock *again = rig_lock(r->client, name, none);
        assert_ptr_equal(again, locks[i]);
        dlock_lock_free(again);
        int neighbours = 0;
        for (const dlock_lock *at = locks[i]->next; at && neighbours <= NEIGHBOURS_MAX;
             at = at->next)
            neighbours++;
        longest = neighbours > longest ? neighbours : longest;
    }
    dlock_client_locks(r->client, count_one, &count);
    assert_int_equal(count, MANY);
    for (int i = 0; i < MANY; i++)
        dlock_lock_free(locks[i]);
    dlock_client_locks(r->client, count_one, &count);
    assert_int_equal(count, MANY);
    assert_in_range(longest, 0, NEIGHBOURS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_and_given_back),
        cmocka_unit_test(lost_while_it_was_held),
        cmocka_unit_test(guarded_calls),
        cmocka_unit_test(passed_on_inside_a_cohort),
        cmocka_unit_test(unknown_and_unavailable),
        cmocka_unit_test(durations_fall_into_their_buckets),
        cmocka_unit_test(freed_before_it_is_released),
        cmocka_unit_test(many_locks_are_found_by_their_names),
    };
    return cmocka_run_group_tests_name("counters", tests, rig_setup, rig_teardown);
}
