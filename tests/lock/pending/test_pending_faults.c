/* Pending calls when messages are lost, and when Redis is silent, gone, or forgetful. */
#include <signal.h>

#include "tests/lock/pending/pending.h"
#include "tests/support/proxy.h"

static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH,  DLOCK_FAIR,
                                   DLOCK_READ,   DLOCK_WRITE, DLOCK_SEMAPHORE};
enum { KINDS = COUNT(kinds) };

static dlock_lock *lock_of(dlock_client *client, int k, const char *test)
{
    char name[64];
    snprintf(name, sizeof(name), "%s:%d", test, k);
    return rig_lock(client, name,
                    (dlock_options){.kind = kinds[k],
                                    .lease_ms = 2000,
                                    .permits = kinds[k] == DLOCK_SEMAPHORE ? 1 : 0});
}

/* What keeps everybody else waiting: of a read/write lock a writer. */
static dlock_lock *blocker_of(dlock_client *client, int k, const char *test)
{
    char name[64];
    snprintf(name, sizeof(name), "%s:%d", test, k);
    if (kinds[k] != DLOCK_READ)
        return lock_of(client, k, test);
    return rig_lock(client, name, (dlock_options){.kind = DLOCK_WRITE, .lease_ms = 2000});
}

/* One of each kind waits for what `holds` have. */
typedef struct waits {
    dlock_lock *blockers[KINDS], *locks[KINDS];
    dlock_hold *holds[KINDS];
    dlock_pending *pending[KINDS];
} waits;

static waits begin(dlock_client *holder, dlock_client *waiter, const char *test, int64_t wait_ms)
{
    waits w;
    for (int k = 0; k < KINDS; k++) {
        w.blockers[k] = blocker_of(holder, k, test);
        w.locks[k] = lock_of(waiter, k, test);
        w.holds[k] = pd_get(pd_start(w.blockers[k], 0));
        w.pending[k] = pd_start(w.locks[k], wait_ms);
    }
    for (int k = 0; k < KINDS; k++)
        pd_assert_undecided(w.pending[k]);
    return w;
}

static void end(waits *w)
{
    for (int k = 0; k < KINDS; k++) {
        dlock_lock_free(w->blockers[k]);
        dlock_lock_free(w->locks[k]);
    }
}

static void release_and_expect_all(waits *w)
{
    for (int k = 0; k < KINDS; k++)
        assert_int_equal(dlock_release(w->holds[k]), DLOCK_OK);
    for (int k = 0; k < KINDS; k++)
        assert_int_equal(pd_release(pd_get(w->pending[k])), DLOCK_OK);
}

static void lost_messages_are_made_up_for(void **state)
{
    rig *r = *state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(r->server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    waits w = begin(r->client, client, "lost", DLOCK_FOREVER);
    fx_proxy_say(proxy, "drop push 1 match lost:1");
    fx_proxy_say(proxy, "drop push 1 match lost:2");
    fx_proxy_say(proxy, "drop push 1 match lost:3");
    fx_proxy_say(proxy, "drop push 1 match lost:4");
    fx_proxy_say(proxy, "drop push 1 match lost:5");
    release_and_expect_all(&w);
    assert_int_equal(fx_proxy_count(proxy, "dropped"), 5);
    end(&w);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

static void a_cut_subscription_is_made_up_for(void **state)
{
    rig *r = *state;
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    waits w = begin(r->client, client, "cut", DLOCK_FOREVER);
    assert_true(rig_ask(r, "CLIENT KILL TYPE %s", "pubsub") > 0);
    release_and_expect_all(&w);
    end(&w);
    dlock_client_free(client);
}

/* With re-checks as rare as can be, a hundred hand-offs would take minutes without messages. */
static void messages_wake_them(void **state)
{
    rig *r = *state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.redis = r->redis, .recheck_ms = 1000});
    for (int k = 0; k < KINDS; k++) {
        if (kinds[k] == DLOCK_STRING || kinds[k] == DLOCK_READ)
            continue;
        dlock_lock *lock = lock_of(client, k, "woken");
        dlock_hold *hold = pd_get(pd_start(lock, 0));
        dlock_time until = dlock_in_ms(30000);
        for (int i = 0; i < 100; i++) {
            dlock_pending *next = pd_start(lock, 20000);
            if (i == 0)
                pd_assert_undecided(next);
            assert_int_equal(pd_release(hold), DLOCK_OK);
            hold = pd_get(next);
        }
        assert_false(dlock_passed(until));
        assert_int_equal(pd_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
}

/* A user who may neither publish nor subscribe. */
static void a_user_without_channels_is_served(void **state)
{
    rig *r = *state;
    char url[256];
    fx_redis_do(r->server, "ACL SETUSER mute on >secret ~* +@all resetchannels");
    fx_redis_url_as(r->server, "mute:secret", url, sizeof(url));
    dlock_redis *redis = rig_redis(url);
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    waits w = begin(client, client, "mute", DLOCK_FOREVER);
    release_and_expect_all(&w);
    end(&w);
    dlock_client_free(client);
    dlock_redis_close(redis);
}

static void forgotten_scripts_are_sent_again(void **state)
{
    rig *r = *state;
    waits w = begin(r->client, r->client, "flushed", DLOCK_FOREVER);
    fx_redis_do(r->server, "SCRIPT FLUSH");
    release_and_expect_all(&w);
    end(&w);
}

static void a_silent_server_costs_the_question(void **state)
{
    rig *r = *state;
    int io_ms = fx_patient_ms(1000);
    int wait_ms = io_ms; /* longer than the looks that see them wait */
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = io_ms});
    waits w = begin(r->client, client, "silent", wait_ms);
    dlock_lock *lock = rig_lock(client, "silent", (dlock_options){.kind = DLOCK_FAIR});
    dlock_lock *other = rig_lock(client, "silent, held", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold = pd_get(pd_start(other, 0));
    fx_redis_signal(r->server, SIGSTOP);
    dlock_time begun = dlock_now();
    dlock_pending *one = pd_start(lock, 0), *going;
    assert_int_equal(dlock_release_start(hold, &going), DLOCK_OK);
    assert_true(dlock_now().us - begun.us < io_ms * 1000LL); /* neither waits for Redis */
    dlock_status statuses[KINDS + 2];
    for (int k = 0; k < KINDS; k++)
        statuses[k] = pd_finish(w.pending[k], NULL);
    statuses[KINDS] = pd_finish(one, NULL);
    assert_true(pd_readable(going, PATIENCE_MS));
    statuses[KINDS + 1] = dlock_release_finish(going);
    int64_t took_us = dlock_now().us - begun.us;
    fx_redis_signal(r->server, SIGCONT);
    for (int k = 0; k < KINDS; k++) /* of a queue it is certain that it had not come to them */
        assert_true(statuses[k] == DLOCK_BUSY || statuses[k] == DLOCK_UNKNOWN ||
                    statuses[k] == DLOCK_UNAVAILABLE);
    for (int k = KINDS; k < KINDS + 2; k++)
        assert_true(statuses[k] == DLOCK_UNKNOWN || statuses[k] == DLOCK_UNAVAILABLE);
    assert_true(took_us < (wait_ms + 4 * io_ms) * 1000LL);

    /* Nothing is left behind: whoever comes next gets each. */
    for (int k = 0; k < KINDS; k++) {
        (void)!dlock_release(w.holds[k]);
        assert_int_equal(pd_release(pd_get(pd_start(w.locks[k], PATIENCE_MS))), DLOCK_OK);
    }
    assert_int_equal(pd_release(pd_get(pd_start(lock, PATIENCE_MS))), DLOCK_OK);
    assert_int_equal(pd_release(pd_get(pd_start(other, PATIENCE_MS))), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_lock_free(other);
    end(&w);
    dlock_client_free(client);
}

static void an_empty_server_queues_them_again(void **state)
{
    rig *r = *state;
    waits w = begin(r->client, r->client, "emptied", DLOCK_FOREVER);
    fx_redis_kill(r->server);
    fx_redis_restart(r->server);
    for (int k = 0; k < KINDS; k++) {
        dlock_hold *hold = pd_get(w.pending[k]);
        (void)!dlock_release(w.holds[k]);
        assert_int_equal(pd_release(hold), DLOCK_OK);
    }
    end(&w);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_messages_are_made_up_for),
        cmocka_unit_test(a_cut_subscription_is_made_up_for),
        cmocka_unit_test(messages_wake_them),
        cmocka_unit_test(a_user_without_channels_is_served),
        cmocka_unit_test(forgotten_scripts_are_sent_again),
        cmocka_unit_test(a_silent_server_costs_the_question),
        cmocka_unit_test(an_empty_server_queues_them_again),
    };
    return cmocka_run_group_tests_name("pending_faults", tests, rig_setup_single, rig_teardown);
}
