/* test_node.c - each server's own clock, troubles and outage, and which one a key is about. */

#include "server/store/store.h"
#include "tests/support/fixture.h"

static fs_store store;
static fx_redis *redis;

static int setup(void **state)
{
    char err[256];
    (void)state;
    redis = fx_redis_start_single(NULL);
    assert_int_equal(store_open(&store, fx_redis_url(redis), NULL, "i", err, sizeof(err)), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_close(&store);
    fx_redis_stop(redis);
    return 0;
}

static void one_server_has_all_keys(void **state)
{
    (void)state;
    assert_ptr_equal(store_node(&store, "fs:{A}:sale"), store_node_at(&store, 0));
    assert_ptr_equal(store_node(&store, ""), store_node_at(&store, 0));
    assert_int_equal(store_node_at(&store, 0)->server, 0);
    assert_true(store_serves(&store, 0));
}

static void a_server_that_nobody_has_looked_at_has_every_trouble(void **state)
{
    (void)state;
    for (int server = -1; server < DLOCK_SERVERS_MAX; server++) {
        fs_node *node = store_node_at(&store, server);
        assert_int_equal(node->server, server);
        assert_false(node_reachable(node));
        assert_non_null(node_outage_cancel(node));
        for (store_trouble t = TROUBLE_SILENT; t < TROUBLES; t++)
            assert_true(health_has(&node->health, t));
    }
}

/* The one that answers gets a new cancellation for its next outage; of the other the waits end. */
static void a_silent_server_ends_no_wait_on_another(void **state)
{
    (void)state;
    int64_t now_us;
    fs_node dead;
    dlock_redis *nobody;
    char err[256], url[64];
    fs_node *well = store_node_at(&store, 0);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", fx_free_port());
    dlock_redis_options options = {.url = url};
    assert_int_equal(dlock_redis_open(&options, &nobody, err, sizeof(err)), 0);
    assert_true(node_init(&dead, 0));
    dlock_cancel *of_dead = node_outage_cancel(&dead);

    node_note_pause(well, NULL);
    node_sync_clock(well, store.redis);
    dlock_cancel *of_well = node_outage_cancel(well);
    node_sync_clock(&dead, nobody);
    node_sync_clock(well, store.redis);
    assert_true(node_reachable(well));
    assert_false(node_reachable(&dead));
    assert_ptr_equal(node_outage_cancel(&dead), of_dead);
    assert_ptr_equal(node_outage_cancel(well), of_well);

    dlock_hold *hold, *second;
    dlock_lock *lock;
    dlock_options once = {.not_reentrant = true};
    dlock_wait wait = {.wait_ms = 100, .cancel = of_well};
    assert_int_equal(dlock_lock_new(store.locks, "{a}:lock", &once, &lock, err, sizeof(err)),
                     DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &wait, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &wait, &second), DLOCK_BUSY);
    wait = (dlock_wait){.wait_ms = 60000, .cancel = of_dead};
    assert_int_equal(dlock_acquire(lock, &wait, &second), DLOCK_CANCELLED);
    dlock_release(hold);
    dlock_lock_free(lock);

    assert_true(store_time(&store, "fs:{A}:sale", dlock_in_ms(5000), &now_us));
    assert_true(node_redis_us(well, dlock_now()) + CLOCK_ROUND_MAX_US >= now_us);
    node_free(&dead);
    dlock_redis_close(nobody);
}

/* Silence and a pause are one outage where they overlap: the next cancellation comes when both are
 * over. */
static void a_wait_ends_where_no_writes_are_taken(void **state)
{
    (void)state;
    store_complaint why;
    fs_node *node = store_node_at(&store, 0);
    complain(&why, NULL);
    node_note_pause(node, NULL);
    node_sync_clock(node, store.redis);
    assert_true(node_takes_writes(node));
    dlock_cancel *before = node_outage_cancel(node);
    dlock_wait wait = {.wait_ms = 60000, .cancel = before};

    node_note_pause(node, &why);
    assert_true(node_reachable(node));
    assert_false(node_takes_writes(node));
    node_sync_clock(node, store.redis); /* that it answers ends no pause */
    assert_ptr_equal(node_outage_cancel(node), before);

    dlock_hold *hold, *second;
    dlock_lock *lock;
    char err[256];
    dlock_options once = {.not_reentrant = true};
    assert_int_equal(dlock_lock_new(store.locks, "{p}:lock", &once, &lock, err, sizeof(err)),
                     DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 100}, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &wait, &second), DLOCK_CANCELLED);
    dlock_release(hold);
    dlock_lock_free(lock);

    node_note_pause(node, NULL);
    assert_true(node_takes_writes(node));
    assert_ptr_not_equal(node_outage_cancel(node), before);
}

/* Its run was admitted, and is not any more; any other may be looked at. */
static void a_server_that_was_left_is_as_one_never_met(void **state)
{
    (void)state;
    fs_node *node = store_node_at(&store, 0);
    node_sync_clock(node, store.redis);
    assert_true(node_reachable(node));
    server_run_guard(&node->run);
    server_run_look_at(&node->run, "one");
    server_run_admit(&node->run, "one");
    assert_false(server_run_looks_at(&node->run, "two"));
    dlock_cancel *before = node_outage_cancel(node);

    node_forget(node);
    assert_false(node_reachable(node));
    assert_false(server_run_admits(&node->run, "one"));
    assert_true(server_run_looks_at(&node->run, "two"));
    assert_null(node->clock_conn);
    assert_ptr_equal(node_outage_cancel(node), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_server_has_all_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_nobody_has_looked_at_has_every_trouble, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_silent_server_ends_no_wait_on_another, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wait_ends_where_no_writes_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_was_left_is_as_one_never_met, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
