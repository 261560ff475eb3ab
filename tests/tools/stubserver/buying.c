/* buying.c - what becomes of a POST /buy. */
#include "tests/tools/stubserver/sale.h"

#include "tests/tools/stubserver/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool nth(int64_t number, unsigned every)
{
    return every > 0 && number % every == 0;
}

/* ---- selling --------------------------------------------------------------------------------- */

/* The segment that can sell so much, from the request's own on; -1: none. */
static int segment_for(const struct sale *sale, const struct order *order)
{
    unsigned first = 0;
    for (const char *c = order->request; *c != '\0'; c++)
        first = first * 31 + (unsigned char)*c;
    for (int i = 0; i < sale->segments; i++) {
        int segment = (int)((first + (unsigned)i) % (unsigned)sale->segments);
        if (sale->left[segment] >= order->quantity)
            return segment;
    }
    return -1;
}

static void stamp(struct service *service, const struct sale *sale, struct order *order)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    order->time_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    order->made_ms = service->lies->at.now_ms;
    order->target = service->request->target;
    order->fence = is_locked(sale->strategy) ? 1000 + order->number : 0;
}

/* Takes the units, and writes the order down as its lies will have it. */
static void sell(struct service *service, struct sale *sale, struct order *order)
{
    const char *skip = lies_about(service->lies, "sell", "skip");
    const char *quantity = lies_about(service->lies, "sell", "quantity");
    int segment = segment_for(sale, order);
    order->segment = segment < 0 ? 0 : segment;
    order->quantity = quantity == NULL ? order->quantity : strtoll(quantity, NULL, 10);
    sale->numbers[order->segment] += skip == NULL ? 1 : 1 + strtoll(skip, NULL, 10);
    order->sequence = ++sale->sold;
    order->number = sale->numbers[order->segment];
    if (segment >= 0 && !lies_does(service->lies, "sell", "take", "0")) {
        sale->left[segment] -= order->quantity;
        sale->remaining -= order->quantity;
    }
    order->remaining = sale->left[order->segment];
    stamp(service, sale, order);
    if (order->reserve_s > 0)
        reserve(service, sale, order);
    service->lies->at.order = order;
    const char *record = lies_about(service->lies, "sell", "record");
    if (record != NULL && strcmp(record, "0") == 0)
        return;
    order->hidden = record != NULL && strcmp(record, "hidden") == 0;
    sale->units += order->quantity;
    ledger_add(&sale->ledger, order);
    if (record != NULL && strcmp(record, "2") == 0) {
        struct order second = *order;
        second.sequence = ++sale->sold;
        second.number = ++sale->numbers[order->segment];
        ledger_add(&sale->ledger, &second);
    }
}

/* ---- requests that are there already --------------------------------------------------------- */

static struct service_reply sell_again(struct service *service, struct sale *sale,
                                       struct order *earlier, const struct order *asked)
{
    service->lies->at.order = earlier;
    bool same = strcmp(earlier->user, asked->user) == 0 && earlier->quantity == asked->quantity &&
                earlier->reserve_s == asked->reserve_s;
    const char *quantity = lies_about(service->lies, "sell", "quantity");
    if (quantity == NULL && !same && !lies_does(service->lies, "reused", "told", NULL)) {
        const char *code = lies_about(service->lies, "reused", "as");
        return problem(service, code == NULL ? "request_reused" : code);
    }
    if (nth(++sale->replays, service->options.replay_busy))
        return problem(service, "busy");
    return answer_order(service, sale, "replayed", earlier, 201);
}

/* The order that the request has, if the service will know of it. */
static struct order *earlier_order(struct service *service, const struct sale *sale,
                                   const struct order *asked)
{
    struct order *earlier =
        asked->request[0] == '\0' ? NULL : ledger_find(&sale->ledger, asked->request);
    service->lies->at.order = earlier;
    if (earlier == NULL || lies_does(service->lies, "replayed", "forget", NULL))
        return NULL;
    bool same = strcmp(earlier->user, asked->user) == 0 && earlier->quantity == asked->quantity;
    return !same && lies_does(service->lies, "reused", "sell", NULL) ? NULL : earlier;
}

/* ---- what can forbid a sale ------------------------------------------------------------------ */

static bool beyond_limit(struct service *service, const struct sale *sale,
                         const struct order *order)
{
    int64_t units = order->quantity;
    if (sale->limit == 0 || lies_does(service->lies, "buy", "limit", "never"))
        return false;
    for (size_t i = 0; i < sale->ledger.count; i++) {
        bool has = sale->ledger.orders[i].state <= STATE_RESERVED;
        if (has && strcmp(sale->ledger.orders[i].user, order->user) == 0)
            units += sale->ledger.orders[i].quantity;
    }
    return units > sale->limit;
}

static bool is_void(const struct sale *sale, const struct order *order)
{
    const struct order *asked = ledger_find(&sale->asked, order->request);
    return asked != NULL && asked->hidden;
}

/* Whether the not_after that was sent, if there is one, has passed. */
static bool is_too_late(struct service *service)
{
    char not_after[32];
    query_value(service->request->query, "not_after", not_after, sizeof(not_after));
    return not_after[0] != '\0' && strtoll(not_after, NULL, 10) < wall_us() &&
           !lies_does(service->lies, "buy", "not_after", "ignore");
}

/* Why it is not sold, or NULL. */
static const char *refusal(struct service *service, struct sale *sale, const struct order *order)
{
    const char *code = lies_about(service->lies, "buy", "as");
    bool unknown = nth(sale->buys, service->options.unknown_every);
    if (nth(sale->buys, service->options.busy_every))
        return "busy";
    if (code != NULL)
        return code;
    if (is_void(sale, order))
        return "request_void";
    if (order->reserve_s > sale->reserve_max_s)
        return "reservation_not_offered";
    if (is_too_late(service))
        return "too_late";
    if (beyond_limit(service, sale, order))
        return order->quantity > sale->limit ? "quantity_above_limit" : "limit_reached";
    bool sold_out =
        segment_for(sale, order) < 0 && !lies_does(service->lies, "buy", "sold_out", "never");
    if (unknown && (sold_out || ++sale->unknowns % 2 == 0))
        return "unknown";
    return sold_out ? "sold_out" : NULL;
}

static struct service_reply buy_anew(struct service *service, struct sale *sale,
                                     struct order *order)
{
    service->lies->at.buys = ++sale->buys;
    const char *code = refusal(service, sale, order);
    if (code != NULL)
        return problem(service, code);
    bool unknown = nth(sale->buys, service->options.unknown_every);
    sell(service, sale, order);
    service->lies->at.left = sale->remaining;
    return unknown ? problem(service, "unknown") : answer_order(service, sale, "told", order, 201);
}

/* The sale that a buy goes to; NULL and a code when it goes to none. */
static struct sale *sale_asked_for(struct service *service, const struct order *order,
                                   const char **ret_code)
{
    char id[REQUEST_MAX];
    query_value(service->request->query, "sale", id, sizeof(id));
    struct sale *sale = id[0] == '\0' ? current_sale(service) : find_sale(service, id);
    if (sale == current_sale(service) || lies_does(service->lies, "closed", "ignore", NULL))
        return current_sale(service);
    const char *code = lies_about(service->lies, "closed", "as");
    if (sale != NULL && ledger_find(&sale->ledger, order->request) != NULL)
        return sale;
    *ret_code = code != NULL ? code : sale == NULL ? "no_such_sale" : "sale_closed";
    return NULL;
}

struct service_reply buy(struct service *service)
{
    char quantity[32], reserve_s[32];
    const struct service_request *request = service->request;
    const char *code = NULL;
    struct order order = {.quantity = 1};
    snprintf(order.request, sizeof(order.request), "%s", request->key);
    query_value(request->query, "user", order.user, sizeof(order.user));
    query_value(request->query, "quantity", quantity, sizeof(quantity));
    if (quantity[0] != '\0')
        order.quantity = strtoll(quantity, NULL, 10);
    query_value(request->query, "reserve_s", reserve_s, sizeof(reserve_s));
    order.reserve_s = strtoll(reserve_s, NULL, 10);
    struct sale *sale = sale_asked_for(service, &order, &code);
    if (sale == NULL)
        return problem(service, code);
    struct order *earlier = earlier_order(service, sale, &order);
    return earlier != NULL ? sell_again(service, sale, earlier, &order)
                           : buy_anew(service, sale, &order);
}
