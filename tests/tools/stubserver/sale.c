/* sale.c - opens sales, and says what they are and what is left. */
#include "tests/tools/stubserver/sale.h"

#include "tests/tools/stubserver/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool locked, guarded;
} strategies[] = {
    {"none", false, false},   {"setnx", true, false},  {"watchdog", true, false},
    {"getset", true, false},  {"nested", true, false}, {"reentrant", true, false},
    {"pubsub", true, false},  {"fair", true, false},   {"fenced", true, true},
    {"combined", true, true}, {"atomic", false, true}, {"batched", false, true},
    {"sharded", true, true},
};

#define STRATEGIES (sizeof(strategies) / sizeof(strategies[0]))

bool is_locked(const char *strategy)
{
    for (size_t i = 0; i < STRATEGIES; i++) {
        if (strcmp(strategies[i].name, strategy) == 0)
            return strategies[i].locked;
    }
    return false;
}

struct service_reply show_strategies(struct service *service)
{
    struct text text = answer_begin(service);
    text_name(&text, "strategies");
    for (size_t i = 0; i < STRATEGIES; i++)
        text_add(&text,
                 "%s{\"name\":\"%s\",\"summary\":\"\",\"explanation\":\"\",\"source\":\"\","
                 "\"weakness\":\"\",\"locked\":%s,\"renews\":false,\"sharded\":%s,"
                 "\"replayable\":true,\"guarded\":%s,\"reserves\":%s,\"lease_ms\":3000,"
                 "\"wait_ms\":0}",
                 i == 0 ? "[" : ",", strategies[i].name, strategies[i].locked ? "true" : "false",
                 strcmp(strategies[i].name, "sharded") == 0 ? "true" : "false",
                 strategies[i].guarded ? "true" : "false",
                 may_reserve(strategies[i].name) ? "true" : "false");
    text_add(&text, "]");
    return answer_end(service, &text, "strategies", 200);
}

struct sale *current_sale(struct service *service)
{
    return &service->sales[service->sale_count % SALES_KEPT];
}

struct sale *find_sale(struct service *service, const char *id)
{
    for (int i = 0; i < SALES_KEPT; i++) {
        if (id[0] != '\0' && strcmp(service->sales[i].id, id) == 0)
            return &service->sales[i];
    }
    return NULL;
}

static struct sale *next_sale(struct service *service)
{
    int n = ++service->sale_count;
    struct sale *sale = current_sale(service);
    ledger_clear(&sale->ledger);
    ledger_clear(&sale->asked);
    *sale = (struct sale){.segments = 1};
    snprintf(sale->id, sizeof(sale->id), "s%d", n);
    return sale;
}

/* A number of the body, or `missing`. */
static int64_t term(const char *body, const char *name, int64_t missing)
{
    char value[32];
    body_value(body, name, value, sizeof(value));
    return value[0] == '\0' ? missing : strtoll(value, NULL, 10);
}

static void share_stock(struct sale *sale)
{
    for (int i = 0; i < sale->segments; i++)
        sale->left[i] = sale->initial / sale->segments + (i < sale->initial % sale->segments);
}

struct service_reply open_sale(struct service *service)
{
    char body[1024], stock[32], durability[32], previous[40] = "null";
    const struct service_request *request = service->request;
    snprintf(body, sizeof(body), "%.*s", (int)request->body_length, request->body);
    body_value(body, "stock", stock, sizeof(stock));
    body_value(body, "item", service->item, sizeof(service->item));
    if (service->item[0] == '\0' || stock[0] == '\0')
        return problem(service, "bad_sale");
    if (term(body, "reserve_max_s", 0) > 0) {
        char strategy[80];
        body_value(body, "strategy", strategy, sizeof(strategy));
        if (!may_reserve(strategy) || term(body, "per_user_limit", 0) == 0)
            return problem(service,
                           may_reserve(strategy) ? "bad_sale" : "reservations_not_supported");
    }
    if (service->sale_count == 0 && service->options.earlier_sale)
        next_sale(service);
    if (service->sale_count > 0)
        snprintf(previous, sizeof(previous), "\"%s\"", current_sale(service)->id);
    struct sale *sale = next_sale(service);
    body_value(body, "strategy", sale->strategy, sizeof(sale->strategy));
    bool sharded = strcmp(sale->strategy, "sharded") == 0;
    int64_t segments = term(body, "segments", sharded ? 4 : 0);
    body_value(body, "durability", durability, sizeof(durability));
    sale->initial = sale->remaining = strtoll(stock, NULL, 10);
    sale->limit = term(body, "per_user_limit", 0);
    sale->reserve_max_s = term(body, "reserve_max_s", 0);
    sale->segments = segments >= 1 && segments <= SEGMENTS_MAX ? (int)segments : 1;
    service->wait_ms = term(body, "wait_ms", service->options.wait_ms);
    share_stock(sale);
    struct text text = answer_begin(service);
    text_word(&text, "sale", "item", service->item);
    text_word(&text, "sale", "sale", sale->id);
    text_word(&text, "sale", "strategy", sale->strategy);
    text_number(&text, "sale", "stock", sale->initial);
    text_number(&text, "sale", "per_user_limit", sale->limit);
    text_number(&text, "sale", "reserve_max_s", sale->reserve_max_s);
    text_number(&text, "sale", "lease_ms", term(body, "lease_ms", 3000));
    text_number(&text, "sale", "wait_ms", service->wait_ms);
    text_number(&text, "sale", "hold_ms", term(body, "hold_ms", 0));
    text_word(&text, "sale", "durability", durability[0] == '\0' ? "memory" : durability);
    text_number(&text, "sale", "min_replicas", 0);
    text_number(&text, "sale", "segments", segments);
    text_name(&text, "previous");
    text_add(&text, "%s", previous);
    return answer_end(service, &text, "sale", 201);
}

static int64_t above(int64_t value, int64_t limit)
{
    return value > limit ? value - limit : 0;
}

struct service_reply show_stock(struct service *service)
{
    const struct sale *sale = current_sale(service);
    int64_t taken = sale->initial - sale->remaining;
    struct text text = answer_begin(service);
    text_word(&text, "stock", "item", service->item);
    /* Lies about what a sale is come later: before the first buy nobody could tell. */
    const char *place = sale->buys == 0 ? "stock before" : sale->buys < MID_BUYS ? "mid" : "stock";
    text_word(&text, place, "sale", sale->id);
    text_word(&text, place, "strategy", sale->strategy);
    text_number(&text, place, "initial", sale->initial);
    text_number(&text, place, "remaining", sale->remaining);
    text_number(&text, place, "orders", (int64_t)sale->ledger.count);
    text_number(&text, place, "units", sale->units);
    text_number(&text, place, "reserved", sale->reserved);
    text_number(&text, place, "sold", sale->units - sale->reserved);
    text_number(&text, place, "oversold", above(sale->units, sale->initial));
    text_number(&text, place, "lost_updates", above(sale->units, taken));
    text_number(&text, place, "unordered", above(taken, sale->units));
    text_number(&text, place, "time_us", wall_us());
    text_invented(&text, place, "halted");
    return answer_end(service, &text, place, 200);
}
