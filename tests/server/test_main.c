/* test_main.c - what an operator relies on: draining, restarts, tokens, limits, metrics. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/site.h"

static fx_redis *redis;

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_redis_stop(redis);
    return 0;
}

static int ask(fx_server *server, const char *method, const char *path, const char *token,
               const char *body, fx_reply *reply)
{
    char url[512], header[300];
    const char *headers[] = {header, NULL};
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    snprintf(header, sizeof(header), "Authorization: Bearer %s", token != NULL ? token : "");
    return fx_http(method, url, token != NULL ? headers : NULL, body, 15000, reply);
}

static int status_of(fx_server *server, const char *method, const char *path, const char *token,
                     const char *body)
{
    fx_reply reply;
    int status = ask(server, method, path, token, body, &reply);
    fx_reply_free(&reply);
    return status;
}

/* ---- draining -------------------------------------------------------------------------------- */

typedef struct test_customer {
    fx_server *server;
    atomic_bool stop;
    atomic_int sold, refused, unanswered;
    pthread_t thread;
} test_customer;

static void *keep_buying(void *arg)
{
    test_customer *mine = arg;
    while (!atomic_load(&mine->stop)) {
        int status = status_of(mine->server, "POST", "/buy?item=D1&user=u1", NULL, NULL);
        if (status == 201)
            atomic_fetch_add(&mine->sold, 1);
        else if (status == 503)
            atomic_fetch_add(&mine->refused, 1);
        else
            atomic_fetch_add(&mine->unanswered, 1);
        if (status != 201)
            return NULL;
    }
    return NULL;
}

static bool is_unready(void *server)
{
    return status_of(server, "GET", "/readyz", NULL, NULL) == 503;
}

static bool has_sold_some(void *arg)
{
    return atomic_load(&((test_customer *)arg)->sold) > 20;
}

static void a_draining_instance_sells_on_and_ends_with_exit_0(void **state)
{
    (void)state;
    static const char *const strategies[] = {"combined", "reentrant"};
    for (int i = 0; i < 2; i++) {
        char sale[128], connection[32];
        fx_reply reply;
        test_customer customer = {.stop = false};
        const char *const args[] = {"--drain-delay", "1", NULL};
        customer.server = fx_server_start(fx_redis_url(redis), args);
        snprintf(sale, sizeof(sale), "{\"item\":\"D1\",\"stock\":1000000,\"strategy\":\"%s\"}",
                 strategies[i]);
        assert_int_equal(status_of(customer.server, "POST", "/sales", NULL, sale), 201);
        pthread_create(&customer.thread, NULL, keep_buying, &customer);
        assert_true(fx_wait_until(has_sold_some, &customer, 5000));

        fx_server_signal(customer.server, SIGTERM);
        assert_true(fx_wait_until(is_unready, customer.server, 900));
        assert_int_equal(ask(customer.server, "POST", "/buy?item=D1&user=u1", NULL, NULL, &reply),
                         201);
        fx_reply_header(&reply, "Connection", connection, sizeof(connection));
        assert_string_equal(connection, "close");
        fx_reply_free(&reply);
        atomic_store(&customer.stop, true);
        pthread_join(customer.thread, NULL);
        assert_int_equal(atomic_load(&customer.refused), 0);
        assert_int_equal(atomic_load(&customer.unanswered), 0);
        assert_int_equal(fx_server_stop(customer.server), 0);
    }
}

static bool no_lock_is_left(void *arg)
{
    (void)arg;
    redisReply *keys = redisCommand(fx_redis_ctx(redis), "KEYS *:lock");
    bool none = keys != NULL && keys->elements == 0;
    freeReplyObject(keys);
    return none;
}

static bool a_lock_is_held(void *arg)
{
    return !no_lock_is_left(arg);
}

static void what_is_in_flight_ends_before_the_exit(void **state)
{
    (void)state;
    test_customer customer = {.stop = false};
    const char *const args[] = {"--drain-delay", "0", NULL};
    customer.server = fx_server_start(fx_redis_url(redis), args);
    assert_int_equal(
        status_of(customer.server, "POST", "/sales", NULL,
                  "{\"item\":\"D1\",\"stock\":10,\"strategy\":\"reentrant\",\"hold_ms\":800}"),
        201);
    pthread_create(&customer.thread, NULL, keep_buying, &customer);
    assert_true(fx_wait_until(a_lock_is_held, NULL, 10000));
    atomic_store(&customer.stop, true);
    assert_int_equal(fx_server_stop(customer.server), 0);
    pthread_join(customer.thread, NULL);
    assert_int_equal(atomic_load(&customer.sold), 1);
    assert_true(no_lock_is_left(NULL));
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void a_restart_never_refills_stock(void **state)
{
    (void)state;
    const char *const args[] = {"--item",        "R1", "--stock", "5", "--strategy", "atomic",
                                "--drain-delay", "0",  NULL};
    const char *const other[] = {"--item",        "R1", "--stock", "500", "--strategy", "none",
                                 "--drain-delay", "0",  NULL};
    for (int i = 0; i < 3; i++) {
        fx_reply reply;
        fx_server *server = fx_server_start(fx_redis_url(redis), i < 2 ? args : other);
        assert_int_equal(status_of(server, "POST", "/buy?item=R1&user=u1", NULL, NULL), 201);
        ask(server, "GET", "/stock?item=R1", NULL, NULL, &reply);
        cJSON *stock = fx_reply_json(&reply);
        assert_int_equal((int)fx_json_number(stock, "remaining"), 4 - i);
        assert_int_equal((int)fx_json_number(stock, "initial"), 5);
        assert_string_equal(fx_json_text(stock, "strategy"), "atomic");
        cJSON_Delete(stock);
        fx_reply_free(&reply);
        if (i == 2)
            assert_non_null(strstr(fx_process_stderr(fx_server_process(server)), "option_differs"));
        assert_int_equal(fx_server_stop(server), 0);
    }
}

/* ---- who may --------------------------------------------------------------------------------- */

static const char sale[] = "{\"item\":\"T1\",\"stock\":5,\"strategy\":\"atomic\"}";

static void sales_need_the_token_where_there_is_one(void **state)
{
    (void)state;
    setenv("FLASHSALE_ADMIN_TOKEN", "open-sesame", 1);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    assert_int_equal(status_of(server, "POST", "/sales", NULL, sale), 401);
    assert_int_equal(status_of(server, "POST", "/sales", "wrong", sale), 403);
    assert_int_equal(status_of(server, "GET", "/locks", NULL, NULL), 401);
    assert_int_equal(status_of(server, "POST", "/sales", "open-sesame", sale), 201);
    assert_int_equal(status_of(server, "GET", "/locks", "open-sesame", NULL), 200);
    assert_int_equal(status_of(server, "GET", "/stock?item=T1", NULL, NULL), 200);
    assert_null(strstr(fx_process_stderr(fx_server_process(server)), "open-sesame"));
    fx_server_kill(server);
}

static void without_a_token_only_loopback_is_open(void **state)
{
    (void)state;
    char program[512], line[128], url[128];
    const char *const argv[] = {fx_build_path("flashsale", program, sizeof(program)),
                                "--listen",
                                "0.0.0.0:0",
                                "--redis",
                                fx_redis_url(redis),
                                NULL};
    fx_process *server = fx_spawn(argv, true);
    assert_true(fx_process_first_line(server, line, sizeof(line), 5000));
    snprintf(url, sizeof(url), "http://127.0.0.1%s/sales", strrchr(line, ':'));
    fx_reply reply;
    assert_int_equal(fx_http("POST", url, NULL, sale, 5000, &reply), 403);
    assert_non_null(strstr(reply.body, "admin_disabled"));
    fx_reply_free(&reply);
    fx_process_free(server);
}

static void a_user_in_a_hurry_is_slowed_down(void **state)
{
    (void)state;
    const char *const args[] = {"--rate-user", "1", "--rate-burst", "3", NULL};
    fx_server *server = fx_server_start(fx_redis_url(redis), args);
    assert_int_equal(status_of(server, "POST", "/sales", NULL, sale), 201);
    int sold = 0, limited = 0;
    for (int i = 0; i < 6; i++) {
        char wait[16];
        fx_reply reply;
        int status = ask(server, "POST", "/buy?item=T1&user=quick", NULL, NULL, &reply);
        sold += status == 201;
        limited += status == 429;
        if (status == 429) {
            fx_reply_header(&reply, "Retry-After", wait, sizeof(wait));
            assert_in_range((int)strtol(wait, NULL, 10), 1, 3);
        }
        fx_reply_free(&reply);
    }
    assert_int_equal(sold + limited, 6);
    assert_in_range(sold, 3, 4);
    assert_int_equal(status_of(server, "POST", "/buy?item=T1&user=slow", NULL, NULL), 201);
    fx_server_kill(server);
}

/* ---- what it says of itself ------------------------------------------------------------------ */

static void metrics_are_as_prometheus_wants_them(void **state)
{
    (void)state;
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    assert_int_equal(status_of(server, "POST", "/sales", NULL,
                               "{\"item\":\"T1\",\"stock\":1,\"strategy\":\"combined\"}"),
                     201);
    assert_int_equal(status_of(server, "POST", "/buy?item=T1&user=u1", NULL, NULL), 201);
    assert_int_equal(status_of(server, "POST", "/buy?item=T1&user=u1", NULL, NULL), 409);
    fx_reply reply;
    assert_int_equal(ask(server, "GET", "/metrics", NULL, NULL, &reply), 200);
    assert_non_null(
        strstr(reply.body, "flashsale_buy_duration_seconds_count{outcome=\"sold\"} 1\n"));
    assert_non_null(
        strstr(reply.body, "flashsale_buy_duration_seconds_count{outcome=\"sold_out\"} 1\n"));
    assert_non_null(strstr(reply.body, "flashsale_buy_duration_seconds_bucket{outcome=\"sold\","
                                       "le=\"0.0005\"}"));
    assert_non_null(strstr(reply.body, "flashsale_lock_acquired_total "));
    fx_reply_free(&reply);

    if (fx_shell("command -v promtool >/dev/null", "", 5000) != 0)
        fx_skip("no promtool here; the names were checked, its lint was not");
    assert_int_equal(
        fx_shell("curl -sf \"$1/metrics\" | promtool check metrics", fx_server_url(server), 10000),
        0);
    fx_server_kill(server);
}

static void *buy_slowly(void *arg)
{
    test_customer *mine = arg;
    mine->sold = status_of(mine->server, "POST", "/buy?item=L1&user=u1", NULL, NULL) == 201;
    return NULL;
}

static void locks_are_listed(void **state)
{
    (void)state;
    fx_reply reply;
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    assert_int_equal(
        status_of(server, "POST", "/sales", NULL,
                  "{\"item\":\"L1\",\"stock\":5,\"strategy\":\"fair\",\"hold_ms\":700}"),
        201);
    test_customer customer = {.server = server};
    pthread_create(&customer.thread, NULL, buy_slowly, &customer);
    bool held = false;
    for (int i = 0; i < 500 && !held; i++) {
        assert_int_equal(ask(server, "GET", "/locks", NULL, NULL, &reply), 200);
        cJSON_Delete(fx_reply_json(&reply));
        held = strstr(reply.body, "\"item\":\"L1\"") != NULL &&
               strstr(reply.body, "\"held\":true") != NULL;
        fx_reply_free(&reply);
    }
    assert_true(held);
    pthread_join(customer.thread, NULL);
    assert_int_equal(atomic_load(&customer.sold), 1);
    fx_server_kill(server);
}

static void disk_is_promised_only_where_it_is_kept(void **state)
{
    (void)state;
    const char *body =
        "{\"item\":\"K1\",\"stock\":5,\"strategy\":\"combined\",\"durability\":\"disk\"}";
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    assert_int_equal(status_of(server, "POST", "/sales", NULL, body), 409);
    assert_int_equal(status_of(server, "GET", "/stock?item=K1", NULL, NULL), 404);
    fx_server_kill(server);

    fx_redis *durable = fx_redis_start(
        (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
    server = fx_server_start(fx_redis_url(durable), NULL);
    assert_int_equal(status_of(server, "POST", "/sales", NULL, body), 201);
    assert_int_equal(status_of(server, "POST", "/buy?item=K1&user=u1", NULL, NULL), 201);
    fx_server_kill(server);
    fx_redis_stop(durable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_draining_instance_sells_on_and_ends_with_exit_0),
        cmocka_unit_test(what_is_in_flight_ends_before_the_exit),
        cmocka_unit_test(a_restart_never_refills_stock),
        cmocka_unit_test(sales_need_the_token_where_there_is_one),
        cmocka_unit_test(without_a_token_only_loopback_is_open),
        cmocka_unit_test(a_user_in_a_hurry_is_slowed_down),
        cmocka_unit_test(metrics_are_as_prometheus_wants_them),
        cmocka_unit_test(locks_are_listed),
        cmocka_unit_test(disk_is_promised_only_where_it_is_kept),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
