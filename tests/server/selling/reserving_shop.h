/*
 * reserving_shop.h - a sale with reservations that no instance keeps: the test is its only seller,
 * by the strategies themselves, as a Redis user whose rights it may take away.
 *
 * There are always an order that is sold, and one that is reserved for minutes.
 */
#ifndef TESTS_SERVER_SELLING_RESERVING_SHOP_H
#define TESTS_SERVER_SELLING_RESERVING_SHOP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/selling/sell.h"
#include "server/selling/strategy.h"
#include "server/strategies/registry.h"
#include "tests/server/ledger.h"
#include "tests/server/nodes.h"
#include "tests/support/service.h"

enum { UNITS = 1000000, LIMIT = 3, RESERVE_S = 300, HEAL_MS = 10000, CALL_MS = 3000 };

static fs_store store; /* as the service's user */

static struct {
    open_sale sale;
    void *state; /* of the strategy */
    const fs_strategy *strategy;
    const sale_keys *keys;
    int requests;        /* so far: r0, r1, ..., each of a user of its own */
    int reserved, sold;  /* the numbers of such requests */
    char word[64];       /* of the user of `reserved` */
    char bucket[32];     /* in which `reserved` ends */
    long long bucket_is; /* its number */
} shop;

static char context[256]; /* what was done to the sale */

/* ---- one sale -------------------------------------------------------------------------------- */

static inline purchase_result ask_as(purchase_action action, int i, int64_t reserve_s)
{
    purchase_result result;
    purchase request = {.action = action,
                        .quantity = 1,
                        .reserve_s = reserve_s,
                        .keyed = true,
                        .deadline = dlock_in_ms(CALL_MS)};
    snprintf(request.request, sizeof(request.request), "r%d", i);
    snprintf(request.user, sizeof(request.user), "u%d", i);
    request.not_after_us = node_redis_us(sale_node(&shop.sale, 0), request.deadline);
    shop.strategy->buy(&shop.sale, shop.state, &request, &result);
    return result;
}

static inline purchase_outcome ask_for(purchase_action action, int i, int64_t reserve_s)
{
    return ask_as(action, i, reserve_s).outcome;
}

static inline purchase_outcome buy(int64_t reserve_s)
{
    return ask_for(PURCHASE_BUY, shop.requests++, reserve_s);
}

static inline int make_order(int64_t reserve_s)
{
    if (buy(reserve_s) != BUY_SOLD)
        fail_msg("%s: no order", context);
    return shop.requests - 1;
}

static inline void make_orders(void)
{
    shop.sold = make_order(0);
    shop.reserved = make_order(RESERVE_S);
    purchase_result now = ask_as(PURCHASE_BUY, shop.reserved, RESERVE_S);
    assert_int_equal(now.outcome, BUY_SOLD);
    shop.bucket_is = now.order.expires_us / BUCKET_US;
    snprintf(shop.bucket, sizeof(shop.bucket), "%lld", shop.bucket_is);
    assert_true(fx_redis_text(fx.redis, shop.word, sizeof(shop.word), "HGET %s u%d",
                              shop.keys->users, shop.reserved));
}

static inline void open_shop(const fs_strategy *strategy)
{
    static int count;
    char err[256];
    memset(&shop, 0, sizeof(shop));
    shop.strategy = strategy;
    sale_terms terms = {.initial = UNITS,
                        .per_user_limit = LIMIT,
                        .reserve_max_s = 10 * RESERVE_S,
                        .lease_ms = 300,
                        .wait_ms = 60};
    snprintf(terms.item, sizeof(terms.item), "S%d", ++count);
    snprintf(terms.id, sizeof(terms.id), "0000000000%04d", count);
    snprintf(terms.strategy, sizeof(terms.strategy), "%s", strategy->name);
    snprintf(context, sizeof(context), "%s", strategy->name);
    assert_true(sale_open(&shop.sale, &terms, strategy, &store));
    shop.keys = shop.sale.keys;
    fx_redis_do(fx.redis, "SET %s %s", shop.keys->current, terms.id);
    fx_redis_do(fx.redis, "SET %s %d", shop.keys->stock, UNITS);
    fx_redis_do(fx.redis, "SET %s 0", shop.keys->sold);
    fx_redis_do(fx.redis, "HSET %s units 0 now 0 settled %s", shop.keys->reserved, "0 -");
    ledger_make(shop.keys, &shop.sale.known[0]);
    if (strategy->open && strategy->open(&shop.sale, &shop.state, err, sizeof(err)) != 0)
        fail_msg("%s: %s", strategy->name, err);
    make_orders();
}

static inline void close_shop(void)
{
    if (shop.strategy->close)
        shop.strategy->close(shop.state);
    sale_close(&shop.sale);
}

/* Runs a case for each strategy that reserves, in a sale of its own. */
static inline void for_each_shop(void (*run)(void))
{
    int count = 0;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        if (!(*s)->reserves)
            continue;
        open_shop(*s);
        run();
        close_shop();
        count++;
    }
    assert_true(count > 0);
}

/* ---- all that it has in Redis ---------------------------------------------------------------- */

enum { KEYS = 11 };
static const char *const key_names[KEYS] = {"current",  "stock",   "sold",   "orders",
                                            "ledger",   "users",   "epochs", "lost",
                                            "reserved", "buckets", "moves"};

typedef struct picture {
    uint64_t of[KEYS];
} picture;

static inline uint64_t add_text(uint64_t hash, const char *text, size_t len)
{
    for (size_t i = 0; i <= len; i++) /* the NUL behind it, too */
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

/* A number for what stands at a key, in which the order of a hash's fields, which reading may
 * change, does not count. */
static inline uint64_t look_at(const char *key)
{
    static const char *const reads[][2] = {{"hash", "HGETALL %s"},
                                           {"list", "LRANGE %s 0 -1"},
                                           {"zset", "ZRANGE %s 0 -1 WITHSCORES"},
                                           {"string", "GET %s"}};
    redisReply *type = fx_redis_reply(fx.redis, "TYPE %s", key), *all = NULL;
    uint64_t hash = add_text(14695981039346656037u, type->str, type->len), sum = 0;
    bool is_hash = strcmp(type->str, "hash") == 0;
    for (size_t i = 0; !all && i < COUNT(reads); i++)
        if (strcmp(type->str, reads[i][0]) == 0)
            all = fx_redis_reply(fx.redis, reads[i][1], key);
    if (all && all->type == REDIS_REPLY_STRING)
        hash = add_text(hash, all->str, all->len);
    for (size_t i = 0; all && i < all->elements; i += is_hash ? 2 : 1) {
        uint64_t one = add_text(is_hash ? 1 : hash, all->element[i]->str, all->element[i]->len);
        if (is_hash)
            sum += add_text(one, all->element[i + 1]->str, all->element[i + 1]->len);
        else
            hash = one;
    }
    freeReplyObject(type);
    freeReplyObject(all);
    return hash + sum;
}

static inline void take_picture(picture *ret)
{
    const sale_keys *k = shop.keys;
    const char *const names[KEYS] = {k->current,  k->stock,   k->sold,   k->orders,
                                     k->ledger,   k->users,   k->epochs, k->lost,
                                     k->reserved, k->buckets, k->moves};
    for (int i = 0; i < KEYS; i++)
        ret->of[i] = look_at(names[i]);
}

/* Fails when the sale is not what it was before. */
static inline void expect_as_before(const picture *before)
{
    picture now;
    take_picture(&now);
    for (int i = 0; i < KEYS; i++)
        if (before->of[i] != now.of[i])
            fail_msg("%s: %s was written", context, key_names[i]);
}

/* What is left, reserved and sold is what there was; and the buckets have what is reserved. */
static inline void check_books(void)
{
    long long left = fx_redis_number(fx.redis, "GET %s", shop.keys->stock);
    long long sold = fx_redis_number(fx.redis, "GET %s", shop.keys->sold);
    long long reserved = fx_redis_number(fx.redis, "HGET %s units", shop.keys->reserved);
    long long inside = 0, buckets = 0;
    redisReply *all = fx_redis_reply(fx.redis, "HGETALL %s", shop.keys->reserved);
    for (size_t i = 0; i + 1 < all->elements; i += 2) {
        if (strspn(all->element[i]->str, "0123456789") != all->element[i]->len)
            continue;
        inside += strtoll(all->element[i + 1]->str, NULL, 10);
        buckets++;
    }
    freeReplyObject(all);
    if (left + reserved + sold != UNITS || inside != reserved ||
        buckets != fx_redis_number(fx.redis, "ZCARD %s", shop.keys->buckets))
        fail_msg("%s: %lld left, %lld reserved (%lld in %lld buckets), %lld sold", context, left,
                 reserved, inside, buckets, sold);
}

/* Makes a bucket's time be over: the clock is set on by "now", which it is never before. */
static inline void pass(long long bucket)
{
    char now[32];
    snprintf(now, sizeof(now), "%lld", bucket * BUCKET_US);
    fx_redis_do(fx.redis, "HSET %s now %s", shop.keys->reserved, now);
}

/* ---- it goes on -------------------------------------------------------------------------------
 */

static inline bool reserves(void *arg)
{
    (void)arg;
    return buy(RESERVE_S) == BUY_SOLD;
}

/* It goes on, with all that there was. */
static inline void expect_mended(void)
{
    if (!fx_wait_until(reserves, NULL, HEAL_MS))
        fail_msg("%s: it does not go on", context);
    int fresh = shop.requests - 1;
    assert_int_equal(ask_for(PURCHASE_CONFIRM, fresh, 0), BUY_SOLD);
    assert_int_equal(ask_for(PURCHASE_CANCEL, fresh, 0), BUY_WAS_SOLD);
    assert_int_equal(ask_for(PURCHASE_REVOKE, fresh, 0), BUY_SOLD);
    assert_int_equal(ask_for(PURCHASE_CONFIRM, fresh, 0), BUY_WAS_CANCELLED);
    assert_int_equal(ask_for(PURCHASE_BUY, shop.reserved, RESERVE_S), BUY_SOLD);
    check_books();
}

/* ---- the group's setup and teardown -----------------------------------------------------------
 */

static inline int open_store(void **state)
{
    char url[512], err[256];
    fx_service_start(state);
    fx_redis_do(fx.redis, "ACL SETUSER service on >secret ~* &* +@all");
    fx_redis_url_as(fx.redis, "service:secret", url, sizeof(url));
    assert_int_equal(store_open(&store, url, NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    return 0;
}

static inline int close_store(void **state)
{
    store_close(&store);
    return fx_service_stop(state);
}

#endif
