/*
 * test_halt.c - halting a sale and letting it go on, where more goes wrong than that Redis is older
 * once: the same snapshot is restored again, keys are damaged, others look at the sale meanwhile.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "server/sale/sale_check.h"
#include "server/sale/sale_table.h"
#include "tests/support/service.h"

enum { WAIT_MS = 30000, BUYS = 12, SEGMENTS = 4, LOOKS = 8 * FX_INSTANCES };

static bool is_halted_on_all(void *item)
{
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        int status = fx_ask(fx.server[at], &reply, "POST /buy?item=%s&user=x", (char *)item);
        bool halted = status == 503 && strstr(reply.body, "\"sale_rolled_back\"");
        fx_reply_free(&reply);
        if (!halted)
            return false;
    }
    return true;
}

/* Another run of Redis is written to once it was compared. */
static bool is_admitted(void *arg)
{
    (void)arg;
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        int status = fx_ask(fx.server[at], &reply, "GET /readyz");
        bool held = status == 0 || strstr(reply.body, "server_changed") ||
                    strstr(reply.body, "store_unavailable");
        fx_reply_free(&reply);
        if (held)
            return false;
    }
    return true;
}

static bool sells_on_all(void *item)
{
    for (int at = 0; at < FX_INSTANCES; at++)
        if (fx_status(fx.server[at], "POST /buy?item=%s&user=x", (char *)item) != 201)
            return false;
    return true;
}

/* What an instance says was lost; -1 = it says nothing of a halt. */
static int told_lost(fx_server *server, const char *item)
{
    fx_reply reply;
    fx_ask(server, &reply, "POST /buy?item=%s&user=x", item);
    cJSON *json = cJSON_Parse(reply.body);
    const cJSON *lost = cJSON_GetObjectItemCaseSensitive(json, "lost_orders");
    int n = cJSON_IsNumber(lost) ? lost->valueint : -1;
    cJSON_Delete(json);
    fx_reply_free(&reply);
    return n;
}

/* Each adds to the halt what it knows itself, and hears of what others have added a look later. The
 * last one to add is never behind. */
static bool tell_the_same(void *item)
{
    int lost = told_lost(fx.server[0], item);
    bool same = lost >= 0;
    for (int at = 1; at < FX_INSTANCES; at++)
        same = same && told_lost(fx.server[at], item) == lost;
    return same;
}

/* Lets it go on, and waits until it does, on all instances; what was lost. */
static int resume(const char *item)
{
    char sale[64];
    assert_true(fx_wait_until(tell_the_same, (char *)item, WAIT_MS));
    const char *body =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=x", item);
    fx_copy_member(body, "sale", sale, sizeof(sale));
    cJSON *json = cJSON_Parse(body);
    int lost = (int)fx_json_number(json, "lost_orders");
    cJSON_Delete(json);
    fx_expect(fx.server[1], 200, "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}",
              item, sale, lost);
    assert_true(fx_wait_until(sells_on_all, (char *)item, WAIT_MS));
    return lost;
}

static void buy(const char *item, int count)
{
    for (int i = 0; i < count; i++)
        fx_expect(fx.server[i % FX_INSTANCES], 201, "POST /buy?item=%s&user=x", item);
}

/* ---- the same snapshot once more ------------------------------------------------------------- */

static void restore_and_expect_halt(const char *item)
{
    fx_redis_restart(fx.redis);
    if (!fx_wait_until(is_halted_on_all, (char *)item, WAIT_MS))
        fail_msg("%s: not halted", item);
    assert_true(fx_wait_until(is_admitted, NULL, WAIT_MS));
}

/* Between the two there are as many orders as were lost, or more: numbers do not tell. */
static void every_rollback_to_one_snapshot_is_noticed(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    fx_start_sale(fx.server[0], "again", "'stock':100000");
    buy("again", FX_INSTANCES);
    fx_redis_do(fx.redis, "SAVE");
    buy("again", BUYS);
    for (int i = 0; i < 3; i++) {
        restore_and_expect_halt("again");
        assert_true(resume("again") >= BUYS);
        buy("again", BUYS);
    }
}

/* ---- damaged keys ---------------------------------------------------------------------------- */

static void a_damaged_key_of_one_item_keeps_no_other_out(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    fx_start_sale(fx.server[0], "whole", "'stock':100000");
    fx_start_sale(fx.server[0], "broken", "'stock':100000");
    buy("whole", FX_INSTANCES);
    buy("broken", FX_INSTANCES);
    fx_redis_do(fx.redis, "DEL fs:{broken}:latest");
    fx_redis_do(fx.redis, "RPUSH fs:{broken}:latest x");
    fx_redis_do(fx.redis, "SAVE");
    buy("broken", BUYS);
    restore_and_expect_halt("broken");
    assert_true(fx_wait_until(sells_on_all, (char *)"whole", WAIT_MS));
}

/* ---- looked at meanwhile --------------------------------------------------------------------- */

static bool all_have_looked(void *scripts)
{
    char stats[4096] = "";
    int calls = 0;
    fx_redis_text(fx.redis, stats, sizeof(stats), "INFO commandstats");
    const char *line = strstr(stats, "cmdstat_evalsha:calls=");
    return line && sscanf(line, "cmdstat_evalsha:calls=%d", &calls) == 1 &&
           calls >= *(int *)scripts;
}

/* Whoever looks while the admin lets a sale go on finds segments that sell, and the item halted. */
static void lifted_segments_are_not_halted_again(void **state)
{
    (void)state;
    char sale[64], now[256];
    int scripts = LOOKS * (1 + SEGMENTS);
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "parts",
                           "'stock':100000,'strategy':'sharded','segments':%d", SEGMENTS));
    buy("parts", FX_INSTANCES);
    fx_redis_do(fx.redis, "DEL fs:{parts}:sale");
    assert_true(fx_wait_until(is_halted_on_all, (char *)"parts", WAIT_MS));
    fx_redis_do(fx.redis, "SET fs:{parts#1}:sale %s", sale);
    fx_redis_do(fx.redis, "CONFIG RESETSTAT");
    assert_true(fx_wait_until(all_have_looked, &scripts, WAIT_MS));
    fx_redis_text(fx.redis, now, sizeof(now), "GET fs:{parts#1}:sale");
    assert_string_equal(now, sale);
    resume("parts");
}

static bool tells_of(void *lost)
{
    return told_lost(fx.server[0], "sums") == *(int *)lost;
}

/* As when three have halted it at once, each of them first in one segment: the one that came first
 * to the item's own pointer did not know what the others did. */
static void a_halt_tells_of_all_that_its_segments_tell_of(void **state)
{
    (void)state;
    char words[256], sale[64], why[16];
    long long known, found;
    fx_start_sale(fx.server[0], "sums", "'stock':100000,'strategy':'sharded','segments':%d",
                  SEGMENTS);
    buy("sums", FX_INSTANCES);
    fx_redis_do(fx.redis, "DEL fs:{sums}:sale");
    assert_true(fx_wait_until(is_halted_on_all, (char *)"sums", WAIT_MS));
    int lost = told_lost(fx.server[0], "sums") + 3;
    assert_true(fx_redis_text(fx.redis, words, sizeof(words), "GET fs:{sums#1}:sale"));
    assert_int_equal(sscanf(words, "%63s %15s %lld %lld", sale, why, &known, &found), 4);
    snprintf(words, sizeof(words), "%s %s %lld %lld other 1", sale, why, known + 3, found);
    fx_redis_do(fx.redis, "SET fs:{sums#1}:sale %s", words);
    assert_true(fx_wait_until(tells_of, &lost, WAIT_MS));
    assert_int_equal(resume("sums"), lost);
}

/* ---- who stood still ------------------------------------------------------------------------- */

static const char older[] = "00000000000001", newer[] = "00000000000002";

static bool try_to_halt(const char *pointer, const char *epochs)
{
    char err[256], now[POINTER_MAX + 1];
    dlock_redis *redis;
    sale_halt halt = {.why = HALT_ROLLED_BACK, .instance = "test"};
    halt_reason seen = {pointer, epochs, NULL};
    snprintf(halt.sale, sizeof(halt.sale), "%s", newer);
    dlock_redis_options options = {.url = fx_redis_url(fx.redis)};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    bool done =
        halt_write(redis, "still", SEGMENT_NONE, &seen, &halt, now) && halt_read(now, &halt);
    dlock_redis_close(redis);
    return done;
}

/* The admin may have let it go on since, in another epoch. */
static void what_has_changed_since_it_was_seen_is_not_halted(void **state)
{
    (void)state;
    fx_redis_do(fx.redis, "SET fs:{still}:sale %s", newer);
    fx_redis_do(fx.redis, "SET fs:{still}:%s:epochs now", newer);
    assert_false(try_to_halt(newer, "before"));
    assert_false(try_to_halt(newer, ""));
    assert_false(try_to_halt(older, "now"));
    assert_true(try_to_halt(newer, "now"));
}

/* Whether that one was in force, or halted itself. */
static void what_an_older_sale_leaves_behind_expires(void **state)
{
    (void)state;
    char halted[128];
    snprintf(halted, sizeof(halted), "%s rolled_back 3 2 a 1", older);
    const char *const pointers[] = {older, halted};
    for (int i = 0; i < 2; i++) {
        redisReply *reply = fx_redis_reply(fx.redis, "SET fs:{still}:sale %s", pointers[i]);
        freeReplyObject(reply);
        fx_redis_do(fx.redis, "SET fs:{still}:%s:stock 5", older);
        assert_true(try_to_halt(pointers[i], NULL));
        assert_true(fx_redis_number(fx.redis, "TTL fs:{still}:%s:stock", older) > 0);
    }
}

/* So it misses them later, though it has sold none of them. */
static void who_looks_remembers_the_orders_of_all_segments(void **state)
{
    (void)state;
    enum { ORDERS = 12 };
    fs_store store;
    fs_sale *sale;
    sale_checked checked;
    char err[256], id[IDENT_MAX + 1];
    snprintf(
        id, sizeof(id), "%s",
        fx_start_sale(fx.server[0], "looked", "'stock':100,'strategy':'sharded','segments':2"));
    for (int i = 0; i < ORDERS; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=looked&user=u%d&request=looked-%d", i, i);
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "test", err, sizeof(err)), 0);
    assert_int_equal(
        fs_sale_open(&store, "looked", id, dlock_in_ms(WAIT_MS), &sale, err, sizeof(err)), SALE_OK);
    assert_int_equal(sale_known_orders(&sale->open_sale), 0);
    sale_check(&sale->open_sale, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_OK);
    assert_int_equal(sale_known_orders(&sale->open_sale), ORDERS);
    fs_sale_close(sale);
    store_close(&store);
}

/* ---- halted by several at once --------------------------------------------------------------- */

enum { HALTERS = 6, ROUNDS = 50 };

/* One process of several, of which each has seen another number of orders. */
typedef struct halter {
    pthread_t thread;
    pthread_barrier_t *start;
    fs_sale *sale;
    int64_t known;
    sale_checked checked;
} halter;

static void *check_at_once(void *arg)
{
    halter *h = arg;
    pthread_barrier_wait(h->start);
    sale_check(&h->sale->open_sale, dlock_in_ms(WAIT_MS), &h->checked);
    return NULL;
}

static void check_all_at_once(halter *all)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, HALTERS);
    for (int i = 0; i < HALTERS; i++) {
        all[i].start = &start;
        assert_int_equal(pthread_create(&all[i].thread, NULL, check_at_once, &all[i]), 0);
    }
    for (int i = 0; i < HALTERS; i++)
        pthread_join(all[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

/* Who hears that the sale is halted stops looking, and lets the server be sold from again. */
static void what_each_one_knows_is_in_the_halt(void **state)
{
    (void)state;
    fs_store store;
    char err[256], id[IDENT_MAX + 1];
    halter all[HALTERS] = {0};
    snprintf(id, sizeof(id), "%s", fx_start_sale(fx.server[0], "raced", "'stock':100"));
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "test", err, sizeof(err)), 0);
    for (int i = 0; i < HALTERS; i++) {
        assert_int_equal(
            fs_sale_open(&store, "raced", id, dlock_in_ms(WAIT_MS), &all[i].sale, err, sizeof(err)),
            SALE_OK);
        const open_sale *sale = &all[i].sale->open_sale;
        sale_check(sale, dlock_in_ms(WAIT_MS), &all[i].checked);
        assert_int_equal(all[i].checked.status, SALE_OK);
        fs_order seen = {.number = all[i].known = 5 + i};
        int64_t none;
        snprintf(seen.epoch, sizeof(seen.epoch), "%.12s", known_ledger_epochs(sale->known, &none));
        sale_saw_order(sale, &sale->keys[0], &seen);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fx_redis_do(fx.redis, "SET fs:{raced}:sale %s", id);
        check_all_at_once(all);
        for (int i = 0; i < HALTERS; i++)
            if (all[i].checked.status == SALE_HALTED)
                assert_true(all[i].checked.halt.known >= all[i].known);
    }
    for (int i = 0; i < HALTERS; i++)
        fs_sale_close(all[i].sale);
    store_close(&store);
}

/* ---- the sale before ------------------------------------------------------------------------- */

static fs_sale *open_as_witness(fs_store *store, const char *item, const char *id)
{
    fs_sale *sale;
    char err[256];
    sale_checked checked;
    assert_int_equal(fs_sale_open(store, item, id, dlock_in_ms(WAIT_MS), &sale, err, sizeof(err)),
                     SALE_OK);
    sale_check(&sale->open_sale, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_OK);
    return sale;
}

static void see_order(const fs_sale *sale, int64_t number)
{
    int64_t none;
    const open_sale *open = &sale->open_sale;
    fs_order order = {.number = number};
    snprintf(order.epoch, sizeof(order.epoch), "%.12s", known_ledger_epochs(open->known, &none));
    sale_saw_order(open, &open->keys[0], &order);
}

/* Whoever knows more orders of it than there are is told that another sale has begun. */
static void what_is_lost_of_the_sale_before_halts_the_next_one_once(void **state)
{
    (void)state;
    enum { LOST = 5 };
    fs_store store;
    sale_checked checked;
    char err[256], before[IDENT_MAX + 1], now[IDENT_MAX + 1];
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "test", err, sizeof(err)), 0);
    snprintf(before, sizeof(before), "%s", fx_start_sale(fx.server[0], "next", "'stock':100000"));
    fs_sale *old = open_as_witness(&store, "next", before);
    snprintf(now, sizeof(now), "%s", fx_start_sale(fx.server[0], "next", "'stock':100000"));
    sale_check(&old->open_sale, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_NONE);
    assert_int_equal(checked.lost, 0);
    see_order(old, LOST);
    sale_check(&old->open_sale, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_NONE);
    assert_int_equal(checked.lost, LOST);

    fs_sale *next = open_as_witness(&store, "next", now);
    const sale_gone gone = {before, checked.lost};
    sale_halt_foreign(&next->open_sale, &gone, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_HALTED);
    assert_true(fx_wait_until(is_halted_on_all, (void *)"next", WAIT_MS));
    assert_int_equal(resume("next"), LOST);
    sale_halt_foreign(&next->open_sale, &gone, dlock_in_ms(WAIT_MS), &checked);
    assert_int_equal(checked.status, SALE_OK);
    fs_sale_close(next);
    fs_sale_close(old);
    store_close(&store);
}

/* ---- descent --------------------------------------------------------------------------------- */

static void only_what_was_accepted_after_it_excuses_a_sale_that_does_not_follow(void **state)
{
    (void)state;
    fs_sale now = {.open_sale.terms = {.item = "P", .id = "00000000000020", .accepted = 0x18}};
    sale_terms remembered = {.id = "00000000000010", .accepted = 0x17};
    assert_int_equal(fs_sale_descends(&now, &remembered, dlock_in_ms(0)), SALE_OK);
    remembered.accepted = 0x19;
    assert_int_equal(fs_sale_descends(&now, &remembered, dlock_in_ms(0)), SALE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rollback_to_one_snapshot_is_noticed),
        cmocka_unit_test(a_damaged_key_of_one_item_keeps_no_other_out),
        cmocka_unit_test(lifted_segments_are_not_halted_again),
        cmocka_unit_test(a_halt_tells_of_all_that_its_segments_tell_of),
        cmocka_unit_test(who_looks_remembers_the_orders_of_all_segments),
        cmocka_unit_test(what_each_one_knows_is_in_the_halt),
        cmocka_unit_test(what_is_lost_of_the_sale_before_halts_the_next_one_once),
        cmocka_unit_test(what_has_changed_since_it_was_seen_is_not_halted),
        cmocka_unit_test(what_an_older_sale_leaves_behind_expires),
        cmocka_unit_test(only_what_was_accepted_after_it_excuses_a_sale_that_does_not_follow),
    };
    return fx_run(tests, .instances = FX_INSTANCES);
}
