/*
 * test_stopped_leader.c - a leader that stops between its script and its answers, while the buyer's
 * deadline passes, the client goes, or the instance is told to end.
 *
 * It stops at the fail point "written" (server/base/fail_point.h): the orders are in Redis, and
 * nobody has been told.
 */
#include <signal.h>
#include <sys/socket.h>

#include "tests/server/direct/wire.h"
#include "tests/support/sale/fail_point.h"

static char dir[256];

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    fx.redis = fx_redis_start(NULL);
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir);
    return 0;
}

/* ---- the stop -------------------------------------------------------------------------------- */

/* The leader of the next batch is to stop. */
static void arm(void)
{
    fx_point_arm(dir, "written");
}

static void wait_for_stop(void)
{
    assert_true(fx_point_reached(dir, "written", WIRE_MS));
}

static void go_on(void)
{
    fx_point_go_on(dir, "written");
}

/* ---- the service ----------------------------------------------------------------------------- */

/* An instance of the case's own, with a sale of P0001 and a connection that another thread can
 * answer. */
static void start(const char *strategy, wire *ret)
{
    fx.server[0] = fx_point_server(fx_redis_url(fx.redis), dir, FX_ARGS("--drain-delay", "0"));
    fx_start_sale(fx.server[0], "P0001", "'stock':1000,'strategy':'%s','wait_ms':10000,'hold_ms':1",
                  strategy);
    assert_true(wire_open(ret, fx_server_port(fx.server[0])));
    assert_true(wire_gets(ret, "first"));
    assert_true(wire_gets(ret, "second"));
}

static void stop(void)
{
    fx_server_kill(fx.server[0]);
    fx.server[0] = NULL;
}

static bool only_this_one_is_in_flight(void *arg)
{
    (void)arg;
    return strstr(fx_expect(fx.server[0], 200, "GET /metrics"),
                  "\nflashsale_requests_in_flight 1\n") != NULL;
}

static bool is_draining(void *arg)
{
    (void)arg;
    return fx_status(fx.server[0], "GET /readyz") != 200;
}

static bool is_open(const wire *w)
{
    char byte;
    return recv(w->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

static const char *const batching[] = {"combined", "batched", "sharded"};

enum { BATCHING = COUNT(batching) };

/* ---- the deadline ---------------------------------------------------------------------------- */

/* Ten seconds: the request's time. */
static void who_was_told_unknown_is_told_nothing_else(void **state)
{
    (void)state;
    wire w, asks_more;
    wire_answer answer;
    start("combined", &w);
    assert_true(wire_open(&asks_more, fx_server_port(fx.server[0])));
    assert_true(wire_gets(&asks_more, "third"));
    assert_true(wire_gets(&asks_more, "fourth"));
    arm();
    assert_true(wire_ask(&w, "late"));
    wait_for_stop();
    assert_true(wire_ask(&asks_more, "queued"));

    assert_int_equal(wire_next(&w, &answer, false), 504);
    assert_non_null(strstr(answer.body, "\"code\":\"unknown\""));
    assert_non_null(strstr(answer.body, "\"request\":\"late\""));
    assert_int_equal(wire_next(&asks_more, &answer, false), 503); /* it was never taken */
    assert_non_null(strstr(answer.body, "\"request\":\"queued\""));
    assert_true(wire_ask(&asks_more, "behind"));
    go_on();
    assert_true(wire_brings(&asks_more, "behind"));
    assert_true(wire_gets(&w, "next"));
    assert_true(wire_ask(&w, "late"));
    assert_int_equal(wire_next(&w, &answer, false), 201);
    assert_non_null(strstr(answer.head, "Idempotency-Replayed: true"));
    assert_non_null(strstr(answer.body, "\"request\":\"late\""));
    assert_true(wire_gets(&w, "last"));
    assert_int_equal(w.have + asks_more.have, 0);
    assert_int_equal(fx_stock("orders"), 8); /* all but "queued" */
    assert_true(fx_wait_until(only_this_one_is_in_flight, NULL, WIRE_MS));
    close(w.fd);
    close(asks_more.fd);
    stop();
}

/* ---- the client goes ------------------------------------------------------------------------- */

static void finish(const wire *w)
{
    close(w->fd);
}

static void reset(const wire *w)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(w->fd);
}

/* The connection that comes then has its descriptor, as a rule. */
static void who_comes_after_one_that_left_gets_only_its_own(void **state)
{
    (void)state;
    static void (*const leave[])(const wire *) = {finish, reset};
    for (int i = 0; i < 2 * BATCHING; i++) {
        wire w, next[3];
        start(batching[i / 2], &w);
        arm();
        assert_true(wire_ask(&w, "left"));
        wait_for_stop();
        leave[i % 2](&w);
        assert_true(wire_open(&next[0], fx_server_port(fx.server[0])));
        assert_true(wire_ask(&next[0], "next-0"));
        go_on();
        assert_true(wire_brings(&next[0], "next-0"));
        for (int k = 1; k < 3; k++)
            assert_true(wire_open(&next[k], fx_server_port(fx.server[0])));
        for (int k = 0; k < 3; k++) {
            for (int again = 0; again < 2; again++) {
                char request[32];
                snprintf(request, sizeof(request), "next-%d-%d", k, again);
                assert_true(wire_gets(&next[k], request));
            }
            assert_int_equal(next[k].have, 0);
            close(next[k].fd);
        }
        fx_expect(fx.server[0], 200, "GET /orders/left?item=P0001");
        assert_int_equal(fx_stock("orders"), 10);
        assert_true(fx_wait_until(only_this_one_is_in_flight, NULL, WIRE_MS));
        stop();
    }
}

/* It sends no more, but it reads. */
static void who_has_only_ended_its_side_gets_its_order(void **state)
{
    (void)state;
    wire w;
    wire_answer none;
    start("combined", &w);
    arm();
    assert_true(wire_ask(&w, "last"));
    wait_for_stop();
    shutdown(w.fd, SHUT_WR);
    go_on();
    assert_true(wire_brings(&w, "last"));
    assert_int_equal(wire_next(&w, &none, false), 0);
    assert_int_equal(w.have, 0);
    assert_false(is_open(&w));
    close(w.fd);
    stop();
}

/* The order of a request, and the one of the request that was sent while it was under way. */
static void who_asks_again_meanwhile_gets_both_in_turn(void **state)
{
    (void)state;
    for (int i = 0; i < BATCHING; i++) {
        wire w;
        start(batching[i], &w);
        arm();
        assert_true(wire_ask(&w, "one"));
        wait_for_stop();
        assert_true(wire_ask(&w, "two"));
        assert_true(wire_ask(&w, "three"));
        go_on();
        assert_true(wire_brings(&w, "one"));
        assert_true(wire_brings(&w, "two"));
        assert_true(wire_brings(&w, "three"));
        assert_true(fx_wait_until(only_this_one_is_in_flight, NULL, WIRE_MS));
        close(w.fd);
        stop();
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void an_instance_ends_only_when_the_last_order_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < BATCHING; i++) {
        wire w, idle;
        wire_answer answer, none;
        start(batching[i], &w);
        assert_true(wire_open(&idle, fx_server_port(fx.server[0])));
        assert_true(wire_gets(&idle, "idle-1"));
        assert_true(wire_gets(&idle, "idle-2")); /* told by the leader, and silent from then on */
        arm();
        assert_true(wire_ask(&w, "last"));
        wait_for_stop();
        fx_server_signal(fx.server[0], SIGTERM);
        assert_true(fx_wait_until(is_draining, NULL, WIRE_MS));
        assert_int_equal(fx_process_wait(fx_server_process(fx.server[0]), 300), -1);
        go_on();
        assert_int_equal(wire_next(&w, &answer, false), 201);
        assert_non_null(strstr(answer.body, "\"request\":\"last\""));
        assert_non_null(strstr(answer.head, "\r\nConnection: close\r\n"));
        assert_int_equal(wire_next(&w, &none, false), 0);
        assert_int_equal(w.have, 0);
        assert_false(is_open(&w));
        assert_int_equal(fx_process_wait(fx_server_process(fx.server[0]), WIRE_MS), 0);
        close(w.fd);
        close(idle.fd);
        stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_told_unknown_is_told_nothing_else),
        cmocka_unit_test(who_comes_after_one_that_left_gets_only_its_own),
        cmocka_unit_test(who_has_only_ended_its_side_gets_its_order),
        cmocka_unit_test(who_asks_again_meanwhile_gets_both_in_turn),
        cmocka_unit_test(an_instance_ends_only_when_the_last_order_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
