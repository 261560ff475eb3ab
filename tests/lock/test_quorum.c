/* Kind QUORUM when one server of three does not answer: the others must be enough, and in time. */
#include "tests/lock/rig.h"

#include <poll.h>
#include <signal.h>

#include "tests/support/proxy.h"

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

/* A server that gave its vote and fell silent, at a try that the others refused. Its lease would
 * keep the vote from everybody. */
static void a_refused_try_leaves_nothing_behind(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(servers[0]));
    dlock_redis *line = rig_redis(fx_proxy_url(proxy));
    dlock_redis *const all[SERVERS] = {line, quorum[1], quorum[2]};
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = all, .quorum_len = SERVERS, .io_ms = 300});
    dlock_options longer = {.kind = DLOCK_QUORUM, .lease_ms = 60000};
    dlock_lock *lock = rig_lock(client, "refused", longer);
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK); /* all know the scripts now */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    for (int i = 1; i < SERVERS; i++)
        fx_redis_do(servers[i], "SET refused stranger PX 60000");
    fx_proxy_say(proxy,
                 "drop reply 1 match refused"); /* the vote; then what takes it back, twice */
    fx_proxy_say(proxy, "drop request 2 match refused");
    fx_proxy_say(proxy, "drop request 3 match refused");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_BUSY);
    dlock_time give_up = dlock_in_ms(5000);
    while (fx_redis_number(servers[0], "EXISTS refused") && !dlock_passed(give_up))
        fx_let_pass(5);
    assert_int_equal(fx_redis_number(servers[0], "EXISTS refused"), 0);
    assert_int_equal(fx_proxy_count(proxy, "dropped"), 3);
    for (int i = 1; i < SERVERS; i++)
        fx_redis_do(servers[i], "DEL refused");
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(line);
    fx_proxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_silent_server_costs_little),
        cmocka_unit_test(a_refused_try_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
