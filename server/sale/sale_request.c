/* sale_request.c - see sale_request.h. */
#include "server/sale/sale_request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server/base/json.h"
#include "server/selling/strategy.h"

#define STRATEGY_DEFAULT "combined"
#define SEGMENTS_DEFAULT 4
#define DAY_MS           (24 * 3600 * 1000)

static const struct number {
    const char *name;
    size_t offset;
    int64_t least, most;
} numbers[] = {
    {"stock", offsetof(fs_draft, stock), 0, STOCK_MAX},
    {"per_user_limit", offsetof(fs_draft, per_user_limit), 0, STOCK_MAX},
    {"lease_ms", offsetof(fs_draft, lease_ms), 10, DAY_MS},
    {"wait_ms", offsetof(fs_draft, wait_ms), 0, 60000},
    {"hold_ms", offsetof(fs_draft, hold_ms), 0, 60000},
    {"segments", offsetof(fs_draft, segments), 1, SEGMENTS_MAX},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

void draft_init(fs_draft *draft)
{
    memset(draft, 0, sizeof(*draft));
    draft->stock = draft->per_user_limit = draft->lease_ms = -1;
    draft->wait_ms = draft->hold_ms = draft->segments = -1;
}

bool draft_limits(const char *name, int64_t *least, int64_t *most)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            *least = numbers[i].least;
            *most = numbers[i].most;
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

bool draft_finish(const fs_draft *draft, sale_terms *ret, char *err, size_t err_len)
{
    memset(ret, 0, sizeof(*ret));
    if (!ident_ok(draft->item, strlen(draft->item))) {
        snprintf(err, err_len, "'item' must be 1 to 64 of [A-Za-z0-9_-]");
        return false;
    }
    if (draft->stock < 0) {
        snprintf(err, err_len, "'stock' must be a number from 0 to %d", STOCK_MAX);
        return false;
    }
    const char *name = draft->strategy[0] != '\0' ? draft->strategy : STRATEGY_DEFAULT;
    ret->strategy = strategy_find(name);
    if (!ret->strategy) {
        snprintf(err, err_len, "'strategy' must be one of %s", strategy_names());
        return false;
    }
    if (!durability_find(draft->durability[0] ? draft->durability : "memory", &ret->durability)) {
        snprintf(err, err_len, "'durability' must be memory or disk");
        return false;
    }
    if (ret->strategy->sharded && draft->per_user_limit > 0) {
        snprintf(err, err_len,
                 "'per_user_limit' can not be kept by strategy '%s': no segment "
                 "sees all orders of a user",
                 name);
        return false;
    }
    memcpy(ret->item, draft->item, sizeof(ret->item));
    ret->initial = draft->stock;
    ret->per_user_limit = said_or(draft->per_user_limit, 0);
    ret->lease_ms = said_or(draft->lease_ms, ret->strategy->lease_ms);
    ret->wait_ms = said_or(draft->wait_ms, ret->strategy->wait_ms);
    ret->hold_ms = said_or(draft->hold_ms, 0);
    ret->segments = ret->strategy->sharded ? (int)said_or(draft->segments, SEGMENTS_DEFAULT) : 0;
    return hold_fits(ret, err, err_len);
}

bool draft_read(const char *body, size_t len, sale_terms *ret, char *err, size_t err_len)
{
    fs_draft draft;
    draft_init(&draft);
    json_field fields[NUMBERS + 4] = {
        {.name = "item", .text = draft.item, .text_len = sizeof(draft.item)},
        {.name = "strategy", .text = draft.strategy, .text_len = sizeof(draft.strategy)},
        {.name = "durability", .text = draft.durability, .text_len = sizeof(draft.durability)},
    };
    for (size_t i = 0; i < NUMBERS; i++)
        fields[i + 3] = (json_field){
            .name = numbers[i].name,
            .number = (int64_t *)((char *)&draft + numbers[i].offset),
            .least = numbers[i].least,
            .most = numbers[i].most,
        };
    return json_read(body, len, fields, err, err_len) && draft_finish(&draft, ret, err, err_len);
}
