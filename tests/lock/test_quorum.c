/* Kind QUORUM when one server of three does not answer: the others must be enough, and in time. */
#include "tests/lock/rig.h"

#include <signal.h>

enum { SERVERS = 3 };

static fx_redis *servers[SERVERS];
static dlock_redis *quorum[SERVERS];

/* A name: a new connection then needs a reply before it is of use, as with a password. */
static int setup(void **state)
{
    (void)state;
    char err[256];
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start(NULL);
        dlock_redis_options o = {.url = fx_redis_url(servers[i]), .name = "test"};
        if (dlock_redis_open(&o, &quorum[i], err, sizeof(err)) != 0)
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        dlock_redis_close(quorum[i]);
        fx_redis_stop(servers[i]);
    }
    return 0;
}

static void one_silent_server_costs_little(void **state)
{
    (void)state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = quorum, .quorum_len = SERVERS});
    dlock_lock *lock = rig_lock(client, "silent", (dlock_options){.kind = DLOCK_QUORUM});
    fx_redis_signal(servers[0], SIGSTOP);
    dlock_time start = dlock_now();
    for (int i = 0; i < 5; i++) {
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_true(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    int64_t took_us = dlock_now().us - start.us;
    fx_redis_signal(servers[0], SIGCONT);
    assert_true(took_us < 3000000);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_silent_server_costs_little),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
