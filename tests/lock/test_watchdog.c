/* The watchdog when Redis is slow or silent: who is told what, and when. */
#include "tests/lock/rig.h"
#include "tests/support/patience.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "lock/core/lock.h"

static dlock_hold *take(dlock_lock *lock)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    return hold;
}

static bool lost_within(dlock_hold *hold, int ms)
{
    struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
    return poll(&p, 1, fx_patient_ms(ms)) == 1;
}

static uint64_t renewals(rig *r)
{
    dlock_stats stats;
    dlock_client_stats(r->client, &stats);
    return stats.renewals;
}

/* The first renewal of a kind asks for its script's hash. When that came into a pipeline behind
 * other renewals, their replies slipped by one. Runs first: the hash is asked for once a process.
 * The stop makes three renewals due at once. */
static void replies_reach_the_right_lock(void **state)
{
    rig *r = *state;
    dlock_options early = {.lease_ms = fx_lease_ms(5000), .renew_ms = 50};
    dlock_options later = {.lease_ms = early.lease_ms, .renew_ms = 150};
    dlock_lock *first = rig_lock(r->client, "first", early);
    dlock_lock *kept = rig_lock(r->client, "kept", later);
    dlock_lock *gone = rig_lock(r->client, "gone", later);
    later.kind = DLOCK_HASH;
    dlock_lock *other = rig_lock(r->client, "other", later);
    dlock_hold *h0 = take(first);
    dlock_time give_up = dlock_in_ms(5000);
    while (renewals(r) == 0 && !dlock_passed(give_up))
        fx_let_pass(5);
    dlock_hold *h1 = take(kept), *h2 = take(gone), *h3 = take(other);
    assert_int_equal(rig_ask(r, "DEL %s", "gone"), 1);
    fx_redis_signal(r->server, SIGSTOP);
    fx_let_pass(250);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(lost_within(h2, 2000));
    assert_true(dlock_held(h1));
    assert_false(lost_within(h3, 200));
    assert_int_equal(dlock_release(h0), DLOCK_OK);
    assert_int_equal(dlock_release(h1), DLOCK_OK);
    assert_int_equal(dlock_release(h2), DLOCK_NOT_OWNER);
    assert_int_equal(dlock_release(h3), DLOCK_OK);
    dlock_lock_free(first);
    dlock_lock_free(kept);
    dlock_lock_free(gone);
    dlock_lock_free(other);
}

/* The question that Redis does not answer must not outlast the lease it was to renew. */
static void a_loss_is_told_on_time_though_redis_is_silent(void **state)
{
    rig *r = *state;
    dlock_client *patient = rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = 60000});
    dlock_lock *lock =
        rig_lock(patient, "silent", (dlock_options){.lease_ms = fx_lease_ms(400), .renew_ms = 100});
    dlock_hold *hold = take(lock);
    fx_redis_signal(r->server, SIGSTOP);
    bool told = lost_within(hold, 30000);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(told);
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(patient);
}

/* Redis counts the whole lease, we some 1 % less. A renewal that is confirmed in between comes too
 * late: somebody may have been told already that the hold is over. */
static void what_is_over_stays_over(void **state)
{
    rig *r = *state;
    dlock_lock *lock =
        rig_lock(r->client, "over", (dlock_options){.lease_ms = 3000, .renew_ms = 2900});
    dlock_hold *hold = take(lock);
    while (dlock_validity_ms(hold) > 80)
        fx_let_pass(1);
    fx_redis_signal(r->server, SIGSTOP);
    while (dlock_held(hold))
        fx_let_pass(1);
    fx_redis_signal(r->server, SIGCONT);
    bool told = lost_within(hold, 2000);
    assert_true(told);
    assert_false(dlock_held(hold));
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

/* The cap ends the grant in Redis too, not only in the holder's eyes. */
static void max_hold_frees_the_lock(void **state)
{
    rig *r = *state;
    dlock_options capped = {.lease_ms = 8000, .renew_ms = 50, .max_hold_ms = 200};
    dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (size_t i = 0; i < 3; i++) {
        capped.kind = kinds[i];
        dlock_lock *lock = rig_lock(r->client, "capped", capped);
        dlock_hold *hold = take(lock), *next = NULL;
        assert_int_equal(
            dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(3000), .context = 2}, &next),
            DLOCK_OK);
        assert_false(dlock_held(hold));
        assert_int_equal(dlock_release(next), DLOCK_OK);
        assert_int_not_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

/* Two stopped servers of three leave no majority. That is the quorum locks' loss, and no other's.
 */
enum { SERVERS = 3, QUORUM_LOCKS = 4 };

static void one_servers_silence_is_its_own_locks_affair(void **state)
{
    rig *r = *state;
    const int lease_ms = fx_lease_ms(1500);
    fx_redis *servers[SERVERS];
    dlock_redis *quorum[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        quorum[i] = rig_redis(fx_redis_url(servers[i]));
    }
    dlock_client *client = rig_client(
        &(dlock_client_options){.redis = r->redis, .quorum = quorum, .quorum_len = SERVERS});
    dlock_options all = {.kind = DLOCK_QUORUM, .lease_ms = lease_ms, .renew_ms = 100};
    dlock_lock *plain =
        rig_lock(client, "healthy", (dlock_options){.lease_ms = lease_ms, .renew_ms = 100});
    dlock_lock *locks[QUORUM_LOCKS];
    dlock_hold *kept = take(plain), *lost[QUORUM_LOCKS];
    for (int i = 0; i < QUORUM_LOCKS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "quorum %d", i);
        locks[i] = rig_lock(client, name, all);
        lost[i] = take(locks[i]);
    }
    fx_redis_signal(servers[0], SIGSTOP);
    fx_redis_signal(servers[1], SIGSTOP);
    dlock_time start = dlock_now();
    for (int i = 0; i < QUORUM_LOCKS; i++)
        assert_true(lost_within(lost[i], 4 * lease_ms));
    int64_t late_ms = (dlock_now().us - start.us) / 1000 - lease_ms;
    bool held = !lost_within(kept, lease_ms) && dlock_held(kept);
    fx_redis_signal(servers[0], SIGCONT);
    fx_redis_signal(servers[1], SIGCONT);
    print_message("the losses were told %d ms after the lease's end\n", (int)late_ms);
    assert_true(held);
    assert_true(late_ms < fx_patient_ms(1000));
    assert_int_equal(dlock_release(kept), DLOCK_OK);
    for (int i = 0; i < QUORUM_LOCKS; i++) {
        assert_int_not_equal(dlock_release(lost[i]), DLOCK_OK);
        dlock_lock_free(locks[i]);
    }
    dlock_lock_free(plain);
    dlock_client_free(client);
    for (int i = 0; i < SERVERS; i++) {
        dlock_redis_close(quorum[i]);
        fx_redis_stop(servers[i]);
    }
}

/* One stopped server of three, and the client's own redis: the majority is enough to renew. */
static void a_majority_renews(void **state)
{
    (void)state;
    const int lease_ms = fx_lease_ms(1000);
    fx_redis *servers[SERVERS + 1];
    dlock_redis *redis[SERVERS + 1];
    for (int i = 0; i <= SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        redis[i] = rig_redis(fx_redis_url(servers[i]));
    }
    dlock_client *client = rig_client(
        &(dlock_client_options){.redis = redis[SERVERS], .quorum = redis, .quorum_len = SERVERS});
    dlock_options brief = {.kind = DLOCK_QUORUM, .lease_ms = lease_ms, .renew_ms = lease_ms / 10};
    dlock_lock *lock = rig_lock(client, "majority", brief);
    brief.kind = DLOCK_STRING;
    dlock_lock *plain = rig_lock(client, "stopped", brief);
    dlock_hold *hold = take(lock), *lost = take(plain);
    fx_redis_signal(servers[0], SIGSTOP);
    fx_redis_signal(servers[SERVERS], SIGSTOP);
    assert_true(lost_within(lost, 3 * lease_ms));
    assert_false(lost_within(hold, lease_ms * 3 / 2));
    assert_true(dlock_held(hold));
    for (int i = 1; i < SERVERS; i++) /* both were asked, the slower one too */
        assert_true(fx_redis_number(servers[i], "PTTL majority") > lease_ms / 2);
    fx_redis_signal(servers[0], SIGCONT);
    fx_redis_signal(servers[SERVERS], SIGCONT);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_not_equal(dlock_release(lost), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_lock_free(plain);
    dlock_client_free(client);
    for (int i = 0; i <= SERVERS; i++) {
        dlock_redis_close(redis[i]);
        fx_redis_stop(servers[i]);
    }
}

/* ---- a holder whose thread has ended --------------------------------------------------------- */

typedef struct taker {
    dlock_lock *lock;
    dlock_hold *hold;
} taker;

static void *take_and_end(void *arg)
{
    taker *t = arg;
    if (dlock_acquire(t->lock, &(dlock_wait){.wait_ms = 5000}, &t->hold) != DLOCK_OK)
        t->hold = NULL;
    return NULL;
}

static void *take_and_stay(void *arg)
{
    taker *t = arg;
    take_and_end(t);
    bool kept = t->hold && !lost_within(t->hold, 1500) && dlock_held(t->hold);
    return kept && dlock_release(t->hold) == DLOCK_OK ? t : NULL;
}

static bool is_in_line(void *arg)
{
    dlock_lock *lock = arg;
    pthread_mutex_lock(&lock->cohort.lock);
    bool in_line = lock->cohort.line.first;
    pthread_mutex_unlock(&lock->cohort.lock);
    return in_line;
}

/* It is not renewed any more; but whoever gets its grant is. */
static void an_orphans_heir_is_renewed(void **state)
{
    rig *r = *state;
    rig_reports reports = {0};
    dlock_client *client = rig_client(&(dlock_client_options){
        .redis = r->redis, .recheck_ms = 1000, .report = rig_note, .report_arg = &reports});
    dlock_options options = {.lease_ms = fx_lease_ms(900), .renew_ms = 100, .cohort_max = 4};
    taker first = {.lock = rig_lock(client, "orphan", options)}, heir = {.lock = first.lock};
    pthread_t threads[2];
    void *kept = NULL;
    pthread_create(&threads[0], NULL, take_and_end, &first);
    pthread_join(threads[0], NULL);
    assert_non_null(first.hold);
    assert_int_equal(atomic_load(&reports.count[DLOCK_REPORT_ORPHANED]), 1);
    pthread_create(&threads[1], NULL, take_and_stay, &heir);
    assert_true(fx_wait_until(is_in_line, first.lock, 5000));
    assert_int_equal(dlock_release(first.hold), DLOCK_OK);
    pthread_join(threads[1], &kept);
    assert_non_null(kept);
    dlock_lock_free(first.lock);
    dlock_client_free(client);
}

static bool is_renewed_often(void *client)
{
    dlock_stats stats;
    dlock_client_stats(client, &stats);
    return stats.renewals >= 4;
}

/* Nothing else is due before the end of the lease, a minute away. */
static void a_lone_hold_is_renewed_all_along(void **state)
{
    rig *r = *state;
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_lock *lock = rig_lock(client, "lone", (dlock_options){.lease_ms = 60000, .renew_ms = 50});
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_true(fx_wait_until(is_renewed_often, client, 20000));
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_hold_is_renewed_all_along),
        cmocka_unit_test(replies_reach_the_right_lock),
        cmocka_unit_test(a_loss_is_told_on_time_though_redis_is_silent),
        cmocka_unit_test(what_is_over_stays_over),
        cmocka_unit_test(max_hold_frees_the_lock),
        cmocka_unit_test(one_servers_silence_is_its_own_locks_affair),
        cmocka_unit_test(a_majority_renews),
        cmocka_unit_test(an_orphans_heir_is_renewed),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
