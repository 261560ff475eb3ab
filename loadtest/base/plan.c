/*
 * Names, and the only part of a plan that has a syntax: a sale as the user writes it, such as
 * "setnx:wait_ms=0:lease_ms=500".
 */
#include "loadtest/base/plan.h"

#include "loadtest/base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *model_name(lt_model model)
{
    static const char *const names[] = {
        [MODEL_CLOSED] = "closed", [MODEL_OPEN] = "open", [MODEL_FLASH] = "flash"};
    return names[model];
}

const char *preset_name(lt_preset preset)
{
    static const char *const names[] = {"", "contended", "reference"};
    return names[preset];
}

void plan_user_name(const lt_plan *plan, int64_t ticket, char ret[USER_NAME_MAX])
{
    if (plan->same_names)
        snprintf(ret, USER_NAME_MAX, "buyer-%d", plan_user_of(plan, ticket));
    else
        snprintf(ret, USER_NAME_MAX, "u%" PRId64, ticket);
}

lt_sale_spec sale_spec_none(void)
{
    return (lt_sale_spec){.lease_ms = SALE_NOT_GIVEN,
                          .wait_ms = SALE_NOT_GIVEN,
                          .hold_ms = SALE_NOT_GIVEN,
                          .per_user_limit = SALE_NOT_GIVEN,
                          .segments = SALE_NOT_GIVEN};
}

static bool is_option(const char *option, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(option, name, length) == 0;
}

/* The field of `spec` that an option names, or NULL. */
static long *numeric_field(lt_sale_spec *spec, const char *name, size_t length)
{
    const struct {
        const char *name;
        long *field;
    } fields[] = {{"lease_ms", &spec->lease_ms},
                  {"wait_ms", &spec->wait_ms},
                  {"hold_ms", &spec->hold_ms},
                  {"per_user_limit", &spec->per_user_limit},
                  {"segments", &spec->segments}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (is_option(name, length, fields[i].name))
            return fields[i].field;
    }
    return NULL;
}

static bool parse_option(const char *option, lt_sale_spec *spec, char *err, size_t err_len)
{
    const char *equals = strchr(option, '=');
    size_t name_length = !equals ? strlen(option) : (size_t)(equals - option);
    if (equals && is_option(option, name_length, "durability")) {
        int written = snprintf(spec->durability, sizeof(spec->durability), "%s", equals + 1);
        if (written > 0 && (size_t)written < sizeof(spec->durability))
            return true;
        snprintf(err, err_len, "\"%s\" needs 1 to %zu letters", option,
                 sizeof(spec->durability) - 1);
        return false;
    }
    long *field = numeric_field(spec, option, name_length);
    if (!field) {
        snprintf(err, err_len,
                 "\"%s\" is not an option of a sale; there are lease_ms, wait_ms, hold_ms, "
                 "per_user_limit, segments and durability",
                 option);
        return false;
    }
    if (!equals || !number_parse_long(equals + 1, 0, 86400000, field)) {
        snprintf(err, err_len, "\"%s\" needs a whole number from 0 to 86400000", option);
        return false;
    }
    return true;
}

bool sale_spec_parse(const char *text, const lt_sale_spec *defaults, lt_sale_spec *ret, char *err,
                     size_t err_len)
{
    lt_sale_spec spec = *defaults;
    char copy[sizeof(spec.label)];
    size_t name_length = strcspn(text, ":");
    if (name_length == 0 || name_length >= sizeof(spec.strategy) || strlen(text) >= sizeof(copy)) {
        snprintf(err, err_len, "\"%s\" is not a strategy", text);
        return false;
    }
    snprintf(spec.label, sizeof(spec.label), "%s", text);
    snprintf(spec.strategy, sizeof(spec.strategy), "%.*s", (int)name_length, text);
    snprintf(copy, sizeof(copy), "%s", text + name_length);
    char *rest = copy, *option;
    while ((option = strsep(&rest, ":"))) {
        if (*option != '\0' && !parse_option(option, &spec, err, err_len))
            return false;
    }
    *ret = spec;
    return true;
}

#define SOLD_SHARE 0.5 /* of the answers of a timed run */
#define STOCK_MAX  1e9

void plan_limit_time(lt_plan *plan, double throughput_rps)
{
    double units = throughput_rps * clock_seconds(plan->run_length) * (double)plan->quantity;
    if (!(units > 0.0))
        return;
    plan->stock = lround(fmin(ceil(units * SOLD_SHARE), STOCK_MAX));
    plan->requests = 0;
    plan->duration = plan->run_length;
}

/* 0..1, by chance. */
static double chance_of(const lt_plan *plan, uint64_t number)
{
    uint64_t mixed = (number + plan->seed) * UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (double)(mixed >> 11) * 0x1p-53;
}

bool plan_replays(const lt_plan *plan, int64_t ticket)
{
    return chance_of(plan, (uint64_t)ticket) < plan->replay;
}

const char *plan_ending(const lt_plan *plan, int64_t ticket)
{
    double chance = chance_of(plan, ~(uint64_t)ticket);
    if (plan->reserve_s == 0 || chance >= plan->confirm + plan->cancel)
        return NULL;
    return chance < plan->confirm ? "confirm" : "cancel";
}
