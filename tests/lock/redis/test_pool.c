/* Pooled connections to servers that the test itself routes keys to, as the map of a cluster would;
 * and what the answers on them show. */
#include "tests/lock/rig.h"

#include "lock/redis/conn.h"
#include "lock/redis/pool.h"
#include "tests/lock/redis/blind_finder.h"

#include <pthread.h>

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
    char list[32768];
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

typedef struct pooled {
    int server, wanted;
} pooled;

static bool are_pooled(void *arg)
{
    const pooled *p = arg;
    return pooled_at(p->server) == p->wanted;
}

/* The server learns of a connection's end a little later. */
static void until_pooled(int server, int wanted)
{
    assert_true(fx_wait_until(are_pooled, &(pooled){server, wanted}, SOON_MS));
}

/* A pool of so many connections to server 0; 0: the default. */
static dlock_redis *open_pool(int pool_max)
{
    char err[256];
    dlock_redis *redis;
    dlock_redis_options options = {
        .url = fx_redis_url(servers[0]), .pool_max = pool_max, .name = "pooled"};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    return redis;
}

static dlock_redis_conn *borrow(dlock_redis *redis)
{
    dlock_redis_conn *conn;
    assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    return conn;
}

static void is_used_up(dlock_redis *redis)
{
    enum { SHORT_MS = 30 };
    char error[ERROR_LEN];
    dlock_redis_conn *none;
    dlock_time start = dlock_now();
    assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SHORT_MS), &none),
                     DLOCK_REDIS_NOT_SENT);
    assert_true(dlock_now().us - start.us >= SHORT_MS * 1000);
    dlock_redis_last_error(redis, error, sizeof(error));
    assert_non_null(strstr(error, "no connection of the pool became free in time"));
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_pool_has_so_many_connections(void **state)
{
    (void)state;
    static const struct {
        int pool_max, most;
    } table[] = {{1, 1}, {2, 2}, {DLOCK_POOL_MAX, DLOCK_POOL_MAX}, {0, DLOCK_POOL_MAX}};
    for (size_t i = 0; i < COUNT(table); i++) {
        dlock_redis_conn *lent[DLOCK_POOL_MAX], *again;
        dlock_redis *redis = open_pool(table[i].pool_max);
        for (int n = 0; n < table[i].most; n++)
            lent[n] = borrow(redis);
        is_used_up(redis);
        until_pooled(0, table[i].most);
        dlock_pool_return(redis, lent[0]);
        again = borrow(redis);
        assert_ptr_equal(again, lent[0]); /* warm ones first */
        is_used_up(redis);
        for (int n = 0; n < table[i].most; n++)
            dlock_pool_return(redis, lent[n]);
        for (int n = table[i].most - 1; n >= 0; n--) { /* the last one returned is lent first */
            again = borrow(redis);
            assert_ptr_equal(again, lent[n]);
        }
        is_used_up(redis);
        for (int n = 0; n < table[i].most; n++)
            dlock_pool_return(redis, lent[n]);
        dlock_redis_close(redis);
    }
}

static void other_limits_are_refused(void **state)
{
    (void)state;
    static const struct {
        int pool_max;
        int64_t connect_ms;
        int rc;
    } table[] = {{-1, 0, -1}, {DLOCK_POOL_MAX + 1, 0, -1}, {0, -1, -1}, {DLOCK_POOL_MAX, 1, 0}};
    for (size_t i = 0; i < COUNT(table); i++) {
        char err[256] = "";
        dlock_redis *redis = NULL;
        dlock_redis_options options = {.url = fx_redis_url(servers[0]),
                                       .pool_max = table[i].pool_max,
                                       .connect_ms = table[i].connect_ms};
        assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), table[i].rc);
        assert_int_equal(strstr(err, "pool_max must be 1..32") != NULL, table[i].rc != 0);
        dlock_redis_close(redis);
    }
}

typedef struct borrower {
    dlock_redis *redis;
    dlock_redis_conn *conn;
    dlock_redis_outcome outcome;
} borrower;

static void *borrow_aside(void *arg)
{
    borrower *b = arg;
    b->outcome = dlock_pool_borrow(b->redis, 0, dlock_in_ms(SOON_MS), &b->conn);
    return NULL;
}

/* Whether what comes back is as good as new, or broken: whoever waits for its place goes on. */
static void whoever_waits_gets_the_place_that_comes_back(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        dlock_redis *redis = open_pool(1);
        dlock_redis_conn *lent = borrow(redis);
        int fd = dlock_redis_fd(lent);
        borrower b = {.redis = redis};
        pthread_t thread;
        dlock_time start = dlock_now();
        pthread_create(&thread, NULL, borrow_aside, &b);
        fx_let_pass(50);
        lent->broken = broken;
        dlock_pool_return(redis, lent);
        pthread_join(thread, NULL);
        assert_int_equal(b.outcome, DLOCK_REDIS_OK);
        assert_true(dlock_now().us - start.us < SOON_MS * 1000 / 2);
        assert_true(broken || dlock_redis_fd(b.conn) == fd);
        assert_false(dlock_redis_broken(b.conn));
        dlock_pool_return(redis, b.conn);
        dlock_redis_close(redis);
    }
}

/* ---- what is not lent ------------------------------------------------------------------------ */

static bool is_hung_up_on(void *conn)
{
    return dlock_redis_wait(conn, dlock_in_ms(0));
}

/* Closed by the server while they were idle: each is noticed, and leaves no descriptor. */
static void dead_connections_are_not_lent(void **state)
{
    (void)state;
    enum { CONNS = 3 };
    dlock_redis *redis = open_pool(CONNS);
    dlock_redis_conn *conns[CONNS];
    for (int i = 0; i < CONNS; i++)
        conns[i] = borrow(redis);
    for (int i = 0; i < CONNS; i++)
        dlock_pool_return(redis, conns[i]);
    until_pooled(0, CONNS);
    int before = fx_descriptors_open();
    assert_int_equal(fx_redis_number(servers[0], "CLIENT KILL TYPE normal SKIPME yes"), CONNS);
    for (int i = 0; i < CONNS; i++)
        assert_true(fx_wait_until(is_hung_up_on, conns[i], SOON_MS));
    for (int i = 0; i < 2 * CONNS; i++)
        assert_int_equal(say(redis, "GET", "k"), DLOCK_REDIS_OK);
    until_pooled(0, 1);
    assert_int_equal(fx_descriptors_open(), before - CONNS + 1);
    for (int i = 0; i < CONNS; i++) /* their places are free again */
        conns[i] = borrow(redis);
    is_used_up(redis);
    for (int i = 0; i < CONNS; i++)
        dlock_pool_return(redis, conns[i]);
    dlock_redis_close(redis);
    assert_int_equal(fx_descriptors_open(), before - CONNS);
}

/* A connect that fails takes no place. */
static void failed_connects_use_up_no_place(void **state)
{
    (void)state;
    enum { CONNS = 2 };
    char url[64];
    char err[256];
    dlock_redis *redis;
    dlock_redis_conn *conns[CONNS];
    snprintf(url, sizeof(url), "redis://later:" SECRET "@127.0.0.1:%d", fx_redis_port(servers[0]));
    dlock_redis_options options = {.url = url, .pool_max = CONNS};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    for (int i = 0; i < 3 * CONNS; i++) {
        redis->links[0].retry_at = (dlock_time){0};
        assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SOON_MS), &conns[0]),
                         DLOCK_REDIS_NOT_SENT);
    }
    fx_redis_do(servers[0], "ACL SETUSER later on >" SECRET " ~* &* +@all");
    redis->links[0].retry_at = (dlock_time){0};
    for (int i = 0; i < CONNS; i++)
        conns[i] = borrow(redis);
    is_used_up(redis);
    for (int i = 0; i < CONNS; i++)
        dlock_pool_return(redis, conns[i]);
    dlock_redis_close(redis);
}

static atomic_bool admitted;

static bool admit(void *arg, int server, const char *run_id)
{
    (void)arg, (void)server;
    return atomic_load(&admitted) && run_id[0] != '\0';
}

/* Idle ones at once, and those that are lent when they are used or come back. */
static void what_is_not_admitted_any_more_is_closed(void **state)
{
    (void)state;
    char err[256];
    dlock_redis *redis;
    dlock_redis_options options = {
        .url = fx_redis_url(servers[0]), .name = "pooled", .admit = admit};
    atomic_store(&admitted, true);
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    dlock_redis_conn *idle = borrow(redis), *lent = borrow(redis);
    dlock_pool_return(redis, idle);
    dlock_redis_readmit(redis); /* it still is */
    until_pooled(0, 2);
    assert_false(dlock_redis_broken(lent));
    atomic_store(&admitted, false);
    dlock_redis_readmit(redis);
    until_pooled(0, 1);
    assert_true(dlock_redis_broken(lent));
    dlock_pool_return(redis, lent);
    until_pooled(0, 0);
    dlock_redis_close(redis);
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
    assert_true(dlock_topology_serves(redis->topology, 0));
    assert_false(dlock_topology_serves(redis->topology, 1));
    assert_false(dlock_topology_serves(redis->topology, -1));
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

static void queue(dlock_redis_conn *conn, const char *word)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, word);
    dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

static void hear(dlock_redis_conn *conn, const char *answer)
{
    redisReply *reply = NULL;
    assert_true(dlock_redis_answers(conn, dlock_in_ms(SOON_MS), 1, &reply));
    assert_string_equal(reply->str, answer);
    freeReplyObject(reply);
}

/* It is the pool's only one. */
static void one_that_is_lent_comes_back_clean_or_is_closed(void **state)
{
    (void)state;
    dlock_redis *redis = open_pool(1);
    dlock_redis_conn *first, *second, *third;
    assert_int_equal(dlock_redis_lend(redis, "k", dlock_in_ms(SOON_MS), &first), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_lend(redis, "k", dlock_in_ms(0), &second), DLOCK_REDIS_NOT_SENT);
    dlock_redis_give_back(first);
    assert_int_equal(dlock_redis_lend(redis, "k", dlock_in_ms(SOON_MS), &second), DLOCK_REDIS_OK);
    assert_ptr_equal(second, first);
    queue(second, "MULTI");
    hear(second, "OK");
    queue(second, "EXEC"); /* and it is not sent */
    dlock_redis_give_back(second);
    assert_int_equal(dlock_redis_lend(redis, "k", dlock_in_ms(SOON_MS), &third), DLOCK_REDIS_OK);
    queue(third, "PING");
    hear(third, "PONG");
    dlock_redis_give_back(third);
    dlock_redis_close(redis);
}

static void there_are_no_servers_beyond_the_numbers(void **state)
{
    (void)state;
    static const int numbers[] = {-1, -1000000, DLOCK_SERVERS_MAX, 1000000};
    dlock_redis *redis = open_pools();
    for (size_t i = 0; i < COUNT(numbers); i++) {
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
        cmocka_unit_test(a_pool_has_so_many_connections),
        cmocka_unit_test(other_limits_are_refused),
        cmocka_unit_test(whoever_waits_gets_the_place_that_comes_back),
        cmocka_unit_test(dead_connections_are_not_lent),
        cmocka_unit_test(failed_connects_use_up_no_place),
        cmocka_unit_test(what_is_not_admitted_any_more_is_closed),
        cmocka_unit_test(a_server_that_is_left_keeps_no_idle_connection),
        cmocka_unit_test(one_that_is_lent_comes_back_clean_or_is_closed),
        cmocka_unit_test(there_are_no_servers_beyond_the_numbers),
        cmocka_unit_test(an_error_shows_no_password),
    };
    return cmocka_run_group_tests_name("pool", tests, setup_all, teardown_all);
}
