/*
 * reservations.h - sales with reservations: their numbers, an order's state, and a Redis whose time
 * goes on at once.
 *
 * A reservation is made for minutes, and the clock of Redis is set forward over its end: so no busy
 * machine ends one too soon, and nobody waits for one. The Redis is a single one, for the members
 * of a topology would take each other for dead.
 */
#ifndef TESTS_SERVER_RESERVATIONS_H
#define TESTS_SERVER_RESERVATIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/clocks.h"
#include "tests/support/service.h"

enum { RESERVE_S = 300, RESERVE_WAIT_MS = 30000, RESERVED_BODY = 1024 };

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t redis_ahead_s;

static inline bool clock_is_known(void *server)
{
    return fx_status(server, "POST /buy?item=CLOCK&user=u") == 201;
}

/* Sets the clock of Redis, and waits until each instance makes orders by it again: whose clock is
 * behind gives its buyers no time. */
static inline void set_redis_ahead(int64_t ahead_s)
{
    redis_ahead_s = ahead_s;
    fx_clocks_set(-1, ahead_s);
    for (int at = 0; at < FX_INSTANCES && fx.server[at]; at++)
        if (!fx_wait_until(clock_is_known, fx.server[at], RESERVE_WAIT_MS))
            fail_msg("instance %d does not follow the clock", at);
}

static inline void let_redis_pass(int64_t seconds)
{
    set_redis_ahead(redis_ahead_s + seconds);
}

/* Group setup and teardown. */
static inline int start_with_clocks(void **state)
{
    fx_clocks_give(NULL);
    fx_service_start(state);
    fx_start_sale(fx.server[0], "CLOCK", "'stock':1000000,'strategy':'atomic'");
    set_redis_ahead(0);
    return 0;
}

static inline int stop_with_clocks(void **state)
{
    fx_service_stop(state);
    fx_clocks_end();
    return 0;
}

/* ---- sales ----------------------------------------------------------------------------------- */

/* Starts a sale of P0001 in which so many units a user may be reserved, for an hour at most. */
static inline const char *sell_reserving(const char *strategy, int stock, int limit)
{
    return fx_sell("'stock':%d,'per_user_limit':%d,'reserve_max_s':3600,'strategy':'%s'", stock,
                   limit, strategy);
}

typedef struct stock_numbers {
    int initial, remaining, reserved, sold, units, orders, unordered, oversold;
} stock_numbers;

/* As instance `at` tells them; fails unless they add up. */
static inline stock_numbers read_stock(int at)
{
    cJSON *json = cJSON_Parse(fx_expect(fx.server[at], 200, "GET /stock?item=P0001"));
    stock_numbers n = {.initial = (int)fx_json_number(json, "initial"),
                       .remaining = (int)fx_json_number(json, "remaining"),
                       .reserved = (int)fx_json_number(json, "reserved"),
                       .sold = (int)fx_json_number(json, "sold"),
                       .units = (int)fx_json_number(json, "units"),
                       .orders = (int)fx_json_number(json, "orders"),
                       .unordered = (int)fx_json_number(json, "unordered"),
                       .oversold = (int)fx_json_number(json, "oversold")};
    cJSON_Delete(json);
    if (n.remaining + n.reserved + n.sold != n.initial || n.units != n.reserved + n.sold ||
        n.unordered != 0 || n.oversold != 0)
        fail_msg("%d units: %d remaining, %d reserved, %d sold; units %d, unordered %d, oversold "
                 "%d",
                 n.initial, n.remaining, n.reserved, n.sold, n.units, n.unordered, n.oversold);
    return n;
}

static inline void expect_stock(int remaining, int reserved, int sold)
{
    for (int at = 0; at < FX_INSTANCES && fx.server[at]; at++) {
        stock_numbers n = read_stock(at);
        if (n.remaining != remaining || n.reserved != reserved || n.sold != sold)
            fail_msg("expected %d remaining, %d reserved, %d sold; there are %d, %d, %d", remaining,
                     reserved, sold, n.remaining, n.reserved, n.sold);
    }
}

static inline bool none_is_reserved(void *arg)
{
    (void)arg;
    return read_stock(0).reserved == 0;
}

/* Nobody buys: it is an instance that returns what is over. */
static inline void await_return(void)
{
    if (!fx_wait_until(none_is_reserved, NULL, RESERVE_WAIT_MS))
        fail_msg("no instance has returned what is over");
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Reserves so many units of P0001, at instance `at`; the answer into `body`. */
static inline void reserve(int at, const char *user, const char *request, int units, int seconds,
                           char body[RESERVED_BODY])
{
    snprintf(body, RESERVED_BODY, "%s",
             fx_expect(fx.server[at], 201,
                       "POST /buy?item=P0001&user=%s&request=%s&quantity=%d&reserve_s=%d", user,
                       request, units, seconds));
    fx_has(body, "\"state\":\"reserved\",\"expires_us\":");
}

/* GET /orders/{request} tells the state, everywhere. The answer, as of fx_expect(). */
static inline const char *expect_state(const char *request, const char *state)
{
    char part[48];
    const char *body = "";
    snprintf(part, sizeof(part), "\"state\":\"%s\"", state);
    for (int at = 0; at < FX_INSTANCES && fx.server[at]; at++) {
        body = fx_expect(fx.server[at], 200, "GET /orders/%s?item=P0001", request);
        fx_has(body, part);
    }
    return body;
}

/* Asks for the same again at each instance: the same bytes. */
static inline void expect_same(int status, const char *request, const char *body)
{
    for (int at = 0; at < FX_INSTANCES && fx.server[at]; at++)
        assert_string_equal(fx_expect(fx.server[at], status, "%s", request), body);
}

/* Runs a case for each strategy that reserves. */
static inline void for_each_reserving(void (*run)(const char *strategy))
{
    int count = 0;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char name[sizeof(s->name)];
        if (!s->reserves)
            continue;
        memcpy(name, s->name, sizeof(name));
        print_message("%s\n", name);
        run(name);
        count++;
    }
    assert_true(count > 0);
}

#endif
