/*
 * test_examples.c - loadtest/examples/: other load generators buy from three real instances, and
 * their last line says of the sale what GET /stock says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum { STOCK = 300, RUN_MS = 120000 };

/* A generator, and how it is run for a few seconds at most. */
typedef struct generator {
    const char *name, *run;
    int failed; /* its exit code when too much was sold */
} generator;

static const generator wrk = {
    "wrk", "wrk -t3 -c30 -d1s -s loadtest/examples/buy.lua http://${TARGETS%%,*}", 1};
static const generator slow_wrk = {
    "wrk", "wrk -t1 -c2 -d8s -s loadtest/examples/buy.lua http://${TARGETS%%,*}", 1};
static const generator k6 = {
    "k6",
    "k6 run -q --no-usage-report -e TARGETS=$TARGETS -e STRATEGY=$STRATEGY -e STOCK=$STOCK "
    "-e USERS=60 -e REQUESTS=2000 loadtest/examples/buy.js",
    99};

static void need(const generator *g)
{
    char script[128];
    snprintf(script, sizeof(script), "command -v %s >/dev/null", g->name);
    if (fx_shell(script, NULL, 5000) != 0)
        fx_skip("no %s here", g->name);
}

static fx_process *start(const generator *g, const char *strategy, int stock)
{
    char targets[256], number[16];
    snprintf(targets, sizeof(targets), "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
             fx_server_port(fx.server[0]), fx_server_port(fx.server[1]),
             fx_server_port(fx.server[2]));
    snprintf(number, sizeof(number), "%d", stock);
    setenv("TARGETS", targets, 1);
    setenv("STRATEGY", strategy, 1);
    setenv("STOCK", number, 1);
    return fx_spawn((const char *const[]){"sh", "-c", g->run, NULL}, true);
}

/* What its last line says of the run, and the words that it ends with. */
typedef struct summary {
    long sold, unknown, cut_off, orders, initial, oversold, lost;
    char verdict[32];
} summary;

static long number_behind(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    if (!at)
        fail_msg("no '%s' in '%s'", words, line);
    return strtol(at + strlen(words), NULL, 10);
}

/* Waits for its end: the exit code. Frees it. */
static int finish(fx_process *process, summary *ret)
{
    char line[512];
    int code = fx_process_wait(process, RUN_MS);
    char *out = strdup(fx_process_stdout(process));
    while (out[0] != '\0' && out[strlen(out) - 1] == '\n')
        out[strlen(out) - 1] = '\0';
    const char *last = strrchr(out, '\n');
    snprintf(line, sizeof(line), "%s", last ? last + 1 : out);
    if (!strstr(line, "told sold "))
        fail_msg("%d: %s%s", code, out, fx_process_stderr(process));
    free(out);
    fx_process_free(process);
    ret->sold = number_behind(line, "told sold ");
    ret->unknown = number_behind(line, "unknown ");
    ret->cut_off = strstr(line, "cut off ") ? number_behind(line, "cut off ") : 0;
    ret->orders = number_behind(line, "stock: ");
    ret->initial = number_behind(line, "orders of ");
    ret->oversold = number_behind(line, "oversold ");
    ret->lost = number_behind(line, "lost updates ");
    snprintf(ret->verdict, sizeof(ret->verdict), "%s", strrchr(line, ':') + 2);
    return code;
}

static void is_as_the_stock_says(const summary *s)
{
    /* What was cut off may be sold behind the generator's last look. */
    assert_in_range(fx_stock("orders"), s->orders, s->orders + s->cut_off);
    assert_int_equal(s->initial, fx_stock("initial"));
    if (s->cut_off == 0) {
        assert_int_equal(s->oversold, fx_stock("oversold"));
        assert_int_equal(s->lost, fx_stock("lost_updates"));
    }
    assert_in_range(s->orders, s->sold, s->sold + s->unknown + s->cut_off);
}

static void sells_all_and_agrees(const generator *g, const char *strategy)
{
    summary s;
    int code = finish(start(g, strategy, STOCK), &s);
    if (code != 0 || strcmp(s.verdict, "agrees") != 0 || s.sold <= 0 || s.sold > STOCK)
        fail_msg("%s, %s: exit %d, %ld sold, %s", g->name, strategy, code, s.sold, s.verdict);
    assert_int_equal(s.initial, STOCK);
    assert_int_equal(s.oversold + s.lost, 0);
    is_as_the_stock_says(&s);
}

/* What nothing protects is oversold, as good as always; a run in which it is not proves nothing. */
static void tells_that_too_much_was_sold(const generator *g)
{
    enum { TRIES = 5 };
    summary s = {.oversold = 0};
    int code = 0;
    for (int i = 0; i < TRIES && s.oversold == 0; i++)
        code = finish(start(g, "none", STOCK), &s);
    assert_string_equal(s.verdict, "OVERSOLD");
    assert_int_equal(code, g->failed);
    assert_int_equal(s.oversold, s.orders - STOCK);
    assert_true(s.sold + s.unknown + s.cut_off > STOCK);
    assert_in_range(s.orders, s.sold, s.sold + s.unknown + s.cut_off);
}

static void wrk_agrees_with_the_stock(void **state)
{
    (void)state;
    need(&wrk);
    sells_all_and_agrees(&wrk, "combined");
    sells_all_and_agrees(&wrk, "fair");
}

static void wrk_tells_that_too_much_was_sold(void **state)
{
    (void)state;
    need(&wrk);
    tells_that_too_much_was_sold(&wrk);
}

/* Its sale is there, and it has bought: it is connected. */
static bool has_begun(void *arg)
{
    (void)arg;
    const char *stock = fx_expect(fx.server[0], 200, "GET /stock?item=P0001");
    return strstr(stock, "\"atomic\"") && !strstr(stock, "\"orders\":0,");
}

/* Orders that none of its buyers was told of: more of them than it may leave open. */
static void wrk_sees_orders_that_nobody_was_told_of(void **state)
{
    (void)state;
    need(&wrk);
    enum { OTHERS = 20 };
    summary s;
    fx_sell("'stock':1,'strategy':'fair'");
    fx_process *process = start(&slow_wrk, "atomic", 100000000);
    assert_true(fx_wait_until(has_begun, NULL, 60000));
    for (int i = 0; i < OTHERS; i++)
        fx_expect(fx.server[i % FX_INSTANCES], 201, "POST /buy?item=P0001&user=other");
    assert_int_equal(finish(process, &s), 1);
    assert_string_equal(s.verdict, "DIFFERS");
    assert_true(s.orders >= s.sold + OTHERS);
}

static bool are_so_many_orders(void *count)
{
    return fx_stock("orders") == *(long *)count;
}

/* There is enough for all: each request that was sent becomes an order, told or not. */
static void wrk_counts_what_it_has_sent(void **state)
{
    (void)state;
    need(&wrk);
    summary s;
    assert_int_equal(finish(start(&wrk, "atomic", 100000000), &s), 0);
    long sent = s.sold + s.unknown + s.cut_off;
    if (!fx_wait_until(are_so_many_orders, &sent, 20000))
        fail_msg("%ld were sent, %d are there", sent, fx_stock("orders"));
}

/* The last: it kills the instance that is asked for the stock. */
static void wrk_says_when_it_can_not_compare(void **state)
{
    (void)state;
    need(&wrk);
    fx_sell("'stock':1,'strategy':'fair'");
    fx_process *process = start(&slow_wrk, "atomic", 100000000);
    assert_true(fx_wait_until(has_begun, NULL, 60000));
    fx_server_kill(fx.server[0]);
    fx.server[0] = NULL;
    assert_int_equal(fx_process_wait(process, RUN_MS), 2);
    assert_null(strstr(fx_process_stdout(process), "told sold"));
    assert_non_null(strstr(fx_process_stderr(process), "buy.lua: GET /stock"));
    fx_process_free(process);
}

static void k6_agrees_with_the_stock(void **state)
{
    (void)state;
    need(&k6);
    sells_all_and_agrees(&k6, "combined");
    assert_int_equal(fx_stock("remaining"), 0);
    sells_all_and_agrees(&k6, "fair");
}

static void k6_tells_that_too_much_was_sold(void **state)
{
    (void)state;
    need(&k6);
    tells_that_too_much_was_sold(&k6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrk_agrees_with_the_stock),
        cmocka_unit_test(wrk_tells_that_too_much_was_sold),
        cmocka_unit_test(wrk_sees_orders_that_nobody_was_told_of),
        cmocka_unit_test(wrk_counts_what_it_has_sent),
        cmocka_unit_test(k6_agrees_with_the_stock),
        cmocka_unit_test(k6_tells_that_too_much_was_sold),
        cmocka_unit_test(wrk_says_when_it_can_not_compare),
    };
    return fx_run(tests, .instances = FX_INSTANCES, .args = FX_ARGS(FX_P0001));
}
