/*
 * test_http_slow_clients.c - slow clients straight at an instance, without a proxy: they may occupy
 * all its threads, but not for long.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/service.h"

enum {
    SLOW = 500,
    LIMIT_MS = 5000,     /* the instance's, for headers and for a body */
    PATIENCE_MS = 30000, /* ours: this machine may be busy, a client's patience has no end */
};

static fx_server *start_server(int threads)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", threads);
    return fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--threads", text, FX_P0001));
}

static int status_of_stock(fx_server *server, int timeout_ms, fx_reply *ret)
{
    char url[128];
    snprintf(url, sizeof(url), "%s/stock?item=P0001", fx_server_url(server));
    return fx_http("GET", url, NULL, NULL, timeout_ms, ret);
}

/* ---- slow clients ---------------------------------------------------------------------------- */

/* How they begin; a byte a second follows. The last one's is a digit of a chunk's length. */
static const char *const beginnings[] = {
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "POST /buy?item=P0001&user=slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n",
    "POST /buy?item=P0001&user=slow HTTP/1.1\r\nHost: localhost\r\n"
    "Transfer-Encoding: chunked\r\n\r\n",
};

typedef struct drip {
    int fd[SLOW]; /* -1 = let go */
    int64_t next_ms;
} drip;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool all_are_let_go(void *arg)
{
    drip *all = arg;
    int open = 0;
    bool due = now_ms() >= all->next_ms;
    if (due)
        all->next_ms = now_ms() + 1000;
    for (int i = 0; i < SLOW; i++) {
        char answer[1024];
        bool closed = false;
        if (all->fd[i] < 0)
            continue;
        if (due)
            fx_raw_send(all->fd[i], "0", 1); /* may be refused */
        fx_raw_read(all->fd[i], answer, sizeof(answer), 0, &closed);
        open += !closed;
        if (closed) {
            close(all->fd[i]);
            all->fd[i] = -1;
        }
    }
    return open == 0;
}

static void threads_are_freed_within_twice_the_limit(void **state)
{
    (void)state;
    static drip slow;
    fx_server *server = start_server(SLOW - 20);
    int64_t begin = now_ms();
    for (int i = 0; i < SLOW; i++) {
        const char *bytes = beginnings[i % 3];
        slow.fd[i] = fx_raw_connect(fx_server_port(server), NULL);
        assert_true(slow.fd[i] >= 0);
        assert_true(fx_raw_send(slow.fd[i], bytes, strlen(bytes)));
    }
    fx_reply reply;
    int status = status_of_stock(server, PATIENCE_MS, &reply);
    if (status != 200 && status != 503)
        fail_msg("no answer within %d ms: %s", PATIENCE_MS, reply.error);
    fx_reply_free(&reply);

    assert_true(fx_wait_until(all_are_let_go, &slow, PATIENCE_MS));
    int64_t took = now_ms() - begin;
    print_message("%d slow clients were let go within %lld ms; twice the limit is %d ms\n", SLOW,
                  (long long)took, 2 * LIMIT_MS);
    assert_int_equal(status_of_stock(server, PATIENCE_MS, &reply), 200);
    assert_non_null(strstr(reply.body, "\"orders\":0"));
    fx_reply_free(&reply);
    fx_server_kill(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_freed_within_twice_the_limit),
    };
    return fx_run(tests, .instances = 0);
}
