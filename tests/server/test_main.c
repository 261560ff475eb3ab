/* test_main.c - an instance's life: it waits for Redis, joins the current sale, and drains.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

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
        int status = fx_status(mine->server, "POST /buy?item=D1&user=u1");
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
    return fx_status(server, "GET /readyz") == 503;
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
        char connection[32];
        fx_reply reply;
        test_customer customer = {.stop = false};
        customer.server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "600"));
        fx_start_sale(customer.server, "D1", "'stock':1000000,'strategy':'%s'", strategies[i]);
        pthread_create(&customer.thread, NULL, keep_buying, &customer);
        assert_true(fx_wait_until(has_sold_some, &customer, 60000));

        fx_server_signal(customer.server, SIGTERM);
        assert_true(fx_wait_until(is_unready, customer.server, 60000));
        assert_int_equal(fx_ask(customer.server, &reply, "POST /buy?item=D1&user=u1"), 201);
        fx_reply_header(&reply, "Connection", connection, sizeof(connection));
        assert_string_equal(connection, "close");
        fx_reply_free(&reply);
        atomic_store(&customer.stop, true);
        pthread_join(customer.thread, NULL);
        assert_int_equal(atomic_load(&customer.refused), 0);
        assert_int_equal(atomic_load(&customer.unanswered), 0);
        assert_int_equal(fx_server_stop(customer.server), 0); /* the second signal: at once */
    }
}

static bool no_lock_is_left(void *arg)
{
    (void)arg;
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:*:lock");
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
    customer.server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "1"));
    fx_start_sale(customer.server, "D1", "'stock':10,'strategy':'reentrant','hold_ms':3000");
    pthread_create(&customer.thread, NULL, keep_buying, &customer);
    assert_true(fx_wait_until(a_lock_is_held, NULL, 60000));
    atomic_store(&customer.stop, true);
    assert_int_equal(fx_server_stop(customer.server), 0);
    pthread_join(customer.thread, NULL);
    if (atomic_load(&customer.refused) + atomic_load(&customer.unanswered) > 0)
        fail_msg("buyers were left without their orders");
    assert_true(atomic_load(&customer.sold) >= 1);
    assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:{D1}:%s:ledger", fx_current_sale("D1")),
                     atomic_load(&customer.sold));
    assert_true(no_lock_is_left(NULL));
}

/* ---- starts ---------------------------------------------------------------------------------- */

static void a_restart_never_refills_stock(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        bool differs = i == 2;
        fx_server *server =
            fx_server_start(fx_redis_url(fx.redis),
                            FX_ARGS("--item", "R1", "--stock", differs ? "500" : "5", "--strategy",
                                    differs ? "none" : "atomic", "--drain-delay", "0"));
        fx_expect(server, 201, "POST /buy?item=R1&user=u1");
        cJSON *stock = cJSON_Parse(fx_expect(server, 200, "GET /stock?item=R1"));
        assert_int_equal((int)fx_json_number(stock, "remaining"), 4 - i);
        assert_int_equal((int)fx_json_number(stock, "initial"), 5);
        assert_string_equal(fx_json_text(stock, "strategy"), "atomic");
        cJSON_Delete(stock);
        if (differs)
            assert_non_null(strstr(fx_process_stderr(fx_server_process(server)), "option_differs"));
        assert_int_equal(fx_server_stop(server), 0);
    }
}

/* Nobody overlooks an instance whose admin is whoever asks. */
static void the_start_event_tells_who_is_the_admin(void **state)
{
    (void)state;
    static const struct {
        const char *token, *args[3], *level, *admin;
    } cases[] = {
        {NULL, {NULL}, "warn", "open"},
        {"correct-horse", {NULL}, "info", "token"},
        {NULL, {"--require-token", "yes"}, "info", "closed"},
        {NULL, {"--listen", "0.0.0.0:0"}, "info", "closed"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char begins[64], ends[64];
        if (cases[i].token)
            setenv("FLASHSALE_ADMIN_TOKEN", cases[i].token, 1);
        fx_server *server = fx_server_start(fx_redis_url(fx.redis), cases[i].args);
        unsetenv("FLASHSALE_ADMIN_TOKEN");
        snprintf(begins, sizeof(begins), "\"level\":\"%s\",\"event\":\"started\"", cases[i].level);
        snprintf(ends, sizeof(ends), "\"admin\":\"%s\"}\n", cases[i].admin);
        const char *log = fx_process_stderr(fx_server_process(server)), *at = strstr(log, begins);
        if (!at || strncmp(strchr(at, '\n') + 1 - strlen(ends), ends, strlen(ends)) != 0)
            fail_msg("no %s with %s in: %s", begins, ends, log);
        fx_server_kill(server);
    }
}

static bool is_alive(void *url)
{
    fx_reply reply;
    bool alive = fx_http("GET", url, NULL, NULL, 5000, &reply) == 200;
    fx_reply_free(&reply);
    return alive;
}

static void a_signal_ends_the_wait_for_the_first_redis(void **state)
{
    (void)state;
    char program[512], listen[64], dead[64], url[128];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", fx_free_port());
    snprintf(url, sizeof(url), "http://%s/livez", listen);
    snprintf(dead, sizeof(dead), "redis://127.0.0.1:%d", fx_free_port());
    fx_build_path("flashsale", program, sizeof(program));
    fx_process *process = fx_spawn(
        FX_ARGS(program, "--listen", listen, "--redis", dead, "--item=W1", "--stock=1"), true);
    assert_true(fx_wait_until(is_alive, url, 60000));
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, 20000), 0); /* by itself it gives up after 30 s */
    fx_process_free(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_draining_instance_sells_on_and_ends_with_exit_0),
        cmocka_unit_test(what_is_in_flight_ends_before_the_exit),
        cmocka_unit_test(a_restart_never_refills_stock),
        cmocka_unit_test(the_start_event_tells_who_is_the_admin),
        cmocka_unit_test(a_signal_ends_the_wait_for_the_first_redis),
    };
    return fx_run(tests, .instances = 0);
}
