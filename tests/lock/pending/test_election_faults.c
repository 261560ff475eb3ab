/* Elections while Redis is away, silent or forgetful. */
#include "tests/lock/pending/candidates.h"

#include <signal.h>

/* A client of its own, which no other case has taught anything. */
static dlock_client *fresh_client(rig *r)
{
    return rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = fx_patient_ms(1000)});
}

static void a_campaign_outlasts_a_redis_that_is_away(void **state)
{
    rig *r = *state;
    dlock_client *client = fresh_client(r);
    dlock_election *e = candidate(client, "away");
    fx_redis_kill(r->server);
    start(e);
    assert_false(has_news(e, 300));
    assert_int_equal(dlock_election_status(e), DLOCK_PENDING);
    fx_redis_restart(r->server);
    until_elected(e);
    dlock_election_free(e);
    dlock_client_free(client);
}

static void a_wait_that_is_over_says_so(void **state)
{
    rig *r = *state;
    dlock_info info;
    dlock_client *client = fresh_client(r);
    dlock_election *e = candidate(client, "limit");
    fx_redis_kill(r->server);
    assert_int_equal(dlock_election_campaign(e, &(dlock_wait){.wait_ms = 100}), DLOCK_UNAVAILABLE);
    assert_int_equal(dlock_election_leader(e, &info), DLOCK_UNAVAILABLE);
    assert_int_equal(dlock_election_resign(e), DLOCK_OK); /* nothing was done */
    fx_redis_restart(r->server);
    assert_int_equal(dlock_election_campaign(e, NULL), DLOCK_OK);
    dlock_election_free(e);
    dlock_client_free(client);
}

static bool nobody_leads(void *election)
{
    return !leader_of(election).held;
}

/* What it may have been given while it was not told is given back. */
static void whether_a_silent_redis_has_made_it_leader_is_not_known(void **state)
{
    rig *r = *state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = fx_patient_ms(200)});
    dlock_election_options options = {.lease_ms = 600000}; /* does not end by itself */
    dlock_election *e = candidate_as(client, "silent", &options);
    dlock_election *observer = candidate(r->client, "silent");
    fx_redis_signal(r->server, SIGSTOP);
    start(e);
    assert_int_equal(dlock_election_status(e), DLOCK_PENDING);
    fx_let_pass(300);
    assert_int_equal(dlock_election_resign(e), DLOCK_UNKNOWN);
    assert_int_equal(dlock_election_status(e), DLOCK_CANCELLED);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(fx_wait_until(nobody_leads, observer, SOON_MS));
    start(observer);
    until_elected(observer);
    dlock_election_free(observer);
    dlock_election_free(e);
    dlock_client_free(client);
}

/* To campaign again does not wait for a Redis that says nothing, which would take io_ms. */
static void a_leader_that_can_not_renew_has_lost(void **state)
{
    rig *r = *state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = 4 * SOON_MS});
    dlock_election *e = candidate(client, "lease");
    start(e);
    dlock_hold *hold = until_elected(e);
    uint64_t fence = dlock_fence(hold);
    fx_redis_signal(r->server, SIGSTOP);
    until_status(e, DLOCK_EXPIRED);
    assert_null(dlock_election_hold(e));
    assert_false(dlock_held(hold));
    dlock_time before = dlock_now();
    start(e);
    assert_true(dlock_now().us - before.us < SOON_MS * INT64_C(1000));
    assert_int_equal(dlock_election_status(e), DLOCK_PENDING);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(dlock_fence(until_elected(e)) > fence);
    dlock_election_free(e);
    dlock_client_free(client);
}

/* Whoever led before the restart may learn of it after another leads: its writes are refused. */
static void a_redis_that_comes_back_empty_elects_anew(void **state)
{
    rig *r = *state;
    dlock_client *clients[] = {fresh_client(r), fresh_client(r)};
    dlock_election *a = candidate(clients[0], "empty"), *b = candidate(clients[1], "empty");
    dlock_guard *guard = dlock_guard_new("empty", FENCE_TO_LIST);
    start(a);
    dlock_hold *hold = until_elected(a);
    uint64_t fence = dlock_fence(hold);
    assert_int_equal(write_fence(hold, guard, "{empty}:list"), DLOCK_OK);
    start(b);
    fx_redis_restart(r->server);
    dlock_hold *next = until_elected(b);
    assert_true(dlock_fence(next) > fence);
    assert_int_equal(write_fence(next, guard, "{empty}:list"), DLOCK_OK);
    assert_int_equal(write_fence(hold, guard, "{empty}:list"), DLOCK_STALE);
    assert_int_equal(rig_ask(r, "LLEN %s", "{empty}:list"), 1);
    dlock_status lost = dlock_election_status(a);
    assert_true(lost == DLOCK_NOT_OWNER || lost == DLOCK_EXPIRED);
    dlock_guard_free(guard);
    dlock_election_free(a);
    dlock_election_free(b);
    dlock_client_free(clients[0]);
    dlock_client_free(clients[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_campaign_outlasts_a_redis_that_is_away),
        cmocka_unit_test(a_wait_that_is_over_says_so),
        cmocka_unit_test(whether_a_silent_redis_has_made_it_leader_is_not_known),
        cmocka_unit_test(a_leader_that_can_not_renew_has_lost),
        cmocka_unit_test(a_redis_that_comes_back_empty_elects_anew),
    };
    return cmocka_run_group_tests_name("election faults", tests, rig_setup_single, rig_teardown);
}
