/*
 * All tickets of the run in one array, an entry each: first what the buyers were told, then what
 * the ledger has, page by page; at the end every entry is compared. So neither side is ever
 * searched for the other.
 */
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
typedef struct lt_audit_entry {
    uint64_t order_hash; /* as the buyer was told */
    uint32_t orders;     /* seen in the ledger */
    lt_receipt_kind kind;
    bool final;   /* unknown, but asked for: its order is there, or never will be */
    bool differs; /* the ledger has another id */
} lt_audit_entry;

typedef struct lt_auditor {
    lt_http *http;
    const lt_run_state *state;
    lt_audit_entry *entries;
    int64_t count; /* of tickets */
    lt_audit report;
} lt_auditor;

static void enter_receipts(lt_auditor *auditor, const lt_tally *tally)
{
    for (size_t i = 0; i < tally->receipt_count; i++) {
        const lt_receipt *receipt = &tally->receipts[i];
        if (receipt->ticket < auditor->count)
            auditor->entries[receipt->ticket] =
                (lt_audit_entry){.kind = receipt->kind, .order_hash = receipt->order_hash};
    }
}

/* ---- unknown outcomes ------------------------------------------------------------------------ */

/* Asks for every open unknown once, until the deadline; how many still are open. */
static int64_t ask_for_unknowns(lt_auditor *auditor, mono_ns deadline)
{
    int64_t open = 0;
    int asked = 0;
    for (int64_t ticket = 0; ticket < auditor->count; ticket++) {
        lt_audit_entry *entry = &auditor->entries[ticket];
        if (entry->kind != RECEIPT_UNKNOWN || entry->final)
            continue;
        char request[80];
        snprintf(request, sizeof(request), "%s-%" PRId64, auditor->state->key_prefix, ticket);
        /* Each answer may take seconds when the service is in trouble. */
        entry->final = asked++ < RESOLVE_MAX && clock_now() < deadline &&
                       sale_order_is_final(auditor->http, auditor->state->plan, request);
        open += !entry->final;
    }
    return open;
}

static void resolve_unknowns(lt_auditor *auditor, mono_ns patience)
{
    mono_ns deadline = clock_now() + patience;
    while (ask_for_unknowns(auditor, deadline) > 0 && clock_now() < deadline)
        clock_sleep_until(clock_now() + RESOLVE_NS);
}

/* ---- the pages ------------------------------------------------------------------------------- */

/* The ticket in a request id of this run, or -1. */
static int64_t ticket_of(const lt_auditor *auditor, const char *request)
{
    size_t length = strlen(auditor->state->key_prefix);
    long ticket;
    if (strncmp(request, auditor->state->key_prefix, length) != 0 || request[length] != '-' ||
        !number_parse_long(request + length + 1, 0, (long)auditor->count - 1, &ticket))
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

static void enter_order(lt_auditor *auditor, const cJSON *order)
{
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(order, "request");
    int64_t ticket = cJSON_IsString(request) ? ticket_of(auditor, request->valuestring) : -1;
    if (ticket < 0) {
        auditor->report.strangers++;
        return;
    }
    lt_audit_entry *entry = &auditor->entries[ticket];
    entry->orders++;
    if (entry->kind == RECEIPT_SOLD &&
        !same_order(cJSON_GetObjectItemCaseSensitive(order, "order"), entry->order_hash))
        entry->differs = true;
}

/* Enters one page; writes the next page's cursor ("" at the end). False: not a page. */
static bool enter_page(lt_auditor *auditor, const lt_http_reply *reply, char *cursor,
                       size_t cursor_size)
{
    cJSON *page = cJSON_Parse(reply->body);
    const cJSON *orders = cJSON_GetObjectItemCaseSensitive(page, "orders");
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "cursor"), *order;
    bool good = cJSON_IsArray(orders);
    cJSON_ArrayForEach(order, orders)
    {
        enter_order(auditor, order);
    }
    cursor[0] = '\0';
    if (cJSON_IsString(next))
        good = good && snprintf(cursor, cursor_size, "%s", next->valuestring) < (int)cursor_size;
    else if (cJSON_IsNumber(next))
        snprintf(cursor, cursor_size, "%.0f", next->valuedouble);
    cJSON_Delete(page);
    return good;
}

static void read_pages(lt_auditor *auditor)
{
    char cursor[128] = "", url[768];
    do {
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/orders?item=%s%s%s", auditor->state->plan->targets[0],
                 auditor->state->plan->item, cursor[0] == '\0' ? "" : "&cursor=", cursor);
        if (!http_call(auditor->http, "GET", url, NULL, PAGE_MS, &reply) || reply.status != 200 ||
            !enter_page(auditor, &reply, cursor, sizeof(cursor)))
            return;
        auditor->report.available = true;
    } while (cursor[0] != '\0' && strcmp(cursor, "0") != 0);
    auditor->report.complete = true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void judge_entry(lt_audit *report, const lt_audit_entry *entry)
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

lt_audit audit_check(lt_http *http, const lt_run_state *state, mono_ns patience)
{
    lt_auditor auditor = {.http = http, .state = state, .count = state->tickets};
    auditor.entries = calloc((size_t)auditor.count + 1, sizeof(auditor.entries[0]));
    if (!auditor.entries)
        return auditor.report;
    for (int i = 0; i < state->tallies.count; i++)
        enter_receipts(&auditor, &state->tallies.items[i]);
    resolve_unknowns(&auditor, patience);
    read_pages(&auditor);
    for (int64_t ticket = 0; auditor.report.complete && ticket < auditor.count; ticket++)
        judge_entry(&auditor.report, &auditor.entries[ticket]);
    free(auditor.entries);
    return auditor.report;
}
