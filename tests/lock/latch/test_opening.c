/* Waiting for a latch: what must not keep a waiter from its opening, and what must not pass for it.
 */
#include "lock/core/client.h"
#include "tests/lock/latch/latch_rig.h"

static void what_a_user_may_not_do_is_told(void **state)
{
    rig *r = *state;
    char url[256];
    dlock_latch *latch = latch_of(r->client, "denied");
    fx_redis_do(r->server, "ACL SETUSER reader on >pw ~* &* +@all -hset -subscribe");
    dlock_redis *redis = rig_redis(fx_redis_url_as(r->server, "reader:pw", url, sizeof(url)));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    dlock_latch *theirs = latch_of(client, "denied");
    assert_int_equal(dlock_latch_set(theirs, 1, 0), DLOCK_UNAVAILABLE);
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    assert_int_equal(dlock_latch_count_down(theirs, NULL, NULL), DLOCK_FAILED);
    assert_int_equal(left_of(latch), 1);
    wish w = {.latch = theirs, .wait = {.wait_ms = SOON_MS}}; /* it looks, then */
    fx_redis_do(r->server, "CONFIG RESETSTAT");
    wish_begin(&w);
    script_count wanted = {r->server, 3};
    assert_true(fx_wait_until(have_run, &wanted, SOON_MS));
    int64_t passed = fx_let_pass(500);
    assert_in_range(script_calls(r->server), 3, 20 + passed / 50); /* and is no busy loop */
    down(latch, NULL, 0);
    assert_int_equal(wish_end(&w), DLOCK_OK);
    fx_redis_do(r->server, "ACL SETUSER reader -hmget");
    assert_int_equal(dlock_latch_wait(theirs, &(dlock_wait){.wait_ms = SOON_MS}), DLOCK_FAILED);
    dlock_latch_free(theirs);
    dlock_client_free(client);
    dlock_redis_close(redis);
    dlock_latch_free(latch);
}

static void one_that_is_not_set_is_waited_for(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "unset");
    wish w = {.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER}};
    assert_int_equal(dlock_latch_wait(latch, NULL), DLOCK_BUSY);
    wish_begin(&w);
    until_listened_for(r, "dlock:{unset}:open", 1);
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    down(latch, NULL, 0);
    assert_int_equal(wish_end(&w), DLOCK_OK);
    dlock_latch_free(latch);
}

/* Threads of one process share a connection; another client, as another process, has its own. */
static void many_wait_by_one_connection(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "many");
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_latch *others = latch_of(client, "many");
    wish w[MANY] = {{0}};
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    for (int i = 0; i < MANY; i++) {
        w[i] = (wish){.latch = i % 2 ? latch : others, .wait = {.wait_ms = DLOCK_FOREVER}};
        wish_begin(&w[i]);
    }
    until_listened_for(r, "dlock:{many}:open", 2);
    /* However many they are, they ask twice a re-check. */
    fx_redis_do(r->server, "CONFIG RESETSTAT");
    int64_t passed = fx_let_pass(500);
    assert_in_range(script_calls(r->server), 0, MANY + 4 + 2 * passed / 100);
    down(latch, NULL, 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(wish_end(&w[i]), DLOCK_OK);
    dlock_latch_free(others);
    dlock_client_free(client);
    dlock_latch_free(latch);
    until_listened_for(r, "dlock:{many}:open", 0);
}

/* The one that listens for all goes first: another one takes its place. */
static void listening_goes_on_without_the_first(void **state)
{
    rig *r = *state;
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    client->options.recheck_ms = 600000; /* nobody looks but for a message */
    dlock_latch *latch = latch_of(client, "relay");
    dlock_cancel *cancel = dlock_cancel_new();
    wish first = {.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER, .cancel = cancel}};
    wish w[3];
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    wish_begin(&first);
    until_listened_for(r, "dlock:{relay}:open", 1);
    for (int i = 0; i < 3; i++) {
        w[i] = (wish){.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER}};
        wish_begin(&w[i]);
    }
    dlock_cancel_now(cancel);
    assert_int_equal(wish_end(&first), DLOCK_CANCELLED);
    down(latch, NULL, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wish_end(&w[i]), DLOCK_OK);
    dlock_cancel_free(cancel);
    dlock_latch_free(latch);
    dlock_client_free(client);
}

/* Who comes, listens, is told and goes in whatever order; nobody is left behind. */
static void nobody_is_left_behind_in_many_rounds(void **state)
{
    rig *r = *state;
    enum { ROUNDS = 100, WAITERS = 8 };
    dlock_latch *latch = latch_of(r->client, "rounds"), *other = latch_of(r->client, "rounds");
    for (int round = 0; round < ROUNDS; round++) {
        wish w[WAITERS];
        assert_int_equal(dlock_latch_set(other, 2, 0), DLOCK_OK);
        for (int i = 0; i < WAITERS; i++) {
            w[i] = (wish){.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER}};
            wish_begin(&w[i]);
            if (i == round % WAITERS)
                down(other, "one", 1);
        }
        fx_let_pass(round % 5);
        down(other, "two", 0);
        for (int i = 0; i < WAITERS; i++)
            assert_int_equal(wish_end(&w[i]), DLOCK_OK);
    }
    dlock_latch_free(other);
    dlock_latch_free(latch);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "deadline");
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    dlock_time start = dlock_now();
    assert_int_equal(dlock_latch_wait(latch, &(dlock_wait){.wait_ms = 250}), DLOCK_BUSY);
    assert_true(dlock_now().us - start.us >= 250000);
    dlock_latch_free(latch);
}

/* Whatever is broken while somebody waits, the opening is found: `fault` is an order to the proxy,
 * or a command. */
static void open_despite(rig *r, const char *fault, const char *command)
{
    far_client far = far_of(r, "despite");
    dlock_latch *latch = latch_of(r->client, "despite");
    wish w = {.latch = far.latch, .wait = {.wait_ms = DLOCK_FOREVER}};
    rig_ask(r, "DEL %s", "despite");
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    wish_begin(&w);
    until_listened_for(r, "dlock:{despite}:open", 1);
    if (fault)
        fx_proxy_say(far.proxy, "%s", fault);
    if (command)
        fx_redis_do(r->server, command);
    down(latch, NULL, 0);
    assert_int_equal(wish_end(&w), DLOCK_OK);
    dlock_latch_free(latch);
    far_end(&far);
}

static void a_wait_survives_what_breaks(void **state)
{
    rig *r = *state;
    open_despite(r, NULL, NULL);
    open_despite(r, "drop push", NULL);
    open_despite(r, "reset", NULL);
    open_despite(r, "halfopen", NULL);
    open_despite(r, "reset before match subscribe", "CLIENT KILL TYPE pubsub");
    open_despite(r, "drop reply 1 match evalsha", NULL);
    open_despite(r, "reset after 3 match evalsha", NULL);
    open_despite(r, NULL, "SCRIPT FLUSH");
    open_despite(r, NULL, "CLIENT KILL TYPE pubsub");
    open_despite(r, NULL, "CLIENT KILL TYPE normal SKIPME yes");
}

/* The opening lies between the first look and the subscription. */
static void an_opening_before_the_subscription_is_seen(void **state)
{
    rig *r = *state;
    far_client far = far_of(r, "between");
    dlock_latch *latch = latch_of(r->client, "between");
    wish w = {.latch = far.latch, .wait = {.wait_ms = DLOCK_FOREVER}};
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    fx_proxy_say(far.proxy, "delay request 200ms 1 match subscribe");
    wish_begin(&w);
    while (fx_proxy_count(far.proxy, "delayed") == 0)
        fx_let_pass(1);
    down(latch, NULL, 0);
    assert_int_equal(wish_end(&w), DLOCK_OK);
    dlock_latch_free(latch);
    far_end(&far);
}

/* Cuts the waiter off while `command` is run, or the latch opened and set anew; it waits for one
 * that is set already, or not yet. */
static dlock_status cut_off_while(rig *r, const char *command, bool is_set)
{
    far_client far = far_of(r, "round");
    dlock_latch *latch = latch_of(r->client, "round");
    wish w = {.latch = far.latch, .wait = {.wait_ms = SOON_MS}};
    rig_ask(r, "DEL %s", "round");
    if (is_set)
        assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    wish_begin(&w);
    until_listened_for(r, "dlock:{round}:open", 1);
    fx_proxy_say(far.proxy, "blackhole");
    if (!is_set)
        assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    for (int i = 0; i < 3; i++) {
        if (command && i == 0)
            fx_redis_do(r->server, command);
        else
            down(latch, NULL, 0);
        assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    }
    fx_proxy_say(far.proxy, "heal");
    dlock_status status = wish_end(&w);
    dlock_latch_free(latch);
    far_end(&far);
    return status;
}

static void who_missed_whole_rounds_is_told_what_became_of_his(void **state)
{
    rig *r = *state;
    assert_int_equal(cut_off_while(r, NULL, true), DLOCK_OK);
    assert_int_equal(cut_off_while(r, NULL, false), DLOCK_OK);
    assert_int_equal(cut_off_while(r, "DEL round", true), DLOCK_EXPIRED);
}

static void a_life_that_is_over_ends_the_wait(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "over");
    wish w = {.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER}};
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    wish_begin(&w);
    until_listened_for(r, "dlock:{over}:open", 1);
    rig_ask(r, "PEXPIRE %s 20", "over");
    assert_int_equal(wish_end(&w), DLOCK_EXPIRED);
    dlock_latch_free(latch);
}

/* ---- a server that goes away ----------------------------------------------------------------- */

static dlock_status over_a_restart(const char *const *args, bool opens)
{
    rig r = {.server = fx_redis_start_single(args)};
    r.redis = rig_redis(fx_redis_url(r.server));
    r.client = rig_client(&(dlock_client_options){.redis = r.redis, .io_ms = IO_MS});
    dlock_latch *latch = latch_of(r.client, "restart");
    wish w = {.latch = latch, .wait = {.wait_ms = DLOCK_FOREVER}};
    assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
    down(latch, "a", 1);
    wish_begin(&w);
    until_listened_for(&r, "dlock:{restart}:open", 1);
    fx_redis_kill(r.server);
    assert_int_equal(dlock_latch_wait(latch, &(dlock_wait){.wait_ms = 50}), DLOCK_UNAVAILABLE);
    fx_redis_restart(r.server);
    for (dlock_status status = DLOCK_UNAVAILABLE; opens && status != DLOCK_OK; fx_let_pass(10)) {
        status = dlock_latch_count_down(latch, "b", NULL);
        assert_true(status == DLOCK_OK || status == DLOCK_UNAVAILABLE || status == DLOCK_UNKNOWN);
    }
    dlock_status status = wish_end(&w);
    dlock_latch_free(latch);
    dlock_client_free(r.client);
    dlock_redis_close(r.redis);
    fx_redis_stop(r.server);
    return status;
}

static void a_restart_loses_a_latch_only_with_its_data(void **state)
{
    (void)state;
    const char *const keeps[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    assert_int_equal(over_a_restart(keeps, true), DLOCK_OK);
    assert_int_equal(over_a_restart(NULL, false), DLOCK_EXPIRED);
}

static void a_silent_server_is_no_answer(void **state)
{
    rig *r = *state;
    far_client far = far_of(r, "silent");
    int64_t left = 7;
    fx_proxy_say(far.proxy, "blackhole");
    dlock_status status = dlock_latch_wait(far.latch, &(dlock_wait){.wait_ms = 50});
    assert_true(status == DLOCK_UNKNOWN || status == DLOCK_UNAVAILABLE);
    status = dlock_latch_left(far.latch, &left);
    assert_true(status == DLOCK_UNKNOWN || status == DLOCK_UNAVAILABLE);
    assert_int_equal(left, 7);
    fx_proxy_say(far.proxy, "down");
    assert_int_not_equal(dlock_latch_wait(far.latch, NULL), DLOCK_BUSY);
    far_end(&far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_user_may_not_do_is_told),
        cmocka_unit_test(one_that_is_not_set_is_waited_for),
        cmocka_unit_test(many_wait_by_one_connection),
        cmocka_unit_test(listening_goes_on_without_the_first),
        cmocka_unit_test(nobody_is_left_behind_in_many_rounds),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_wait_survives_what_breaks),
        cmocka_unit_test(an_opening_before_the_subscription_is_seen),
        cmocka_unit_test(who_missed_whole_rounds_is_told_what_became_of_his),
        cmocka_unit_test(a_life_that_is_over_ends_the_wait),
        cmocka_unit_test(a_restart_loses_a_latch_only_with_its_data),
        cmocka_unit_test(a_silent_server_is_no_answer),
    };
    signal(SIGPIPE, SIG_IGN); /* as programs that use the library must */
    return cmocka_run_group_tests_name("latch opening", tests, rig_setup_single, rig_teardown);
}
