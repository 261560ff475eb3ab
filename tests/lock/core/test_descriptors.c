/* A process without stdin: the first descriptor that is opened is number 0, which is as good as any
 * other, and is closed again. */
#include "tests/lock/pending/pending.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { SOON_MS = 20000 };

static int kept; /* stdin, or what is there instead */

static int setup(void **state)
{
    kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
    return kept < 0 ? -1 : rig_setup_single(state);
}

static int restore(void **state)
{
    (void)state;
    return dup2(kept, 0);
}

static bool is_open(void)
{
    return fcntl(0, F_GETFD) >= 0;
}

/* A case's own connections and client: none is left when number 0 is put back. */
static void rig_open(rig *own, fx_redis *server)
{
    own->redis = rig_redis(fx_redis_url(server));
    own->client = rig_client(&(dlock_client_options){.redis = own->redis});
}

static void rig_close(const rig *own)
{
    dlock_client_free(own->client);
    dlock_redis_close(own->redis);
}

/* Nobody is there: what the call opens is what wakes the thread that looks for the servers. */
static void servers_can_be_looked_for(void **state)
{
    (void)state;
    static const char *const urls[] = {"redis+cluster://127.0.0.1:%d",
                                       "redis+sentinel://127.0.0.1:%d/mymaster"};
    close(0);
    for (size_t i = 0; i < COUNT(urls); i++) {
        char url[64];
        snprintf(url, sizeof(url), urls[i], fx_free_port());
        dlock_redis *redis = rig_redis(url);
        assert_true(is_open());
        dlock_redis_close(redis);
        assert_false(is_open());
    }
}

/* Whether the hold is released, or left to the client's end. */
static void a_loss_can_be_told(void **state)
{
    rig *r = *state;
    for (int released = 0; released < 2; released++) {
        dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
        dlock_options brief = {.lease_ms = fx_lease_ms(300), .renew_ms = DLOCK_NEVER};
        dlock_lock *lock = rig_lock(client, "told", brief);
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = SOON_MS}, &hold), DLOCK_OK);
        close(0);
        assert_int_equal(dlock_lost_fd(hold), 0);
        struct pollfd told = {.fd = 0, .events = POLLIN};
        assert_int_equal(poll(&told, 1, SOON_MS), 1);
        if (released)
            assert_int_not_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
        dlock_client_free(client);
        assert_false(is_open());
        restore(NULL);
    }
}

static void a_server_of_a_quorum_can_be_asked(void **state)
{
    const rig *r = *state;
    dlock_redis *redis = rig_redis(fx_redis_url(r->server));
    dlock_client *client = rig_client(&(dlock_client_options){.quorum = &redis, .quorum_len = 1});
    dlock_lock *lock = rig_lock(client, "asked", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_hold *hold;
    close(0);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_true(is_open());
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    assert_false(is_open());
}

/* What shows the caller that an acquisition, or a release, is decided. */
static void a_pending_call_can_be_waited_for(void **state)
{
    rig own, *r = *state;
    rig_open(&own, r->server);
    dlock_lock *lock = rig_lock(own.client, "pending", (dlock_options){0});
    dlock_hold *hold = pd_get(pd_start(lock, SOON_MS)); /* the client's own are open now */
    assert_int_equal(pd_release(hold), DLOCK_OK);
    close(0);
    dlock_pending *p = pd_start(lock, SOON_MS);
    assert_int_equal(dlock_pending_fd(p), 0);
    hold = pd_get(p);
    assert_false(is_open());
    assert_int_equal(dlock_release_start(hold, &p), DLOCK_OK);
    assert_int_equal(dlock_pending_fd(p), 0);
    assert_true(pd_readable(p, PATIENCE_MS));
    assert_int_equal(dlock_release_finish(p), DLOCK_OK);
    assert_false(is_open());
    dlock_lock_free(lock);
    rig_close(&own);
}

/* What a client opens for its first pending call. */
static void pending_calls_can_be_begun(void **state)
{
    rig own, *r = *state;
    rig_open(&own, r->server);
    dlock_lock *lock = rig_lock(own.client, "begun", (dlock_options){.kind = DLOCK_FAIR});
    close(0);
    dlock_hold *hold = pd_get(pd_start(lock, SOON_MS));
    assert_true(is_open());
    assert_int_equal(pd_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    rig_close(&own);
    assert_false(is_open());
}

static void an_election_can_be_told(void **state)
{
    rig own, *r = *state;
    char err[256];
    dlock_election *e;
    rig_open(&own, r->server);
    close(0);
    assert_int_equal(dlock_election_new(own.client, "led", NULL, &e, err, sizeof(err)), DLOCK_OK);
    assert_int_equal(dlock_election_fd(e), 0);
    dlock_election_free(e);
    assert_false(is_open());
    dlock_election_options reserved = {.lease_ms = 1};
    assert_int_equal(dlock_election_new(own.client, "led", &reserved, &e, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_false(is_open());
    rig_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(servers_can_be_looked_for, restore),
        cmocka_unit_test_teardown(a_server_of_a_quorum_can_be_asked, restore),
        cmocka_unit_test_teardown(a_loss_can_be_told, restore),
        cmocka_unit_test_teardown(a_pending_call_can_be_waited_for, restore),
        cmocka_unit_test_teardown(pending_calls_can_be_begun, restore),
        cmocka_unit_test_teardown(an_election_can_be_told, restore),
    };
    return cmocka_run_group_tests_name("descriptors", tests, setup, rig_teardown);
}
