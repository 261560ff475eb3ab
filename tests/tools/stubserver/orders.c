/* orders.c - orders as they are told, found, and listed. */
#include "tests/tools/stubserver/sale.h"

#include "tests/tools/stubserver/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 12 };

struct member {
    const char *name;
    bool word;
    char value[128];
};

static void put_id(const struct service *service, const struct sale *sale,
                   const struct order *order, char *id, size_t size)
{
    uint64_t mixed = (uint64_t)order->sequence * UINT64_C(0x9E3779B97F4A7C15);
    switch (service->options.ids) {
    case IDS_PLAIN:
        snprintf(id, size, "%" PRId64, order->sequence);
        break;
    case IDS_BIG:
        snprintf(id, size, "%" PRId64, INT64_C(9007199254740992000) + order->sequence);
        break;
    case IDS_UUID:
        snprintf(id, size, "%08x-0000-4000-8000-%012" PRIx64, (unsigned)(mixed >> 32),
                 mixed & UINT64_C(0xffffffffffff));
        break;
    case IDS_GAPS:
        snprintf(id, size, "%" PRId64, order->sequence * 10);
        break;
    default:
        if (sale->segments > 1)
            snprintf(id, size, "%s-%d-%" PRId64, sale->id, order->segment, order->number);
        else
            snprintf(id, size, "%s-%" PRId64, sale->id, order->number);
    }
}

/* The members of an order, as a 201 (without the last one) and the ledger have them. */
static void list_members(const struct service *service, const struct sale *sale,
                         const struct order *order, struct member *members)
{
    static const char *const names[MEMBERS] = {"order",    "request",  "item",       "sale",
                                               "user",     "quantity", "remaining",  "fence",
                                               "instance", "state",    "expires_us", "time_us"};
    for (int i = 0; i < MEMBERS; i++) {
        members[i].name = names[i];
        members[i].word = i < 5 || i == 8 || i == 9;
    }
    size_t size = sizeof(members[0].value);
    put_id(service, sale, order, members[0].value, size);
    snprintf(members[1].value, size, "%s", order->request);
    snprintf(members[2].value, size, "%s", service->item);
    snprintf(members[3].value, size, "%s", sale->id);
    snprintf(members[4].value, size, "%s", order->user);
    snprintf(members[5].value, size, "%" PRId64, order->quantity);
    snprintf(members[6].value, size, "%" PRId64, order->remaining);
    snprintf(members[7].value, size, "%" PRId64, order->fence);
    snprintf(members[8].value, size, "stub-%d", order->target);
    snprintf(members[9].value, size, "%s", state_name(order->state));
    snprintf(members[10].value, size, "%" PRId64, order->expires_us);
    snprintf(members[11].value, size, "%" PRId64, order->time_us);
}

/* Another order than this one, if there is one. */
static const struct order *another(const struct sale *sale, const struct order *order)
{
    for (size_t i = 0; i < sale->ledger.count; i++) {
        const struct order *other = &sale->ledger.orders[sale->ledger.count - 1 - i];
        if (strcmp(other->request, order->request) != 0)
            return other;
    }
    return order;
}

static void put_order(struct service *service, const struct sale *sale, struct text *text,
                      const char *place, const struct order *order, int count)
{
    struct member members[MEMBERS], others[MEMBERS];
    list_members(service, sale, order, members);
    list_members(service, sale, another(sale, order), others);
    service->lies->at.order = order;
    for (int i = 0; i < count; i++) {
        int m = service->options.backwards ? count - 1 - i : i;
        char said[256];
        if (order->expires_us == 0 && strcmp(members[m].name, "expires_us") == 0)
            continue;
        if (!lies_value(service->lies, place, members[m].name, members[m].word, members[m].value,
                        others[m].value, said, sizeof(said)))
            continue;
        text_name(text, members[m].name);
        text_add(text, "%s", said);
    }
}

static void put_headers(struct service *service, const struct sale *sale, const char *place,
                        const struct order *order, struct service_reply *reply)
{
    char location[224], other[224];
    bool replayed = strcmp(place, "replayed") == 0;
    snprintf(location, sizeof(location), "/orders/%s?item=%s&sale=%s", order->request,
             service->item, sale->id);
    snprintf(other, sizeof(other), "/orders/%s?item=%s&sale=%s", another(sale, order)->request,
             service->item, sale->id);
    if (!lies_value(service->lies, place, "location", false, location, other, reply->location,
                    sizeof(reply->location)))
        reply->location[0] = '\0';
    const char *lie = lies_about(service->lies, place, "replayed");
    snprintf(reply->replayed, sizeof(reply->replayed), "%s",
             lie != NULL ? lie
             : replayed  ? "true"
                         : "");
}

struct service_reply answer_order(struct service *service, const struct sale *sale,
                                  const char *place, const struct order *order, int status)
{
    struct text text = answer_begin(service);
    struct order first = *order; /* of which a 201 tells */
    first.state = order->expires_us > 0 ? STATE_RESERVED : STATE_SOLD;
    put_order(service, sale, &text, place, status == 201 ? &first : order,
              status == 201 ? MEMBERS - 1 : MEMBERS);
    service->lies->at.order = order;
    struct service_reply reply = answer_end(service, &text, place, status);
    if (reply.status == 201)
        put_headers(service, sale, place, order, &reply);
    return reply;
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* Whether it is final that there is none, which makes the id void. */
static bool is_final(struct service *service, struct sale *sale, const char *request)
{
    int64_t now = service->lies->at.now_ms;
    if (sale != current_sale(service))
        return true;
    struct order *asked = ledger_find(&sale->asked, request);
    if (asked == NULL) {
        struct order question = {.made_ms = now};
        snprintf(question.request, sizeof(question.request), "%s", request);
        ledger_add(&sale->asked, &question);
        asked = ledger_find(&sale->asked, request);
    }
    asked->hidden = asked->hidden || now - asked->made_ms >= service->options.final_after_ms;
    return asked->hidden;
}

static struct service_reply miss_order(struct service *service, struct sale *sale,
                                       const char *request)
{
    struct text text = answer_begin(service);
    bool final = is_final(service, sale, request);
    text_word(&text, "missing", "type", "about:blank");
    text_number(&text, "missing", "status", 404);
    text_word(&text, "missing", "code", "no_such_order");
    text_word(&text, "missing", "request", request);
    text_word(&text, "missing", "sale", sale->id);
    char said[96];
    if (lies_value(service->lies, "missing", "final", false, final ? "true" : "false", NULL, said,
                   sizeof(said))) {
        text_name(&text, "final");
        text_add(&text, "%s", said);
    }
    return answer_end(service, &text, "missing", 404);
}

struct service_reply show_order(struct service *service, const char *request)
{
    char id[REQUEST_MAX];
    query_value(service->request->query, "sale", id, sizeof(id));
    struct sale *sale = id[0] == '\0' ? current_sale(service) : find_sale(service, id);
    if (sale == NULL)
        return problem(service, "no_such_sale");
    const struct order *order = ledger_find(&sale->ledger, request);
    for (int i = 0; id[0] == '\0' && order == NULL && i < SALES_KEPT; i++) {
        order = ledger_find(&service->sales[i].ledger, request);
        sale = order == NULL ? sale : &service->sales[i];
    }
    service->lies->at.order = order;
    if (order != NULL && !order->hidden && !lies_does(service->lies, "found", "missing", NULL))
        return answer_order(service, sale, "found", order, 200);
    if (sale->ledger.count > 0 && lies_does(service->lies, "missing", "found", NULL))
        return answer_order(service, sale, "found", &sale->ledger.orders[0], 200);
    return miss_order(service, sale, request);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void put_entry(struct service *service, struct text *text, const struct order *order)
{
    service->lies->at.order = order;
    const char *lie = lies_about(service->lies, "ledger", "times");
    for (long times = lie == NULL ? !order->hidden : strtol(lie, NULL, 10); times > 0; times--) {
        text_add(text, "%s{", text->text[text->length - 1] == '[' ? "" : ",");
        put_order(service, current_sale(service), text, "ledger", order, MEMBERS);
        text_add(text, "}");
    }
}

/* An order that nobody made, at the end of the ledger. */
static void put_addition(struct service *service, struct text *text)
{
    const struct sale *sale = current_sale(service);
    const char *lie = lies_about(service->lies, "page", "extra");
    struct order order = {.number = 999999, .sequence = 999999, .quantity = 1, .user = "nobody"};
    if (lie == NULL || (lie[0] == '-' && sale->ledger.count == 0))
        return;
    if (lie[0] == '-')
        snprintf(order.request, sizeof(order.request), "%.*s%.20s",
                 (int)strcspn(sale->ledger.orders[0].request, "-"), sale->ledger.orders[0].request,
                 lie);
    else
        snprintf(order.request, sizeof(order.request), "%.60s", lie);
    put_entry(service, text, &order);
}

static void put_cursor(struct service *service, struct text *text, size_t at, size_t end)
{
    size_t size = service->options.page_orders, count = current_sale(service)->ledger.count;
    size_t empty = service->options.empty_pages * size;
    bool endless = lies_does(service->lies, "page", "endless", NULL);
    char next[32];
    snprintf(next, sizeof(next), "%zu", end < count ? end : at + size);
    if (end < count || endless || at + size < count + empty) {
        text_word(text, "page", "cursor", next);
        return;
    }
    text_name(text, "cursor");
    text_add(text, "null");
}

struct service_reply show_page(struct service *service)
{
    struct sale *sale = current_sale(service);
    char cursor[32];
    query_value(service->request->query, "cursor", cursor, sizeof(cursor));
    size_t size = service->options.page_orders, at = strtoul(cursor, NULL, 10), last = at + size;
    last = last > sale->ledger.count ? sale->ledger.count : last;
    sale->audits += at == 0;
    service->lies->at.audit = sale->audits;
    service->lies->at.page = (int)(at / size) + 1;
    struct text text = answer_begin(service);
    text_word(&text, "page", "item", service->item);
    text_word(&text, "page", "sale", sale->id);
    text_name(&text, "orders");
    text_add(&text, "[");
    bool reversed = lies_does(service->lies, "page", "reversed", NULL);
    for (size_t i = at; i < last; i++)
        put_entry(service, &text, &sale->ledger.orders[reversed ? at + last - 1 - i : i]);
    if (last == sale->ledger.count)
        put_addition(service, &text);
    text_add(&text, "]");
    service->lies->at.order = NULL;
    put_cursor(service, &text, at, last);
    return answer_end(service, &text, "page", 200);
}
