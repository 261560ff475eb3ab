/* reserving.c - orders that are reserved: confirmed, cancelled, or over. */
#include "tests/tools/stubserver/sale.h"

#include "tests/tools/stubserver/request.h"

#include <stdio.h>
#include <string.h>

bool may_reserve(const char *strategy)
{
    static const char *const names[] = {"fenced", "combined", "atomic", "batched"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], strategy) == 0)
            return true;
    }
    return false;
}

const char *state_name(enum state state)
{
    static const char *const names[] = {[STATE_SOLD] = "sold",
                                        [STATE_RESERVED] = "reserved",
                                        [STATE_CANCELLED] = "cancelled",
                                        [STATE_EXPIRED] = "expired"};
    return names[state];
}

static bool lies(struct service *service, const struct order *order, const char *field)
{
    service->lies->at.order = order;
    return lies_does(service->lies, "reserving", field, NULL);
}

/* Units come back to the stock; or, of one that was back already, go again (`units` below 0). */
static void give_back(struct sale *sale, const struct order *order, int64_t units)
{
    sale->units -= units;
    sale->remaining += units;
    sale->left[order->segment] += units;
}

void reserve(struct service *service, struct sale *sale, struct order *order)
{
    order->state = STATE_RESERVED;
    order->expires_us = (order->time_us + order->reserve_s * 1000000 + 99999) / 100000 * 100000;
    sale->reserved += order->quantity;
    if (lies(service, order, "free")) {
        sale->remaining += order->quantity;
        sale->left[order->segment] += order->quantity;
    }
}

static void expire(struct service *service, struct sale *sale, struct order *order)
{
    if (lies(service, order, "never"))
        return;
    order->state = STATE_EXPIRED;
    if (lies(service, order, "kept"))
        return;
    sale->reserved -= order->quantity;
    if (lies(service, order, "lost"))
        sale->units -= order->quantity;
    else
        give_back(sale, order, order->quantity);
}

void expire_due(struct service *service)
{
    struct sale *sale = current_sale(service);
    int64_t now_us = wall_us();
    for (size_t i = 0; sale->reserve_max_s > 0 && i < sale->ledger.count; i++) {
        struct order *order = &sale->ledger.orders[i];
        int64_t early_us = lies(service, order, "early") ? order->reserve_s * 1000000 : 0;
        if (order->state == STATE_RESERVED && now_us >= order->expires_us - early_us)
            expire(service, sale, order);
    }
    service->lies->at.order = NULL;
}

/* Why it can not be, or NULL. */
static const char *refuse_ending(struct service *service, const struct order *order, bool confirm)
{
    switch (order->state) {
    case STATE_SOLD:
        return confirm || lies(service, order, "both") ? NULL : "order_sold";
    case STATE_CANCELLED:
        return !confirm || lies(service, order, "both") ? NULL : "order_cancelled";
    case STATE_EXPIRED:
        return confirm && lies(service, order, "late") ? NULL : "reservation_expired";
    default:
        return NULL;
    }
}

static void end_as(struct sale *sale, struct order *order, enum state state)
{
    bool had = order->state == STATE_SOLD || order->state == STATE_RESERVED;
    bool has = state == STATE_SOLD;
    sale->reserved -= order->state == STATE_RESERVED ? order->quantity : 0;
    give_back(sale, order, (had - has) * order->quantity);
    order->state = state;
}

struct service_reply end_order(struct service *service, const char *path)
{
    char request[REQUEST_MAX], user[REQUEST_MAX], id[REQUEST_MAX];
    bool confirm = strcmp(strrchr(path, '/'), "/confirm") == 0;
    const char *query = service->request->query, *word = confirm ? "confirmed" : "cancelled";
    snprintf(request, sizeof(request), "%.*s", (int)strcspn(path, "/"), path);
    query_value(query, "user", user, sizeof(user));
    query_value(query, "sale", id, sizeof(id));
    struct sale *sale = id[0] == '\0' ? current_sale(service) : find_sale(service, id);
    struct order *order = sale == NULL ? NULL : ledger_find(&sale->ledger, request);
    service->lies->at.order = order;
    const char *code = lies_about(service->lies, "ending", "as");
    if (code == NULL && (order == NULL || strcmp(order->user, user) != 0))
        code = "no_such_order";
    if (code == NULL)
        code = refuse_ending(service, order, confirm);
    if (code != NULL)
        return problem(service, code);
    if (!lies(service, order, confirm ? "unconfirmed" : "uncancelled"))
        end_as(sale, order, confirm ? STATE_SOLD : STATE_CANCELLED);
    struct order told = *order;
    told.state = confirm ? STATE_SOLD : STATE_CANCELLED;
    return answer_order(service, sale, word, &told, 200);
}
