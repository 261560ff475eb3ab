/* Candidates of an election in one process: who leads, who is told what, and how it ends. */
#include "tests/lock/pending/candidates.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- who leads ------------------------------------------------------------------------------- */

static void until_waiting(dlock_election *observer, int64_t n)
{
    dlock_time give_up = dlock_in_ms(fx_patient_ms(SOON_MS));
    while (leader_of(observer).waiters != n && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_int_equal(leader_of(observer).waiters, n);
}

static void one_leads_and_hands_over_when_it_resigns(void **state)
{
    rig *r = *state;
    /* Of a lease that nobody waits for the end of: what comes, comes by the resignation. */
    dlock_election *a = candidate_as(r->client, "over", NULL);
    dlock_election *b = candidate_as(r->client, "over", NULL);
    dlock_client *elsewhere = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_election *observer = candidate_as(elsewhere, "over", NULL);
    assert_false(leader_of(observer).held);
    uint64_t last = 0;
    start(a);
    for (int i = 0; i < 6; i++) {
        dlock_hold *hold = until_elected(a);
        start(b);
        until_waiting(observer, 1);
        assert_false(has_news(b, 0));
        assert_int_equal(dlock_election_status(b), DLOCK_PENDING);
        assert_null(dlock_election_hold(b));

        dlock_info info = leader_of(observer);
        assert_true(info.held);
        assert_string_equal(info.owner, dlock_owner(hold));
        assert_int_equal(info.pid, getpid());
        assert_int_equal(info.fence, dlock_fence(hold));
        assert_true(info.since_us > 0);
        assert_int_equal(info.waiters, 1);
        assert_true(dlock_fence(hold) > last);
        last = dlock_fence(hold);

        assert_int_equal(dlock_election_resign(a), DLOCK_OK);
        assert_int_equal(dlock_election_status(a), DLOCK_CANCELLED);
        dlock_election *other = a;
        a = b;
        b = other;
    }
    until_elected(a);
    dlock_election_free(a); /* which resigns */
    assert_false(leader_of(observer).held);
    dlock_election_free(b);
    dlock_election_free(observer);
    dlock_client_free(elsewhere);
}

/* Processes that died, and were forgotten since nothing was heard of them: they would be passed
 * over when their turn comes, but the leader stays. */
static void the_dead_are_not_counted_for_good(void **state)
{
    rig *r = *state;
    dlock_election *a = candidate_as(r->client, "dead", NULL);
    dlock_election *b = candidate_as(r->client, "dead", NULL);
    start(a);
    until_elected(a);
    start(b);
    until_waiting(a, 1);
    for (int i = 0; i < 5; i++) {
        fx_redis_do(r->server, "LPUSH dlock:{dead}:queue before/1/0:%d", i);
        fx_redis_do(r->server, "RPUSH dlock:{dead}:queue behind/1/0:%d", i);
    }
    until_waiting(a, 1);
    assert_int_equal(dlock_election_resign(a), DLOCK_OK);
    until_elected(b);
    dlock_election_free(a);
    dlock_election_free(b);
}

/* ---- what is told ---------------------------------------------------------------------------- */

typedef struct told {
    atomic_int elected, lost;
    dlock_hold *of; /* the last one */
    bool valid;     /* as it was told of */
    int64_t validity_ms;
    bool fd_ready; /* of the hold, likewise */
} told;

static void note_elected(void *arg, dlock_hold *hold)
{
    told *t = arg;
    t->of = hold;
    t->validity_ms = dlock_validity_ms(hold);
    t->valid = dlock_held(hold) && t->validity_ms > 0 && dlock_fence(hold) > 0;
    atomic_fetch_add(&t->elected, 1);
}

static void note_lost(void *arg, dlock_hold *hold)
{
    told *t = arg;
    t->valid = hold == t->of && !dlock_held(hold);
    t->fd_ready = dlock_lost_fd(hold) >= 0;
    atomic_fetch_add(&t->lost, 1);
}

/* A claim window would have 250 ms until its first renewal is answered. */
static void a_leader_is_one_for_a_whole_lease_at_once(void **state)
{
    rig *r = *state;
    told t = {0};
    dlock_election_options options = {.lease_ms = 600000, .elected = note_elected, .arg = &t};
    dlock_election *a = candidate_as(r->client, "whole", NULL);
    dlock_election *b = candidate_as(r->client, "whole", &options);
    start(a);
    until_elected(a);
    start(b);
    until_waiting(a, 1);
    assert_int_equal(dlock_election_resign(a), DLOCK_OK);
    until_elected(b);
    assert_true(t.validity_ms > 300000);
    dlock_election_free(a);
    dlock_election_free(b);
}

static void elections_and_losses_are_told(void **state)
{
    rig *r = *state;
    told t = {0};
    dlock_election_options options = {
        .lease_ms = fx_lease_ms(1000), .elected = note_elected, .lost = note_lost, .arg = &t};
    dlock_election *e = candidate_as(r->client, "told", &options);
    dlock_guard *guard = dlock_guard_new("told", FENCE_TO_LIST);
    assert_int_equal(dlock_election_status(e), DLOCK_CANCELLED);
    assert_false(has_news(e, 0));
    dlock_stats stats;
    uint64_t last = 0;
    for (int i = 1; i <= 3; i++) {
        start(e);
        dlock_hold *hold = until_elected(e);
        assert_false(has_news(e, 0));
        assert_int_equal(atomic_load(&t.elected), i);
        assert_true(t.valid && t.of == hold);
        assert_true(dlock_fence(hold) > last);
        last = dlock_fence(hold);
        assert_int_equal(write_fence(hold, guard, "{told}:list"), DLOCK_OK);

        fx_redis_do(r->server, "SET told stranger");
        until_status(e, DLOCK_NOT_OWNER); /* at the next renewal */
        assert_false(has_news(e, 0));
        assert_null(dlock_election_hold(e));
        assert_int_equal(atomic_load(&t.lost), i);
        assert_true(t.valid && t.fd_ready);
        assert_int_equal(write_fence(hold, guard, "{told}:list"), DLOCK_STALE); /* it lives on */
        fx_redis_do(r->server, "DEL told");
    }
    assert_int_equal(rig_ask(r, "LLEN %s", "{told}:list"), 3);
    assert_int_equal(dlock_election_resign(e), DLOCK_NOT_OWNER);
    start(e);
    until_elected(e);
    assert_int_equal(dlock_election_resign(e), DLOCK_OK);
    assert_int_equal(atomic_load(&t.lost), 3); /* who resigns has lost nothing */
    dlock_client_stats(r->client, &stats);
    assert_int_equal(stats.held_now, 0); /* nor are lost holds left */
    dlock_election_free(e);
    dlock_guard_free(guard);
}

static void a_guarded_write_tells_of_the_loss(void **state)
{
    rig *r = *state;
    told t = {0};
    dlock_election_options options = {.lease_ms = 60000, .lost = note_lost, .arg = &t};
    dlock_election *e = candidate_as(r->client, "forced", &options);
    dlock_election *observer = candidate_as(r->client, "forced", NULL);
    dlock_lock *same = rig_lock(r->client, "forced", (dlock_options){.kind = DLOCK_FAIR});
    dlock_guard *guard = dlock_guard_new("forced", FENCE_TO_LIST);
    start(e);
    dlock_hold *hold = until_elected(e);
    t.of = hold;
    uint64_t fence = dlock_fence(hold);
    start(observer);
    assert_int_equal(dlock_force_release(same), DLOCK_OK);
    assert_int_equal(write_fence(hold, guard, "{forced}:list"), DLOCK_STALE);
    assert_true(has_news(e, 0));
    assert_int_equal(dlock_election_status(e), DLOCK_NOT_OWNER);
    assert_int_equal(atomic_load(&t.lost), 1);
    assert_true(dlock_fence(until_elected(observer)) > fence);
    dlock_guard_free(guard);
    dlock_lock_free(same);
    dlock_election_free(observer);
    dlock_election_free(e);
}

static void count_elected(void *arg, dlock_hold *hold)
{
    (void)hold;
    atomic_fetch_add(&((told *)arg)->elected, 1);
}

static void count_lost(void *arg, dlock_hold *hold)
{
    (void)hold;
    atomic_fetch_add(&((told *)arg)->lost, 1);
}

/* The clock says that the lease is over, perhaps before the watchdog has told of it: who asks all
 * the time may campaign again in between. */
static void a_loss_is_told_before_the_next_campaign(void **state)
{
    rig *r = *state;
    told t = {0};
    dlock_election_options options = {
        .lease_ms = 20, .elected = count_elected, .lost = count_lost, .arg = &t};
    dlock_election *e = candidate_as(r->client, "untold", &options);
    for (int i = 0; i < 30; i++) {
        atomic_store(&t.elected, 0);
        atomic_store(&t.lost, 0);
        while (dlock_election_campaign(e, NULL) != DLOCK_OK)
            continue;
        fx_redis_do(r->server, "CLIENT PAUSE 30 WRITE"); /* no renewal comes in time */
        while (dlock_election_status(e) == DLOCK_OK)
            continue;
        int elected = atomic_load(&t.elected);
        start(e);
        assert_true(atomic_load(&t.lost) >= elected);
        dlock_election_resign(e);
    }
    dlock_election_free(e);
}

/* ---- how a campaign ends --------------------------------------------------------------------- */

typedef struct campaigner {
    dlock_election *election;
    dlock_wait wait;
    dlock_status status;
    pthread_t thread;
} campaigner;

static void *run_campaign(void *arg)
{
    campaigner *c = arg;
    c->status = dlock_election_campaign(c->election, &c->wait);
    return NULL;
}

static void campaign_as(campaigner *c, dlock_election *e, dlock_cancel *cancel)
{
    *c = (campaigner){.election = e, .wait = {.wait_ms = DLOCK_FOREVER, .cancel = cancel}};
    pthread_create(&c->thread, NULL, run_campaign, c);
}

static dlock_status outcome_of(campaigner *c)
{
    pthread_join(c->thread, NULL);
    return c->status;
}

static void a_campaign_ends_as_it_is_told(void **state)
{
    rig *r = *state;
    campaigner c;
    dlock_cancel *cancel = dlock_cancel_new();
    dlock_election *a = candidate_as(r->client, "ends", NULL);
    dlock_election *b = candidate_as(r->client, "ends", NULL);
    assert_int_equal(dlock_election_campaign(a, NULL), DLOCK_OK);
    assert_int_equal(dlock_election_start(a, NULL), DLOCK_INVALID); /* it leads */
    assert_int_equal(dlock_election_campaign(b, &(dlock_wait){0}), DLOCK_BUSY);
    assert_int_equal(dlock_election_campaign(b, &(dlock_wait){.wait_ms = 50}), DLOCK_BUSY);
    assert_int_equal(dlock_election_campaign(b, &(dlock_wait){.permits = 1}), DLOCK_INVALID);

    campaign_as(&c, b, NULL);
    until_waiting(a, 1);
    assert_int_equal(dlock_election_start(b, NULL), DLOCK_INVALID); /* it campaigns */
    assert_int_equal(dlock_election_resign(b), DLOCK_OK);
    assert_int_equal(outcome_of(&c), DLOCK_CANCELLED);
    until_waiting(a, 0);

    campaign_as(&c, b, cancel);
    until_waiting(a, 1);
    dlock_cancel_now(cancel);
    assert_int_equal(outcome_of(&c), DLOCK_CANCELLED);
    until_waiting(a, 0);

    campaign_as(&c, b, NULL);
    until_waiting(a, 1);
    assert_int_equal(dlock_election_resign(a), DLOCK_OK);
    assert_int_equal(outcome_of(&c), DLOCK_OK);
    assert_non_null(dlock_election_hold(b));
    assert_int_equal(dlock_election_resign(a), DLOCK_OK); /* from nothing */
    dlock_election_free(a);
    dlock_election_free(b);
    dlock_cancel_free(cancel);
}

/* However soon another campaign begins, whoever waits for the first one hears of its end alone. */
static void a_campaign_that_was_ended_is_not_the_next_one(void **state)
{
    rig *r = *state;
    dlock_election *a = candidate_as(r->client, "next", NULL);
    dlock_election *b = candidate_as(r->client, "next", NULL);
    for (int i = 0; i < 20; i++) {
        campaigner c;
        assert_int_equal(dlock_election_campaign(a, NULL), DLOCK_OK);
        campaign_as(&c, b, NULL);
        until_waiting(a, 1);
        assert_int_equal(dlock_election_resign(b), DLOCK_OK);
        start(b);
        assert_int_equal(dlock_election_resign(a), DLOCK_OK);
        until_elected(b);
        assert_int_equal(outcome_of(&c), DLOCK_CANCELLED);
        assert_int_equal(dlock_election_resign(b), DLOCK_OK);
    }
    dlock_election_free(a);
    dlock_election_free(b);
}

/* The same context of the caller's does not make two candidates one leader. */
static void candidates_do_not_reenter(void **state)
{
    rig *r = *state;
    dlock_wait once = {.context = 7};
    dlock_election *a = candidate_as(r->client, "again", NULL);
    dlock_election *b = candidate_as(r->client, "again", NULL);
    assert_int_equal(dlock_election_campaign(a, &once), DLOCK_OK);
    assert_int_equal(dlock_election_campaign(b, &once), DLOCK_BUSY);
    dlock_election_free(a);
    dlock_election_free(b);
}

static void what_can_not_be_is_refused(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_election *e = NULL;
    dlock_election_options options = {.reserved = {[7] = 1}};
    assert_int_equal(dlock_election_new(r->client, "no", &options, &e, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_non_null(strstr(err, "dlock_election_options: `reserved` must be zero"));
    options = (dlock_election_options){.lease_ms = 9};
    assert_int_equal(dlock_election_new(r->client, "no", &options, &e, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_non_null(strstr(err, "lease_ms"));
    assert_int_equal(dlock_election_new(r->client, "", NULL, &e, err, sizeof(err)), DLOCK_INVALID);
    assert_null(e);
    dlock_election_free(NULL);
}

/* In use as a lock of another family. */
static void an_error_ends_the_campaign(void **state)
{
    rig *r = *state;
    char said[256];
    dlock_hold *hold;
    dlock_lock *hash = rig_lock(r->client, "hash", (dlock_options){.kind = DLOCK_HASH});
    assert_int_equal(dlock_acquire(hash, NULL, &hold), DLOCK_OK);
    dlock_election *e = candidate_as(r->client, "hash", NULL);
    start(e);
    until_status(e, DLOCK_FAILED);
    dlock_last_error(r->client, said, sizeof(said));
    assert_non_null(strstr(said, "WRONGKIND"));
    dlock_release(hold);
    start(e);
    until_elected(e);
    dlock_election_free(e);
    dlock_lock_free(hash);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int ask_as_a_child(dlock_election *e)
{
    dlock_info info;
    int wrong = dlock_election_start(e, NULL) != DLOCK_FORKED;
    wrong += dlock_election_campaign(e, NULL) != DLOCK_FORKED;
    wrong += dlock_election_status(e) != DLOCK_FORKED;
    wrong += dlock_election_resign(e) != DLOCK_FORKED;
    wrong += dlock_election_leader(e, &info) != DLOCK_FORKED;
    wrong += dlock_election_hold(e) != NULL;
    wrong += dlock_election_fd(e) != -1;
    dlock_election_free(e);
    return wrong;
}

static void a_forked_child_leads_nothing(void **state)
{
    rig *r = *state;
    int status;
    dlock_election *e = candidate_as(r->client, "fork", NULL);
    start(e);
    dlock_hold *hold = until_elected(e);
    pid_t child = fork();
    if (child == 0)
        _exit(ask_as_a_child(e));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(dlock_held(hold) && leader_of(e).held);
    dlock_election_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_leads_and_hands_over_when_it_resigns),
        cmocka_unit_test(the_dead_are_not_counted_for_good),
        cmocka_unit_test(a_leader_is_one_for_a_whole_lease_at_once),
        cmocka_unit_test(elections_and_losses_are_told),
        cmocka_unit_test(a_guarded_write_tells_of_the_loss),
        cmocka_unit_test(a_loss_is_told_before_the_next_campaign),
        cmocka_unit_test(a_campaign_ends_as_it_is_told),
        cmocka_unit_test(a_campaign_that_was_ended_is_not_the_next_one),
        cmocka_unit_test(candidates_do_not_reenter),
        cmocka_unit_test(what_can_not_be_is_refused),
        cmocka_unit_test(an_error_ends_the_campaign),
        cmocka_unit_test(a_forked_child_leads_nothing),
    };
    return cmocka_run_group_tests_name("election", tests, rig_setup, rig_teardown);
}
