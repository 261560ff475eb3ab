/*
 * test_superseded.c - sales that are over are closed, however many came after them; and sales whose
 * terms, pointer or segments were damaged sell nothing, on any instance, until they are mended.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { LEFT_S = 86400 + 60, ROUNDS = 5, SEGMENTS = 4, BUYS = 12, WAIT_MS = 30000 };

/* ---- closed, whoever comes after ------------------------------------------------------------- */

static void *start_plain(void *server)
{
    fx_reply reply;
    fx_ask(server, &reply, "POST /sales {'item':'P0001','stock':50,'strategy':'atomic'}");
    fx_reply_free(&reply);
    return NULL;
}

static bool all_segments_are_closed(void *sale)
{
    for (int k = 0; k < SEGMENTS; k++) {
        char current[128];
        fx_redis_text(fx.redis, current, sizeof(current), "GET fs:{P0001#%d}:sale", k);
        if (strcmp(current, sale) != 0)
            return false;
    }
    return true;
}

/* Of keys that belong to no sale, or to this one, there is no end. */
static void all_else_will_expire(const char *sale)
{
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:{P0001*");
    assert_non_null(keys);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str, *rest = strrchr(key, '}') + 2;
        bool kept = strcmp(rest, "sale") == 0 || strcmp(rest, "latest") == 0 ||
                    strncmp(rest, sale, strlen(sale)) == 0;
        long long left_s = kept ? 0 : fx_redis_number(fx.redis, "TTL %s", key);
        if (left_s > LEFT_S || (left_s < 0 && fx_redis_number(fx.redis, "EXISTS %s", key) == 1))
            fail_msg("%s stays for %lld s; the sale is %s", key, left_s, sale);
    }
    freeReplyObject(keys);
}

/* Whoever was stopped meanwhile sells nothing of the sale before. */
static void nothing_is_sold_of_another(fx_server *server, const char *sale)
{
    for (int i = 0; i < BUYS; i++) {
        char in[64];
        const char *body = fx_expect(server, 201, "POST /buy?item=P0001&user=u%d", i);
        fx_copy_member(body, "sale", in, sizeof(in));
        assert_string_equal(in, sale);
    }
}

/* What a sale's lock leaves: a holder, or who waits, may be gone at any time. */
static bool belongs_to_a_lock(const char *key)
{
    return strstr(key, ":lock");
}

/* Of the sale's own keys, of the pointers to it, none will expire. */
static void all_of_it_will_stay(const char *item, const char *sale)
{
    int found = 0;
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:{%s*", item);
    assert_non_null(keys);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str, *rest = strrchr(key, '}') + 2;
        bool own = strcmp(rest, "sale") == 0 || strcmp(rest, "latest") == 0 ||
                   strncmp(rest, sale, strlen(sale)) == 0;
        if (!own || belongs_to_a_lock(rest))
            continue;
        found++;
        if (fx_redis_number(fx.redis, "TTL %s", key) != -1)
            fail_msg("%s will expire; the sale is %s", key, sale);
    }
    freeReplyObject(keys);
    assert_true(found >= 7); /* two pointers, terms, stock, sold, orders, ledger */
}

/* Each strategy sells after each kind of sale before. */
static void a_new_sale_is_not_taken_for_a_leftover(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char sale[64];
        for (int i = 0; i < 2; i++) {
            const char *limit = s->sharded ? "" : ",'per_user_limit':1000";
            snprintf(
                sale, sizeof(sale), "%s",
                fx_start_sale(fx.server[0], "N1", "'stock':50,'strategy':'%s'%s", s->name, limit));
            fx_expect(fx.server[0], 201, "POST /buy?item=N1&user=u1");
            all_of_it_will_stay("N1", sale);
        }
    }
}

static void two_starts_at_once_close_what_was_before_both(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char sale[64];
        pthread_t other;
        fx_sell("'stock':40,'strategy':'sharded','segments':%d", SEGMENTS);
        fx_server_signal(fx.server[2], SIGSTOP);
        pthread_create(&other, NULL, start_plain, fx.server[1]);
        start_plain(fx.server[0]);
        pthread_join(other, NULL);
        snprintf(sale, sizeof(sale), "%s", fx_current_sale("P0001"));
        bool closed = fx_wait_until(all_segments_are_closed, sale, WAIT_MS);
        fx_server_signal(fx.server[2], SIGCONT);
        assert_true(closed);
        nothing_is_sold_of_another(fx.server[2], sale);
        all_else_will_expire(sale);
    }
}

/* The second sale knows of no segments of its own; the third has to know of those before it. */
static void segments_are_remembered_over_a_sale_without(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "M1", "'stock':8,'strategy':'sharded','segments':3");
    for (int i = 0; i < 2; i++) {
        const char *sale = fx_start_sale(fx.server[0], "M1", "'stock':8,'strategy':'atomic'");
        assert_int_equal(fx_redis_number(fx.redis, "HGET fs:{M1}:%s:cfg previous_segments", sale),
                         3);
    }
}

/* ---- damaged, and mended --------------------------------------------------------------------- */

typedef struct wanted {
    fx_server *server;
    const char *item;
    int status;
} wanted;

static bool is_answered(void *arg)
{
    wanted *w = arg;
    fx_reply reply;
    int status = fx_ask(w->server, &reply, "POST /buy?item=%s&user=u1", w->item);
    bool good =
        status == w->status && (status != 503 || strstr(reply.body, "\"sale_damaged\"") != NULL);
    fx_reply_free(&reply);
    return good;
}

static void all_answer(const char *item, int status)
{
    for (int at = 0; at < FX_INSTANCES; at++) {
        wanted w = {fx.server[at], item, status};
        if (!fx_wait_until(is_answered, &w, WAIT_MS))
            fail_msg("instance %d does not answer %d for %s", at, status, item);
    }
}

static void start_everywhere(const char *item, const char *strategy)
{
    fx_start_sale(fx.server[0], item, "'stock':1000,'strategy':'%s'", strategy);
    all_answer(item, 201);
}

static void replaced_terms_sell_nothing(void **state)
{
    (void)state;
    start_everywhere("C1", "combined");
    const char *sale = fx_current_sale("C1");
    fx_redis_do(fx.redis, "HSET fs:{C1}:%s:cfg initial 2000", sale);
    all_answer("C1", 503);
    fx_redis_do(fx.redis, "HSET fs:{C1}:%s:cfg initial 1000", sale);
    all_answer("C1", 201);
    fx_redis_do(fx.redis, "RENAME fs:{C1}:%s:cfg fs:{C1}:away", sale);
    all_answer("C1", 503);
    fx_redis_do(fx.redis, "RENAME fs:{C1}:away fs:{C1}:%s:cfg", sale);
    all_answer("C1", 201);
}

/* In one script: between the two steps the pointer would be missing, which is worse. */
static void a_pointer_of_another_type_sells_nothing(void **state)
{
    (void)state;
    static const char *const strategies[] = {"combined", "none", "atomic"};
    for (int i = 0; i < 3; i++) {
        char item[16];
        snprintf(item, sizeof(item), "T%d", i);
        start_everywhere(item, strategies[i]);
        fx_redis_do(fx.redis, "EVAL %s 2 fs:{%s}:sale fs:{%s}:away",
                    "redis.call('RENAME',KEYS[1],KEYS[2])redis.call('RPUSH',KEYS[1],'x')", item,
                    item);
        fx_refused(fx.server[1], 503, "sale_damaged", "POST /buy?item=%s&user=u1", item);
        all_answer(item, 503);
        fx_redis_do(fx.redis, "RENAME fs:{%s}:away fs:{%s}:sale", item, item);
        all_answer(item, 201);
    }
}

/* Also instances of which no buyer has met the segment: all requests go to all segments. */
static void a_damaged_segment_stops_all_instances(void **state)
{
    (void)state;
    start_everywhere("G1", "sharded");
    const char *sale = fx_current_sale("G1");
    fx_redis_do(fx.redis, "RENAME fs:{G1#2}:%s:stock fs:{G1#2}:away", sale);
    all_answer("G1", 503);
    for (int i = 0; i < BUYS; i++)
        fx_refused(fx.server[i % FX_INSTANCES], 503, "sale_damaged",
                   "POST /buy?item=G1&user=u1&request=g%d", i);
    fx_redis_do(fx.redis, "RENAME fs:{G1#2}:away fs:{G1#2}:%s:stock", sale);
    all_answer("G1", 201);
}

/* A sale for another program is one that can not be sold here, and is named. */
static void what_is_for_another_program_is_not_ready(void **state)
{
    (void)state;
    static const char id[] = "0123456789abcd";
    fx_redis_do(fx.redis, "SET fs:{Z1}:sale %s", id);
    fx_redis_do(fx.redis, "HSET fs:{Z1}:%s:cfg schema 99", id);
    fx_refused(fx.server[0], 503, "sale_unreadable", "GET /stock?item=Z1");
    assert_non_null(
        strstr(fx_expect(fx.server[0], 200, "GET /readyz"), "not sold: Z1 sale_unreadable"));
    fx_redis_do(fx.redis, "DEL fs:{Z1}:sale");
    fx_refused(fx.server[0], 404, "no_such_item", "GET /stock?item=Z1");
    assert_null(strstr(fx_expect(fx.server[0], 200, "GET /readyz"), "Z1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_starts_at_once_close_what_was_before_both),
        cmocka_unit_test(a_new_sale_is_not_taken_for_a_leftover),
        cmocka_unit_test(segments_are_remembered_over_a_sale_without),
        cmocka_unit_test(replaced_terms_sell_nothing),
        cmocka_unit_test(a_pointer_of_another_type_sells_nothing),
        cmocka_unit_test(a_damaged_segment_stops_all_instances),
        cmocka_unit_test(what_is_for_another_program_is_not_ready),
    };
    return fx_run(tests, .instances = 3);
}
