/*
 * test_slow.c - slow clients straight at an instance, without a proxy: they may occupy all its
 * threads, but not for long; and who finds no thread free is told so.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/site.h"

enum {
    THREADS = 96,
    RESERVE = 16, /* threads that only say "no thread free" */
    LIMIT_MS = 5000,
    SLOW = THREADS + 20
};

static fx_redis *redis;
static fx_server *server;

static int setup(void **state)
{
    (void)state;
    char threads[16];
    snprintf(threads, sizeof(threads), "%d", THREADS);
    redis = fx_redis_start(NULL);
    server = fx_server_start(
        fx_redis_url(redis),
        (const char *const[]){"--threads", threads, "--item", "P0001", "--stock", "1000", NULL});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(server);
    fx_redis_stop(redis);
    return 0;
}

static int status_of_stock(int timeout_ms, fx_reply *ret)
{
    char url[128];
    snprintf(url, sizeof(url), "%s/stock?item=P0001", fx_server_url(server));
    return fx_http("GET", url, NULL, NULL, timeout_ms, ret);
}

static const char head[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
static const char body[] = "POST /buy?item=P0001&user=slow HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Length: 400\r\n\r\n";

static void threads_are_freed_within_twice_the_limit(void **state)
{
    (void)state;
    int fd[SLOW];
    for (int i = 0; i < SLOW; i++) {
        const char *bytes = i % 2 ? head : body;
        fd[i] = fx_raw_connect(fx_server_port(server), NULL);
        assert_true(fd[i] >= 0);
        assert_true(fx_raw_send(fd[i], bytes, strlen(bytes)));
    }
    fx_reply reply;
    int status = status_of_stock(2 * LIMIT_MS, &reply);
    if (status != 200 && status != 503)
        fail_msg("no answer within %d ms: %s", 2 * LIMIT_MS, reply.error);
    fx_reply_free(&reply);
    for (int i = 0; i < SLOW; i++) {
        char answer[1024];
        bool closed;
        fx_raw_read(fd[i], answer, sizeof(answer), 2 * LIMIT_MS, &closed);
        assert_true(closed);
        close(fd[i]);
    }
    assert_int_equal(status_of_stock(1000, &reply), 200);
    fx_reply_free(&reply);
}

static void who_finds_no_thread_free_is_told(void **state)
{
    (void)state;
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd[THREADS - RESERVE], kept = THREADS - RESERVE;
    for (int i = 0; i < kept; i++) { /* kept alive, idle */
        char answer[1024] = "";
        fd[i] = fx_raw_connect(fx_server_port(server), NULL);
        assert_true(fx_raw_send(fd[i], request, strlen(request)));
        for (int tries = 0; tries < 100 && strstr(answer, "alive\n") == NULL; tries++) {
            size_t have = strlen(answer);
            fx_raw_read(fd[i], answer + have, sizeof(answer) - have, 50, NULL);
        }
        assert_memory_equal(answer, "HTTP/1.1 200", 12);
    }
    fx_reply reply;
    char retry[16];
    assert_int_equal(status_of_stock(1000, &reply), 503);
    assert_non_null(strstr(reply.body, "too_many_connections"));
    assert_string_equal(fx_reply_header(&reply, "Retry-After", retry, sizeof(retry)), "1");
    fx_reply_free(&reply);
    for (int i = 0; i < kept; i++)
        close(fd[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_freed_within_twice_the_limit),
        cmocka_unit_test(who_finds_no_thread_free_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
