/* Waits that are cancelled: at once, without a question to Redis before, and truthfully. */
#include "lock/core/client.h"
#include "tests/lock/wish.h"
#include "tests/support/proxy.h"

static bool is_dropped(void *proxy)
{
    return fx_proxy_count(proxy, "dropped") > 0;
}

/* Who is told that nothing is held must not have it. */
static void a_cancelled_wait_with_an_open_question_is_unknown(void **state)
{
    fx_only_single("a proxy is before Redis");
    rig *r = *state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_FAIR};
    for (int i = 0; i < 4; i++) {
        fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        dlock_client *client = rig_client(&(dlock_client_options){.redis = redis, .io_ms = 300});
        dlock_cancel *cancel = dlock_cancel_new();
        dlock_lock *lock = rig_lock(client, "doubt", (dlock_options){.kind = kinds[i % 2]});
        dlock_wait wait = {.wait_ms = DLOCK_FOREVER, .cancel = cancel};
        dlock_hold *none;
        fx_proxy_say(proxy, "drop reply match script next_fence");
        fx_proxy_say(proxy, "drop reply match EVALSHA");
        if (i < 2) {
            wish w = {.lock = lock, .wait = wait};
            pthread_t thread;
            pthread_create(&thread, NULL, come_true, &w);
            assert_true(fx_wait_until(is_dropped, proxy, 20000));
            dlock_cancel_now(cancel);
            pthread_join(thread, NULL);
            assert_int_equal(w.status, DLOCK_UNKNOWN);
        } else {
            dlock_pending *pending;
            dlock_status status;
            assert_int_equal(dlock_acquire_start(lock, &wait, &pending), DLOCK_OK);
            assert_true(fx_wait_until(is_dropped, proxy, 20000));
            dlock_pending_cancel(pending);
            dlock_time give_up = dlock_in_ms(20000);
            while ((status = dlock_acquire_finish(pending, &none)) == DLOCK_PENDING &&
                   !dlock_passed(give_up))
                fx_let_pass(1);
            assert_int_equal(status, DLOCK_UNKNOWN);
        }
        fx_proxy_say(proxy, "heal");
        dlock_lock_free(lock);
        dlock_client_free(client); /* which takes back what may have been acquired */
        dlock_cancel_free(cancel);
        dlock_redis_close(redis);
        fx_proxy_stop(proxy);
        assert_int_equal(rig_ask(r, "EXISTS %s", "doubt"), 0);
    }
}

/* Cancelling is an event: in a wait that would look again after ten minutes, and in the cohort's
 * line behind it. */
static void a_cancelled_thread_wakes_at_once(void **state)
{
    rig *r = *state;
    enum { LONG_MS = 600000 };
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    client->options.recheck_ms = LONG_MS;
    dlock_cancel *cancel = dlock_cancel_new();
    wish w[2];
    pthread_t threads[2];
    fx_redis_do(r->server, "SET stop stranger PX 600000");
    dlock_lock *lock =
        rig_lock(client, "stop", (dlock_options){.kind = DLOCK_FAIR, .cohort_max = 8});
    for (int i = 0; i < 2; i++) {
        w[i] = (wish){.lock = lock, .wait = {.wait_ms = DLOCK_FOREVER, .cancel = cancel}};
        pthread_create(&threads[i], NULL, come_true, &w[i]);
        until_queued(r, "dlock:{stop}:queue", 1);
    }
    fx_let_pass(20); /* no matter whether both sleep by now */
    dlock_cancel_now(cancel);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(w[i].status, DLOCK_CANCELLED);
    }
    dlock_cancel_free(cancel);
    dlock_lock_free(lock);
    dlock_client_free(client);
    fx_redis_do(r->server, "DEL stop");
}

/* A thousand threads that sleep, each with a cancellation, cost Redis one heartbeat a re-check. */
static void sleepers_send_heartbeats_only(void **state)
{
    fx_only_single("its commands are counted");
    rig *r = *state;
    enum { SLEEPERS = 1000, BEATS = 10 };
    static wish w[SLEEPERS];
    static pthread_t threads[SLEEPERS];
    dlock_cancel *cancel = dlock_cancel_new();
    dlock_lock *lock = rig_lock(r->client, "calm", (dlock_options){.kind = DLOCK_FAIR});
    fx_redis_do(r->server, "SET calm stranger PX 600000");
    for (int i = 0; i < SLEEPERS; i++) {
        w[i] = (wish){.lock = lock, .wait = {.wait_ms = DLOCK_FOREVER, .cancel = cancel}};
        pthread_create(&threads[i], NULL, come_true, &w[i]);
    }
    until_queued(r, "dlock:{calm}:queue", SLEEPERS);
    fx_let_pass(200); /* the first heartbeat's script may have to be sent */
    long before = calls(r->server, "evalsha");
    dlock_time since = dlock_now();
    fx_let_pass(BEATS * 100);
    int64_t beats = (dlock_now().us - since.us) / 100000 + 1;
    assert_true(calls(r->server, "evalsha") - before <= beats);
    dlock_cancel_now(cancel);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(w[i].status, DLOCK_CANCELLED);
    }
    dlock_cancel_free(cancel);
    dlock_lock_free(lock);
    fx_redis_do(r->server, "DEL calm");
}

/* Nothing was sent, so nothing is open. */
static void a_redis_that_was_never_there_is_unavailable(void **state)
{
    (void)state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_FAIR, DLOCK_WRITE};
    dlock_redis *redis = rig_redis("unix:///nonexistent/redis.sock");
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    for (int i = 0; i < 3; i++) {
        dlock_lock *lock = rig_lock(client, "nowhere", (dlock_options){.kind = kinds[i]});
        dlock_hold *none;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 50}, &none),
                         DLOCK_UNAVAILABLE);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
    dlock_redis_close(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_wait_with_an_open_question_is_unknown),
        cmocka_unit_test(a_cancelled_thread_wakes_at_once),
        cmocka_unit_test(sleepers_send_heartbeats_only),
        cmocka_unit_test(a_redis_that_was_never_there_is_unavailable),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
