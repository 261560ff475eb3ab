/* Pooled connections to servers that the test itself routes keys to, as the map of a cluster would;
 * and what the answers on them show. */
#include "tests/lock/rig.h"

#include "lock/redis/conn.h"
#include "lock/redis/pool.h"
#include "tests/lock/redis/blind_finder.h"

#define SECRET "s3cret"

enum { SERVERS = 2, SOON_MS = 20000 };

static fx_redis *servers[SERVERS];

/* ---- helpers --------------------------------------------------------------------------------- */

static void route_all_to(topology *t, int server)
{
    int16_t slots[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        slots[i] = (int16_t)server;
    dlock_topology_set_slots(t, slots);
}

/* The pools of a "cluster" whose server 0 has all the keys. */
static dlock_redis *open_pools(void)
{
    address url = {.kind = ADDRESS_CLUSTER, .user = "pool", .password = SECRET};
    topology *t = dlock_topology_new(&url, NULL, &blind);
    assert_non_null(t);
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(dlock_topology_number(t, "127.0.0.1", fx_redis_port(servers[i])), i);
    route_all_to(t, 0);
    dlock_redis *redis = dlock_pool_new(t, &(dlock_redis_options){.name = "pooled"});
    assert_non_null(redis);
    return redis;
}

static dlock_redis_outcome say(dlock_redis *redis, const char *word, const char *more)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, word);
    dlock_args_text(&args, more);
    dlock_redis_outcome outcome =
        dlock_redis_command(redis, "k", &args, dlock_in_ms(SOON_MS), NULL);
    dlock_args_free(&args);
    return outcome;
}

static int pooled_at(int server)
{
    char list[4096];
    assert_true(fx_redis_text(servers[server], list, sizeof(list), "CLIENT LIST TYPE normal"));
    int n = 0;
    for (const char *at = list; (at = strstr(at, "name=pooled")); at++)
        n++;
    return n;
}

static int setup_all(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        fx_redis_do(servers[i], "ACL SETUSER pool on >" SECRET " ~* &* +@all");
    }
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++)
        fx_redis_stop(servers[i]);
    return 0;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static bool has_left_server_0(void *arg)
{
    assert_int_equal(say(arg, "GET", "k"), DLOCK_REDIS_OK);
    return pooled_at(0) == 0;
}

static void a_server_that_is_left_keeps_no_idle_connection(void **state)
{
    (void)state;
    dlock_redis *redis = open_pools();
    assert_int_equal(say(redis, "GET", "k"), DLOCK_REDIS_OK);
    assert_int_equal(pooled_at(0), 1);
    route_all_to(redis->topology, 1);
    assert_true(fx_wait_until(has_left_server_0, redis, SOON_MS));
    assert_int_equal(pooled_at(1), 1);
    route_all_to(redis->topology, 0); /* its places are free again */
    for (int i = 0; i < 2 * DLOCK_POOL_MAX; i++)
        assert_int_equal(say(redis, "GET", "k"), DLOCK_REDIS_OK);
    dlock_pool_free(redis);
}

static void there_are_no_servers_beyond_the_numbers(void **state)
{
    (void)state;
    static const int numbers[] = {-1, -1000000, DLOCK_SERVERS_MAX, 1000000};
    dlock_redis *redis = open_pools();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        dlock_redis_conn *conn;
        assert_int_equal(dlock_redis_dial_server(redis, numbers[i], dlock_in_ms(SOON_MS), &conn),
                         DLOCK_REDIS_NOT_SENT);
        assert_null(conn);
    }
    dlock_pool_free(redis);
}

/* The server echoes what it does not know. */
static void an_error_shows_no_password(void **state)
{
    (void)state;
    char error[ERROR_LEN];
    dlock_redis *redis = open_pools();
    assert_int_not_equal(say(redis, "MEMORY", "x" SECRET "y"), DLOCK_REDIS_OK);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (strstr(error, SECRET) || !strstr(error, "'x***y'"))
        fail_msg("%s", error);
    dlock_pool_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_left_keeps_no_idle_connection),
        cmocka_unit_test(there_are_no_servers_beyond_the_numbers),
        cmocka_unit_test(an_error_shows_no_password),
    };
    return cmocka_run_group_tests_name("pool", tests, setup_all, teardown_all);
}
