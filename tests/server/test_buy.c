/* test_buy.c - buying: replay of a request, limits, quantities, and the same request at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

static int sales; /* so far: for request ids that belong to one sale */

/* Buys at instance `at`; the body of the answer. */
static const char *buy(int at, int status, const char *query)
{
    return fx_expect(fx.server[at], status, "POST /buy?item=P0001&%s", query);
}

static void refuse(int at, int status, const char *code, const char *query)
{
    fx_refused(fx.server[at], status, code, "POST /buy?item=P0001&%s", query);
}

/* ---- replay ---------------------------------------------------------------------------------- */

static void a_retry_gets_the_same_answer_from_every_instance(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char first[1024], query[128];
        print_message("%s\n", s->name);
        fx_sell("'stock':10,'strategy':'%s'", s->name);
        snprintf(query, sizeof(query), "user=u1&quantity=2&request=r-%d", ++sales);
        snprintf(first, sizeof(first), "%s", buy(0, 201, query));
        for (int at = 0; at < FX_INSTANCES; at++) {
            char replayed[16];
            fx_reply again;
            fx_ask(fx.server[at], &again, "POST /buy?item=P0001&%s", query);
            assert_int_equal(again.status, 201);
            assert_string_equal(again.body, first);
            fx_reply_header(&again, "Idempotency-Replayed", replayed, sizeof(replayed));
            assert_string_equal(replayed, "true");
            fx_reply_free(&again);
        }
        snprintf(query, sizeof(query), "user=u2&quantity=2&request=r-%d", sales);
        refuse(1, 422, "request_reused", query);
        snprintf(query, sizeof(query), "user=u1&quantity=1&request=r-%d", sales);
        refuse(2, 422, "request_reused", query);
        assert_int_equal(fx_stock("units"), 2);
    }
}

/* The request id of an order bought without a key. */
static void buy_without_key(int at, char id[64])
{
    fx_copy_member(buy(at, 201, "user=u1"), "request", id, 64);
}

static void an_order_without_a_key_gets_one_and_can_be_found(void **state)
{
    (void)state;
    char body[1024], request[64];
    fx_sell("'stock':10,'strategy':'combined'");
    snprintf(body, sizeof(body), "%s", buy(0, 201, "user=u1"));
    fx_copy_member(body, "request", request, sizeof(request));
    const char *found = fx_expect(fx.server[1], 200, "GET /orders/%s?item=P0001", request);
    assert_int_equal(strncmp(found, body, strlen(body) - 2), 0); /* all of it but the brace */
}

static void a_request_id_tells_nothing_of_the_next(void **state)
{
    (void)state;
    char one[64], two[64];
    fx_sell("'stock':10,'strategy':'atomic'");
    buy_without_key(0, one);
    buy_without_key(0, two);
    size_t same = 0;
    assert_true(strlen(one) >= 32 && strlen(one) == strlen(two));
    while (one[same] != '\0' && one[same] == two[same])
        same++;
    if (same >= 12) /* by chance once in 2^48 */
        fail_msg("%s, then %s", one, two);
}

static void a_void_or_differing_key_is_refused(void **state)
{
    (void)state;
    static const char *const headers[][2] = {{"Idempotency-Key: a b", NULL},
                                             {"Idempotency-Key: k2", NULL}};
    for (int i = 0; i < 2; i++) {
        char url[256];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u1&request=k1",
                 fx_server_url(fx.server[0]));
        fx_http("POST", url, headers[i], NULL, 5000, &reply);
        fx_assert_problem(headers[i][0], &reply, 400, "bad_request_id");
        fx_reply_free(&reply);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_user_gets_no_more_than_the_limit(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded)
            continue;
        print_message("%s\n", s->name);
        fx_sell("'stock':10,'per_user_limit':3,'strategy':'%s'", s->name);
        buy(0, 201, "user=u1&quantity=2");
        refuse(1, 409, "limit_reached", "user=u1&quantity=2");
        buy(2, 201, "user=u1");
        refuse(0, 409, "limit_reached", "user=u1");
        buy(0, 201, "user=u2&quantity=3");
        assert_int_equal(fx_stock("remaining"), 4);
    }
}

static void a_quantity_is_sold_whole_or_not_at_all(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded) /* no segment has all of it */
            continue;
        print_message("%s\n", s->name);
        fx_sell("'stock':5,'strategy':'%s'", s->name);
        refuse(0, 409, "sold_out", "user=u1&quantity=6");
        buy(1, 201, "user=u1&quantity=5");
        refuse(2, 409, "sold_out", "user=u1");
        assert_int_equal(fx_stock("units"), 5);
        assert_int_equal(fx_stock("orders"), 1);
        assert_int_equal(fx_stock("remaining"), 0);
    }
}

static void segments_do_not_sell_one_request_twice(void **state)
{
    (void)state;
    fx_sell("'stock':8,'strategy':'sharded','segments':4");
    /* Two units a segment: three are nowhere, and then two must not count as a new request. */
    refuse(0, 409, "sold_out", "user=u1&quantity=3&request=big");
    for (int i = 0; i < 8; i++) {
        char query[64];
        snprintf(query, sizeof(query), "user=u1&request=s-%d", i);
        buy(i % FX_INSTANCES, 201, query);
        buy((i + 1) % FX_INSTANCES, 201, query);
    }
    refuse(0, 409, "sold_out", "user=u1&request=s-9");
    assert_int_equal(fx_stock("orders"), 8);
    assert_int_equal(fx_stock("remaining"), 0);
}

static void a_closed_sale_sells_no_more(void **state)
{
    (void)state;
    char query[128];
    snprintf(query, sizeof(query), "user=u1&sale=%s",
             fx_start_sale(fx.server[0], "P0001", "'stock':10,'strategy':'none'"));
    buy(0, 201, query);
    fx_start_sale(fx.server[0], "P0001", "'stock':10,'strategy':'atomic'");
    for (int at = 0; at < FX_INSTANCES; at++) {
        buy(at, 201, "user=u1");
        refuse(at, 409, "sale_closed", query);
    }
    buy(0, 404, "user=u1&sale=nonsense");
    assert_int_equal(fx_stock("orders"), FX_INSTANCES);
}

/* ---- the same key at once -------------------------------------------------------------------- */

static int requests;
static bool in_step; /* the three of one key start at once; else each goes on as it can */
static pthread_barrier_t step;

typedef struct client {
    int at, sold;
    char other[600]; /* the last answer that was not a sale */
    pthread_t thread;
} client;

static void *buy_all(void *arg)
{
    client *mine = arg;
    for (int i = 0; i < requests; i++) {
        fx_reply reply;
        if (in_step)
            pthread_barrier_wait(&step);
        if (fx_ask(fx.server[mine->at], &reply, "POST /buy?item=P0001&user=u%d&request=q-%d-%d", i,
                   sales, i) == 201)
            mine->sold++;
        else
            snprintf(mine->other, sizeof(mine->other), "%d %.300s%s", reply.status, reply.body,
                     reply.error);
        fx_reply_free(&reply);
    }
    return NULL;
}

static void buy_at_once(const char *strategy, int count, bool together)
{
    client clients[FX_INSTANCES];
    sales++;
    requests = count;
    in_step = together;
    fx_sell("'stock':2000,'wait_ms':20000,'strategy':'%s'", strategy);
    pthread_barrier_init(&step, NULL, FX_INSTANCES);
    for (int at = 0; at < FX_INSTANCES; at++) {
        clients[at] = (client){.at = at};
        pthread_create(&clients[at].thread, NULL, buy_all, &clients[at]);
    }
    for (int at = 0; at < FX_INSTANCES; at++) {
        pthread_join(clients[at].thread, NULL);
        if (clients[at].sold != requests)
            fail_msg("%s: %d of %d sold, then %s", strategy, clients[at].sold, requests,
                     clients[at].other);
    }
    pthread_barrier_destroy(&step);
    assert_int_equal(fx_stock("orders"), requests);
    assert_int_equal(fx_stock("remaining"), 2000 - requests);
}

/* Where Redis decides, it decides a thousand times. The others get fewer: to meet costs much where
 * waiters poll. */
static void one_key_at_three_instances_at_once_makes_one_order(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->guarded) {
            buy_at_once(s->name, 1000, true);
        } else if (s->locked) { /* without a lock, nothing keeps two of one key apart */
            buy_at_once(s->name, 20, true);
            buy_at_once(s->name, 200, false);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_gets_the_same_answer_from_every_instance),
        cmocka_unit_test(an_order_without_a_key_gets_one_and_can_be_found),
        cmocka_unit_test(a_request_id_tells_nothing_of_the_next),
        cmocka_unit_test(a_void_or_differing_key_is_refused),
        cmocka_unit_test(a_user_gets_no_more_than_the_limit),
        cmocka_unit_test(a_quantity_is_sold_whole_or_not_at_all),
        cmocka_unit_test(segments_do_not_sell_one_request_twice),
        cmocka_unit_test(a_closed_sale_sells_no_more),
        cmocka_unit_test(one_key_at_three_instances_at_once_makes_one_order),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
