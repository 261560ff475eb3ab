/*
 * test_sale_table.c - how instances learn which sale is an item's current one: no buyer waits for
 * another item's, and many items cost few round trips.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum { PROMISE_MS = 10000, BUYERS = 60, ITEMS = 500, LONG_MS = 20000 };

typedef struct buyer {
    char url[256];
    fx_reply reply;
    pthread_t thread;
} buyer;

static void *buy(void *arg)
{
    buyer *b = arg;
    fx_http("POST", b->url, NULL, NULL, PROMISE_MS, &b->reply);
    return NULL;
}

static void buy_at_once(const char *item, buyer buyers[BUYERS])
{
    memset(buyers, 0, BUYERS * sizeof(buyers[0]));
    for (int i = 0; i < BUYERS; i++) {
        snprintf(buyers[i].url, sizeof(buyers[i].url), "%s/buy?item=%s%d&user=u1",
                 fx_server_url(fx.server[0]), item, i);
        pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]);
    }
    for (int i = 0; i < BUYERS; i++)
        pthread_join(buyers[i].thread, NULL);
}

static void unknown_items_of_a_silent_redis_are_answered_in_time(void **state)
{
    (void)state;
    static buyer buyers[BUYERS];
    fx_redis_do(fx.redis, "CLIENT PAUSE 500 ALL"); /* so that each has a connection of its own */
    buy_at_once("many", buyers);
    for (int i = 0; i < BUYERS; i++) {
        assert_int_equal(buyers[i].reply.status, 201);
        fx_reply_free(&buyers[i].reply);
    }

    fx_redis_signal(fx.redis, SIGSTOP);
    buy_at_once("silent", buyers);
    fx_redis_signal(fx.redis, SIGCONT);
    for (int i = 0; i < BUYERS; i++) {
        fx_assert_problem("POST /buy", &buyers[i].reply, 503, "store_unavailable");
        fx_reply_free(&buyers[i].reply);
    }
}

/* ---- many items ------------------------------------------------------------------------------ */

static long long stat_of(const char *stats, const char *name)
{
    const char *at = strstr(stats, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

typedef struct traffic {
    long long commands, reads; /* of the server's, so far: how many, in how many pieces */
} traffic;

static traffic look(void)
{
    char stats[8192];
    assert_true(fx_redis_text(fx.redis, stats, sizeof(stats), "INFO stats"));
    return (traffic){stat_of(stats, "total_commands_processed:"),
                     stat_of(stats, "total_reads_processed:")};
}

static bool has_looked_three_times(void *before)
{
    return look().commands > ((traffic *)before)->commands + 3 * ITEMS;
}

static void many_items_are_looked_at_in_few_round_trips(void **state)
{
    (void)state;
    for (int i = 0; i < ITEMS; i++) {
        char item[16];
        snprintf(item, sizeof(item), "many%d", i);
        fx_start_sale(fx.server[0], item,
                      "'stock':1,'strategy':'atomic'"); /* of them the next case buys, too */
    }
    fx_only_single("it counts what one server reads");
    traffic before = look(), after;
    assert_true(fx_wait_until(has_looked_three_times, &before, LONG_MS));
    after = look();
    long long commands = after.commands - before.commands, reads = after.reads - before.reads;
    if (reads * 4 > commands)
        fail_msg("%lld commands came in %lld pieces", commands, reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_items_are_looked_at_in_few_round_trips),
        cmocka_unit_test(unknown_items_of_a_silent_redis_are_answered_in_time),
    };
    return fx_run(tests, .instances = 1);
}
