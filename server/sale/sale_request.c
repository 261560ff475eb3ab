/*
 * sale_request.c - one table of names and limits for JSON and options, and the final checks of
 * members that depend on each other.
 */
#include "server/sale/sale_request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server/strategies/registry.h"

#define SEGMENTS_DEFAULT 4
#define REPLICAS_DEFAULT 1
#define DAY_MS           (24 * 3600 * 1000)

static const struct number {
    const char *name;
    size_t offset;
    int64_t least, most;
} numbers[] = {
    {"stock", offsetof(sale_request, stock), 0, STOCK_MAX},
    {"per_user_limit", offsetof(sale_request, per_user_limit), 0, STOCK_MAX},
    {"reserve_max_s", offsetof(sale_request, reserve_max_s), 0, RESERVE_MOST_S},
    {"lease_ms", offsetof(sale_request, lease_ms), 10, DAY_MS},
    {"wait_ms", offsetof(sale_request, wait_ms), 0, 60000},
    {"hold_ms", offsetof(sale_request, hold_ms), 0, 60000},
    {"segments", offsetof(sale_request, segments), 1, SEGMENTS_MAX},
    {"min_replicas", offsetof(sale_request, min_replicas), 1, REPLICAS_MAX},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

void sale_request_init(sale_request *request)
{
    memset(request, 0, sizeof(*request));
    request->stock = request->per_user_limit = request->reserve_max_s = request->lease_ms = -1;
    request->wait_ms = request->hold_ms = request->segments = request->min_replicas = -1;
}

bool sale_request_limits(const char *name, int64_t *ret_least, int64_t *ret_most)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            *ret_least = numbers[i].least;
            *ret_most = numbers[i].most;
            return true;
        }
    }
    return false;
}

static int64_t said_or(int64_t said, int64_t otherwise)
{
    return said >= 0 ? said : otherwise;
}

static bool hold_fits(const sale_terms *terms, char *err, size_t err_len)
{
    long long most = terms_hold_most_ms(terms), whole = terms_request_ms(terms);
    if (terms->hold_ms <= most)
        return true;
    snprintf(err, err_len,
             "'hold_ms' must be an integer from 0 to %lld, for with this wait_ms a buyer is "
             "answered within %lld ms",
             most, whole);
    return false;
}

/* How many copies an order has before its buyer hears of it. */
static bool durability_fits(const sale_request *request, sale_terms *ret, char *err, size_t err_len)
{
    const char *level = request->durability[0] != '\0' ? request->durability : "memory";
    if (!durability_find(level, &ret->durability)) {
        snprintf(err, err_len, "'durability' must be memory, replicated or disk");
        return false;
    }
    bool replicated = ret->durability == DURABILITY_REPLICATED;
    if (!replicated && request->min_replicas > 0) {
        snprintf(err, err_len, "'min_replicas' goes with durability 'replicated' only");
        return false;
    }
    ret->min_replicas = replicated ? (int)said_or(request->min_replicas, REPLICAS_DEFAULT) : 0;
    return true;
}

bool sale_request_finish(const sale_request *request, sale_terms *ret, char *err, size_t err_len)
{
    memset(ret, 0, sizeof(*ret));
    if (!ident_ok(request->item, strlen(request->item))) {
        snprintf(err, err_len, "'item' must be 1 to 64 of [A-Za-z0-9_-]");
        return false;
    }
    if (request->stock < 0) {
        snprintf(err, err_len, "'stock' must be a number from 0 to %d", STOCK_MAX);
        return false;
    }
    const fs_strategy *strategy =
        request->strategy[0] != '\0' ? strategy_find(request->strategy) : strategy_standard();
    if (!strategy) {
        snprintf(err, err_len, "'strategy' must be one of %s", strategy_names());
        return false;
    }
    if (!durability_fits(request, ret, err, err_len))
        return false;
    if (strategy->sharded && request->per_user_limit > 0) {
        snprintf(err, err_len,
                 "'per_user_limit' can not be kept by strategy '%s': no segment "
                 "sees all orders of a user",
                 strategy->name);
        return false;
    }
    memcpy(ret->item, request->item, sizeof(ret->item));
    snprintf(ret->strategy, sizeof(ret->strategy), "%s", strategy->name);
    ret->initial = request->stock;
    ret->per_user_limit = said_or(request->per_user_limit, 0);
    ret->reserve_max_s = said_or(request->reserve_max_s, 0);
    if (ret->reserve_max_s > 0 && strategy->reserves && ret->per_user_limit == 0) {
        snprintf(err, err_len,
                 "'reserve_max_s' needs a 'per_user_limit' of 1 at least: without it "
                 "one user could reserve everything");
        return false;
    }
    ret->lease_ms = said_or(request->lease_ms, strategy->lease_ms);
    ret->wait_ms = said_or(request->wait_ms, strategy->wait_ms);
    ret->hold_ms = said_or(request->hold_ms, 0);
    ret->segments = strategy->sharded ? (int)said_or(request->segments, SEGMENTS_DEFAULT) : 0;
    return hold_fits(ret, err, err_len);
}

bool sale_request_reserves(const sale_terms *terms, char *err, size_t err_len)
{
    const fs_strategy *strategy = strategy_find(terms->strategy);
    if (terms->reserve_max_s == 0 || strategy->reserves)
        return true;
    snprintf(err, err_len, "strategy '%s' has no reservations: %s", strategy->name,
             strategy->sharded ? "a segment that was told to be sold out can not take units back"
                               : "who reads first and writes later would return stock twice");
    return false;
}

json_fault sale_request_read(const char *body, size_t len, sale_terms *ret, char *err,
                             size_t err_len)
{
    sale_request request;
    sale_request_init(&request);
    char replaces[IDENT_MAX + 1] = "";
    json_field fields[NUMBERS + 5] = {
        {.name = "item", .text = request.item, .text_len = sizeof(request.item)},
        {.name = "strategy", .text = request.strategy, .text_len = sizeof(request.strategy)},
        {.name = "durability", .text = request.durability, .text_len = sizeof(request.durability)},
        {.name = "replaces", .text = replaces, .text_len = sizeof(replaces)},
    };
    for (size_t i = 0; i < NUMBERS; i++)
        fields[i + 4] = (json_field){
            .name = numbers[i].name,
            .number = (int64_t *)((char *)&request + numbers[i].offset),
            .least = numbers[i].least,
            .most = numbers[i].most,
        };
    json_fault fault = json_read(body, len, fields, err, err_len);
    if (fault != JSON_FINE)
        return fault;
    if (!sale_request_finish(&request, ret, err, err_len))
        return JSON_BAD_VALUE;
    if (replaces[0] != '\0' && !ident_ok(replaces, strlen(replaces))) {
        snprintf(err, err_len, "'replaces' must be a sale: 1 to 64 of [A-Za-z0-9_-]");
        return JSON_BAD_VALUE;
    }
    memcpy(ret->replaces, replaces, sizeof(replaces));
    return JSON_FINE;
}
