/*
 * test_false_numbers.c - numbers in Redis that are not those of the sale: an order's record with
 * another order's number, or with one that the ledger does not have. It is damage as long as it
 * stands there. Nobody is told the number, nobody remembers it, so nothing is halted; and when it
 * is mended, the order has its true number again.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { ORDERS = 4, WAIT_MS = 30000 };

/* Behind the true number of the second of so many orders. */
static const char *const false_numbers[] = {
    "1", "3", "0", "900", "999999999999", "999999999999999999",
};

typedef struct shop {
    char item[16], sale[64];
    char orders[160]; /* the key that has the record */
    char request[16]; /* whose */
    char record[256];
    char told[1024]; /* of the order, when it was sold */
} shop;

static void sell_some(shop *each, const fx_strategy *strategy)
{
    static int count;
    snprintf(each->item, sizeof(each->item), "F%03d", ++count);
    snprintf(each->sale, sizeof(each->sale), "%s",
             fx_start_sale(fx.server[0], each->item, "'stock':900,'strategy':'%s'%s",
                           strategy->name, strategy->sharded ? ",'segments':1" : ""));
    fx_wait_in_force(each->item, each->sale);
    snprintf(each->orders, sizeof(each->orders),
             strategy->sharded ? "fs:{%s#0}:%s:orders" : "fs:{%s}:%s:orders", each->item,
             each->sale);
    for (int i = 0; i < ORDERS; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u%d&request=r%d", each->item, i, i);
    snprintf(each->request, sizeof(each->request), "r1");
    snprintf(each->told, sizeof(each->told), "%s",
             fx_expect(fx.server[1], 200, "GET /orders/r1?item=%s", each->item));
    assert_non_null(strstr(each->told, "-2\",\"request\":\"r1\""));
    assert_true(
        fx_redis_text(fx.redis, each->record, sizeof(each->record), "HGET %s r1", each->orders));
}

static void write_record(const shop *each, const char *number)
{
    char record[300];
    snprintf(record, sizeof(record), "%s%s", number, strchr(each->record, ' '));
    freeReplyObject(fx_redis_reply(fx.redis, "HSET %s %s %s", each->orders, each->request, record));
}

/* Whoever else wants something gets it, of both instances. */
static void others_are_sold_to(const shop *each)
{
    for (int at = 0; at < 2; at++) {
        fx_expect(fx.server[at], 201, "POST /buy?item=%s&user=other", each->item);
        fx_expect(fx.server[at], 201, "POST /buy?item=%s&user=u0&request=r0", each->item);
    }
    assert_null(
        strstr(fx_expect(fx.server[1], 200, "GET /stock?item=%s", each->item), "\"halted\""));
}

static void is_told_as_damage(const shop *each)
{
    for (int at = 0; at < 2; at++) {
        fx_refused(fx.server[at], 503, "sale_damaged", "POST /buy?item=%s&user=u1&request=r1",
                   each->item);
        fx_refused(fx.server[at], 503, "sale_damaged", "GET /orders/r1?item=%s", each->item);
    }
    fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders?item=%s", each->item);
}

static void is_told_again(const shop *each)
{
    for (int at = 0; at < 2; at++) {
        const char *retry =
            fx_expect(fx.server[at], 201, "POST /buy?item=%s&user=u1&request=r1", each->item);
        assert_non_null(strstr(retry, "-2\",\"request\":\"r1\""));
        assert_string_equal(fx_expect(fx.server[at], 200, "GET /orders/r1?item=%s", each->item),
                            each->told);
    }
    fx_expect(fx.server[0], 200, "GET /orders?item=%s", each->item);
}

static void a_false_number_is_damage_until_it_is_mended(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        shop each;
        sell_some(&each, s);
        for (size_t i = 0; i < COUNT(false_numbers); i++) {
            print_message("%s, number '%s'\n", s->name, false_numbers[i]);
            write_record(&each, false_numbers[i]);
            is_told_as_damage(&each);
            others_are_sold_to(&each);
            freeReplyObject(fx_redis_reply(fx.redis, "HSET %s r1 %s", each.orders, each.record));
            is_told_again(&each);
            others_are_sold_to(&each);
        }
    }
}

/* ---- terms ----------------------------------------------------------------------------------- */

typedef struct wanted {
    int status;
    const char *item;
} wanted;

static bool both_answer(void *arg)
{
    const wanted *w = arg;
    bool all = true;
    for (int at = 0; at < 2; at++)
        all = fx_status(fx.server[at], "POST /buy?item=%s&user=u", w->item) == w->status && all;
    return all;
}

/* The second instance is asked for the item for the first time while the term is a false one: it
 * neither sells by it nor holds the true one to it later. */
static void try_term(const char *field, const char *value)
{
    static int count;
    char item[16], cfg[128], before[64] = "";
    snprintf(item, sizeof(item), "T%03d", ++count);
    snprintf(cfg, sizeof(cfg), "fs:{%s}:%s:cfg", item,
             fx_start_sale(fx.server[0], item, "'stock':900000,'strategy':'combined'"));
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u", item);
    assert_true(fx_redis_text(fx.redis, before, sizeof(before), "HGET %s %s", cfg, field));
    fx_redis_do(fx.redis, "HSET %s %s %s", cfg, field, value);
    fx_refused(fx.server[1], 503, "sale_damaged", "POST /buy?item=%s&user=u", item);
    if (!fx_wait_until(both_answer, &(wanted){503, item}, WAIT_MS))
        fail_msg("%s %s: it sells", field, value);
    fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=%s&user=u", item);
    freeReplyObject(fx_redis_reply(fx.redis, "HSET %s %s %s", cfg, field, before));
    if (!fx_wait_until(both_answer, &(wanted){201, item}, WAIT_MS))
        fail_msg("%s %s: it does not heal", field, value);
}

static void a_false_term_is_damage_until_it_is_mended(void **state)
{
    (void)state;
    static const char *const terms[][2] = {
        {"accepted", "1"},
        {"accepted", "999999999999"},
        {"accepted", "9999999999999999"},
        {"initial", "900001"},
        {"per_user_limit", "1"},
        {"lease_ms", "2999"},
        {"wait_ms", "0"},
        {"hold_ms", "100"},
        {"strategy", "none"},
        {"durability", "replicated"},
        {"previous", "00000000000001"},
        {"segments", "3"},
        {"previous_segments", "3"},
        {"digest", "0123456789abcdef"},
    };
    for (size_t i = 0; i < COUNT(terms); i++)
        try_term(terms[i][0], terms[i][1]);
}

/* ---- how many may be lost -------------------------------------------------------------------- */

typedef struct lost_count {
    const char *orders;
    const char *part; /* of the refusal */
} lost_count;

static bool is_halted(void *arg)
{
    const lost_count *lost = arg;
    fx_reply reply;
    bool yes = fx_ask(fx.server[0], &reply, "POST /buy?item=L1&user=x") == 503 &&
               strstr(reply.body, lost->part);
    fx_reply_free(&reply);
    return yes;
}

/* Halted by an instance that remembers so many orders. */
static void any_count_of_lost_orders_can_be_accepted(void **state)
{
    (void)state;
    static const lost_count counts[] = {
        {"2147483648", "\"lost_orders\":2147483648"},
        {"999999999999", "\"lost_orders\":999999999999"},
        {"9007199254740991", "\"lost_orders\":9007199254740991"},
    };
    char sale[64];
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "L1", "'stock':9,'strategy':'atomic'"));
    for (size_t i = 0; i < COUNT(counts); i++) {
        char words[200];
        snprintf(words, sizeof(words), "%s rolled_back %s 0 other 1700000000000000", sale,
                 counts[i].orders);
        freeReplyObject(fx_redis_reply(fx.redis, "SET fs:{L1}:sale %s", words));
        assert_true(fx_wait_until(is_halted, (void *)&counts[i], WAIT_MS));
        fx_refused(fx.server[0], 400, "bad_sale",
                   "POST /sales/resume {'item':'L1','sale':'%s','lost_orders':9007199254740992}",
                   sale);
        const char *resumed = fx_expect(
            fx.server[0], 200, "POST /sales/resume {'item':'L1','sale':'%s','lost_orders':%s}",
            sale, counts[i].orders);
        assert_non_null(strstr(resumed, counts[i].part));
        fx_expect(fx.server[0], 201, "POST /buy?item=L1&user=u");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_false_number_is_damage_until_it_is_mended),
        cmocka_unit_test(a_false_term_is_damage_until_it_is_mended),
        cmocka_unit_test(any_count_of_lost_orders_can_be_accepted),
    };
    return fx_run(tests, .instances = 2);
}
