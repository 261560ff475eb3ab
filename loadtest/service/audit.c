#include "loadtest/service/audit.h"

#include "loadtest/base/number.h"
#include "loadtest/service/sale_api.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MS     10000L
#define RESOLVE_MAX 2000 /* unknown requests asked for one by one */
#define RESOLVE_NS  (200 * NS_PER_MS)

/* What is known of each ticket. */
struct entry {
    uint64_t order_hash; /* as the buyer was told */
    uint32_t orders;     /* seen in the ledger */
    enum receipt_kind kind;
    bool final;   /* unknown, but asked for, and never to have an order */
    bool differs; /* the ledger has another id */
};

struct audit {
    const struct load_plan *plan;
    const char *key_prefix;
    struct http *http;
    struct entry *entries;
    int64_t count;
    struct ledger_report report;
};

static bool enter_receipts(struct audit *audit, const struct fleet *fleet)
{
    audit->entries = calloc((size_t)audit->count + 1, sizeof(audit->entries[0]));
    if (!audit->entries)
        return false;
    for (int i = 0; i < fleet->threads; i++) {
        const struct receipts *receipts = &fleet->receipts[i];
        for (size_t j = 0; j < receipts->count; j++) {
            const struct receipt *receipt = &receipts->items[j];
            if (receipt->ticket < audit->count)
                audit->entries[receipt->ticket] =
                    (struct entry){.kind = receipt->kind, .order_hash = receipt->order_hash};
        }
    }
    return true;
}

/* ---- unknown outcomes ------------------------------------------------------------------------ */

/* Asks for every open unknown once, until the deadline; how many still are open. */
static int64_t ask_for_unknowns(struct audit *audit, mono_ns deadline)
{
    int64_t open = 0;
    int asked = 0;
    for (int64_t ticket = 0; ticket < audit->count; ticket++) {
        struct entry *entry = &audit->entries[ticket];
        if (entry->kind != RECEIPT_UNKNOWN || entry->final)
            continue;
        char request[80];
        snprintf(request, sizeof(request), "%s-%" PRId64, audit->key_prefix, ticket);
        /* Each answer may take seconds when the service is in trouble. */
        bool ask = asked++ < RESOLVE_MAX && clock_now() < deadline;
        enum order_state state = ask ? sale_order(audit->http, audit->plan, request) : ORDER_OPEN;
        if (state == ORDER_FOUND || state == ORDER_NEVER)
            entry->final = true;
        else
            open++;
    }
    return open;
}

static void resolve_unknowns(struct audit *audit, mono_ns patience)
{
    mono_ns deadline = clock_now() + patience;
    while (ask_for_unknowns(audit, deadline) > 0 && clock_now() < deadline)
        clock_sleep_until(clock_now() + RESOLVE_NS);
}

/* ---- the pages ------------------------------------------------------------------------------- */

/* The ticket in a request id of this run, or -1. */
static int64_t ticket_of(const struct audit *audit, const char *request)
{
    size_t length = strlen(audit->key_prefix);
    long ticket;
    if (strncmp(request, audit->key_prefix, length) != 0 || request[length] != '-' ||
        !number_parse_long(request + length + 1, 0, (long)audit->count - 1, &ticket))
        return -1;
    return ticket;
}

static bool same_order(const cJSON *order, uint64_t hash)
{
    char number[32];
    if (cJSON_IsString(order))
        return receipt_hash(order->valuestring) == hash;
    snprintf(number, sizeof(number), "%.0f", cJSON_IsNumber(order) ? order->valuedouble : -1.0);
    return receipt_hash(number) == hash;
}

static void enter_order(struct audit *audit, const cJSON *order)
{
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(order, "request");
    int64_t ticket = cJSON_IsString(request) ? ticket_of(audit, request->valuestring) : -1;
    if (ticket < 0) {
        audit->report.strangers++;
        return;
    }
    struct entry *entry = &audit->entries[ticket];
    audit->report.orders++;
    entry->orders++;
    if (entry->kind == RECEIPT_SOLD &&
        !same_order(cJSON_GetObjectItemCaseSensitive(order, "order"), entry->order_hash))
        entry->differs = true;
}

/* Enters one page; writes the next page's cursor ("" at the end). False: not a page. */
static bool enter_page(struct audit *audit, const struct http_reply *reply, char *cursor,
                       size_t cursor_size)
{
    cJSON *page = cJSON_ParseWithLength(reply->body, reply->length);
    const cJSON *orders = cJSON_GetObjectItemCaseSensitive(page, "orders");
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "cursor"), *order;
    bool good = cJSON_IsArray(orders);
    cJSON_ArrayForEach(order, orders)
    {
        enter_order(audit, order);
    }
    cursor[0] = '\0';
    if (cJSON_IsString(next))
        good = good && snprintf(cursor, cursor_size, "%s", next->valuestring) < (int)cursor_size;
    else if (cJSON_IsNumber(next))
        snprintf(cursor, cursor_size, "%.0f", next->valuedouble);
    cJSON_Delete(page);
    return good;
}

static void read_pages(struct audit *audit)
{
    char cursor[128] = "", url[768];
    do {
        struct http_reply reply;
        snprintf(url, sizeof(url), "%s/orders?item=%s%s%s", audit->plan->targets[0],
                 audit->plan->item, cursor[0] == '\0' ? "" : "&cursor=", cursor);
        if (!http_call(audit->http, "GET", url, NULL, PAGE_MS, &reply) || reply.status != 200 ||
            !enter_page(audit, &reply, cursor, sizeof(cursor)))
            return;
        audit->report.available = true;
    } while (cursor[0] != '\0' && strcmp(cursor, "0") != 0);
    audit->report.complete = true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void judge_entry(struct ledger_report *report, const struct entry *entry)
{
    if (entry->orders > 1)
        report->duplicates += entry->orders - 1;
    switch (entry->kind) {
    case RECEIPT_SOLD:
        report->missing += entry->orders == 0;
        report->differing += entry->differs;
        report->matched += entry->orders > 0 && !entry->differs;
        break;
    case RECEIPT_UNKNOWN:
        report->unknown_sold += entry->orders > 0;
        report->unknown_not_sold += entry->orders == 0 && entry->final;
        report->unknown_open += entry->orders == 0 && !entry->final;
        break;
    case RECEIPT_NONE:
        report->unannounced += entry->orders > 0;
        break;
    }
}

struct ledger_report ledger_check(struct http *http, const struct load_plan *plan,
                                  const char *key_prefix, const struct fleet *fleet, int64_t issued,
                                  mono_ns patience)
{
    struct audit audit = {.plan = plan, .key_prefix = key_prefix, .http = http, .count = issued};
    if (!enter_receipts(&audit, fleet))
        return audit.report;
    resolve_unknowns(&audit, patience);
    read_pages(&audit);
    for (int64_t ticket = 0; audit.report.complete && ticket < issued; ticket++)
        judge_entry(&audit.report, &audit.entries[ticket]);
    free(audit.entries);
    return audit.report;
}
