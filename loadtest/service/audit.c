/*
 * All tickets of the run in one array, an entry each: first what the buyers were told, then what
 * the ledger has, page by page; at the end every entry is compared. So neither side is ever
 * searched for the other.
 *
 * The tickets of a user are not the neighbours of each other (see plan.h): the array has them user
 * by user, so that it is no longer than the requests that were made.
 */
#include "loadtest/service/audit.h"

#include "loadtest/base/number.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_NS (200 * NS_PER_MS)
#define ORDERS_MORE  1000 /* that a ledger may list, beyond four for each request */

/* What is known of each ticket. */
typedef struct lt_audit_entry {
    uint64_t order_hash;  /* as the buyer was told, like the next two; 0: it was not */
    int64_t remaining;    /* -1: it was not */
    uint64_t listed_hash; /* of the order's id in the ledger; 0: none is there */
    lt_receipt_kind kind;
    lt_fate fate;    /* of an unknown one, as the service said when it was asked */
    uint32_t orders; /* seen in the ledger */
    bool differs;    /* the ledger has another id, or other units left */
} lt_audit_entry;

typedef struct lt_auditor {
    lt_http *http;
    const lt_run_state *state;
    lt_audit_entry *entries;
    int64_t count; /* of entries */
    int64_t *from; /* of each of the users: where its entries begin; open model: one for all */
    int users;
    lt_audit report;
} lt_auditor;

/* ---- the entries ----------------------------------------------------------------------------- */

static bool make_entries(lt_auditor *auditor)
{
    const lt_run_state *state = auditor->state;
    auditor->users = state->plan->model == MODEL_OPEN ? 1 : state->plan->users;
    auditor->from = calloc((size_t)auditor->users + 1, sizeof(auditor->from[0]));
    if (!auditor->from)
        return false;
    for (int user = 0; user < auditor->users; user++)
        auditor->from[user + 1] = auditor->from[user] + run_state_taken(state, user);
    auditor->count = auditor->from[auditor->users];
    auditor->entries = calloc((size_t)auditor->count + 1, sizeof(auditor->entries[0]));
    return auditor->entries;
}

/* The entry of a ticket, or NULL when nobody took it. */
static lt_audit_entry *entry_of(const lt_auditor *auditor, int64_t ticket)
{
    int user = (int)(ticket % auditor->users);
    int64_t at = auditor->from[user] + ticket / auditor->users;
    return at < auditor->from[user + 1] ? &auditor->entries[at] : NULL;
}

static void enter_receipts(lt_auditor *auditor, const lt_tally *tally)
{
    for (size_t i = 0; i < tally->receipt_count; i++) {
        const lt_receipt *receipt = &tally->receipts[i];
        lt_audit_entry *entry = entry_of(auditor, receipt->ticket);
        *entry = (lt_audit_entry){.kind = receipt->kind,
                                  .order_hash = receipt->order_hash,
                                  .remaining = receipt->remaining};
        auditor->report.unknown += receipt->kind == RECEIPT_UNKNOWN;
    }
}

/* ---- unknown outcomes ------------------------------------------------------------------------ */

/* Asks for every open unknown once, until the deadline; how many still are open. */
static int64_t ask_for_unknowns(lt_auditor *auditor, const lt_tally *tally, mono_ns deadline)
{
    int64_t open = 0;
    for (size_t i = 0; i < tally->receipt_count; i++) {
        int64_t ticket = tally->receipts[i].ticket;
        lt_audit_entry *entry = entry_of(auditor, ticket);
        char request[REQUEST_ID_MAX], user[USER_NAME_MAX];
        if (entry->kind != RECEIPT_UNKNOWN || entry->fate != FATE_OPEN)
            continue;
        run_state_request_id(auditor->state, ticket, request);
        plan_user_name(auditor->state->plan, ticket, user);
        /* Each answer may take seconds when the service is in trouble. */
        if (clock_now() < deadline)
            entry->fate =
                sale_fate(auditor->http, auditor->state->plan, auditor->state->sale, request, user);
        open += entry->fate == FATE_OPEN;
    }
    return open;
}

/* Likewise, of all tallies. */
static int64_t ask_for_all(lt_auditor *auditor, mono_ns deadline)
{
    const lt_tallies *tallies = &auditor->state->tallies;
    int64_t open = 0;
    for (int i = 0; i < tallies->count; i++)
        open += ask_for_unknowns(auditor, &tallies->items[i], deadline);
    return open;
}

static void resolve_unknowns(lt_auditor *auditor, mono_ns patience)
{
    mono_ns deadline = clock_now() + patience;
    while (ask_for_all(auditor, deadline) > 0 && clock_now() < deadline)
        clock_sleep_until(clock_now() + ASK_AGAIN_NS);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* The ticket in a request id of this run; -1: another's. There is one way to write it. */
static int64_t ticket_of(const lt_auditor *auditor, const char *request)
{
    size_t length = strlen(auditor->state->key_prefix);
    char written[REQUEST_ID_MAX];
    long ticket;
    if (strncmp(request, auditor->state->key_prefix, length) != 0 || request[length] != '-' ||
        !number_parse_long(request + length + 1, 0, INT64_MAX, &ticket))
        return -1;
    run_state_request_id(auditor->state, ticket, written);
    return strcmp(request, written) == 0 ? ticket : -1;
}

/* The hash of the id that an entry gives its order; 0 when it gives none. */
static uint64_t listed_hash(const cJSON *order)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(order, "order");
    char number[32];
    if (cJSON_IsString(id))
        return id->valuestring[0] == '\0' ? 0 : receipt_hash(id->valuestring);
    snprintf(number, sizeof(number), "%.0f", cJSON_IsNumber(id) ? id->valuedouble : -1.0);
    return cJSON_IsNumber(id) ? receipt_hash(number) : 0;
}

/* A member of an entry, or, where that leaves it out, of its page. */
static const cJSON *member_of(const cJSON *order, const cJSON *page, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(order, name);
    return member ? member : cJSON_GetObjectItemCaseSensitive(page, name);
}

static bool is_text(const cJSON *member, const char *text)
{
    return member && cJSON_IsString(member) && strcmp(member->valuestring, text) == 0;
}

/* Compares an entry with what the request of this ticket asked for. */
static void check_named(lt_auditor *auditor, const cJSON *page, const cJSON *order, int64_t ticket)
{
    const lt_plan *plan = auditor->state->plan;
    const cJSON *user = member_of(order, NULL, "user"), *item = member_of(order, page, "item");
    const cJSON *sale = member_of(order, page, "sale");
    const cJSON *quantity = member_of(order, NULL, "quantity");
    char name[USER_NAME_MAX];
    plan_user_name(plan, ticket, name);
    const cJSON *remaining = member_of(order, NULL, "remaining");
    bool complete = user && item && sale && quantity && listed_hash(order) != 0 &&
                    (!remaining || cJSON_IsNumber(remaining));
    bool same = complete && is_text(user, name) && is_text(item, plan->item) &&
                is_text(sale, auditor->state->sale) && cJSON_IsNumber(quantity) &&
                quantity->valuedouble == (double)plan->quantity;
    auditor->report.incomplete += !complete;
    auditor->report.other += complete && !same;
}

/* Whether the order in the ledger is the one that its buyer was told of. */
static bool is_as_told(const lt_audit_entry *entry, const cJSON *order)
{
    const cJSON *remaining = cJSON_GetObjectItemCaseSensitive(order, "remaining");
    return (entry->order_hash == 0 || entry->listed_hash == entry->order_hash) &&
           (!cJSON_IsNumber(remaining) || entry->remaining < 0 ||
            remaining->valuedouble == (double)entry->remaining);
}

static bool enter_order(void *arg, const cJSON *page, const cJSON *order)
{
    lt_auditor *auditor = arg;
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(order, "request");
    const cJSON *quantity = cJSON_GetObjectItemCaseSensitive(order, "quantity");
    if (!cJSON_IsString(request))
        return false;
    int64_t ticket = ticket_of(auditor, request->valuestring);
    lt_audit_entry *entry = ticket < 0 ? NULL : entry_of(auditor, ticket);
    auditor->report.orders++;
    int64_t units = cJSON_IsNumber(quantity) ? (int64_t)quantity->valuedouble : 0;
    auditor->report.units += units;
    auditor->report.first_units += entry && entry->orders > 0 ? 0 : units;
    auditor->report.strangers += ticket < 0;
    auditor->report.unannounced += ticket >= 0 && !entry;
    if (!entry)
        return true;
    check_named(auditor, page, order, ticket);
    /* The first of a request is the one that counts; further ones are duplicates, whatever they
     * say. */
    if (entry->orders++ > 0)
        return true;
    entry->listed_hash = listed_hash(order);
    entry->differs = entry->kind == RECEIPT_SOLD && !is_as_told(entry, order);
    return true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Whether the service said that this unknown request has its order, and whether there is one. */
static void judge_unknown(lt_audit *report, const lt_audit_entry *entry)
{
    bool there = entry->orders > 0;
    report->unknown_sold += there;
    report->unknown_not_sold += !there && entry->fate == FATE_NEVER;
    report->unknown_open += !there && entry->fate == FATE_OPEN;
    report->contradicted +=
        entry->fate == FATE_OTHER || entry->fate == (there ? FATE_NEVER : FATE_SOLD);
}

static void judge_entry(lt_audit *report, const lt_audit_entry *entry)
{
    if (entry->orders > 1)
        report->duplicates += entry->orders - 1;
    switch (entry->kind) {
    case RECEIPT_SOLD:
        report->matched += entry->orders > 0 && !entry->differs;
        break;
    case RECEIPT_UNKNOWN:
        judge_unknown(report, entry);
        break;
    case RECEIPT_NONE:
    case RECEIPT_LIMITED:
        report->unannounced += entry->orders > 0;
        break;
    }
}

/* ---- over all entries ------------------------------------------------------------------------ */

static int rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Orders that more than one request has: as its buyer was told, or, where nobody was, as the whole
 * ledger lists it. False: out of memory. */
static bool count_shared(lt_auditor *auditor)
{
    uint64_t *ids = malloc(((size_t)auditor->count + 1) * sizeof(ids[0]));
    size_t count = 0;
    if (!ids)
        return false;
    for (int64_t i = 0; i < auditor->count; i++) {
        const lt_audit_entry *entry = &auditor->entries[i];
        uint64_t listed = auditor->report.ledger == LEDGER_WHOLE ? entry->listed_hash : 0;
        ids[count] = entry->order_hash != 0 ? entry->order_hash : listed;
        count += ids[count] != 0;
    }
    qsort(ids, count, sizeof(ids[0]), rising);
    for (size_t i = 1; i < count; i++)
        auditor->report.shared += ids[i] == ids[i - 1];
    free(ids);
    return true;
}

/* Whether this request bought for certain: its buyer was told, or the whole ledger has it. */
static bool has_bought(const lt_auditor *auditor, const lt_audit_entry *entry)
{
    return entry->kind == RECEIPT_SOLD ||
           (auditor->report.ledger == LEDGER_WHOLE && entry->orders > 0);
}

/* The units of each buyer's name; unknown requests only `unknown_too`. NULL: out of memory. */
static int64_t *units_by_name(const lt_auditor *auditor, bool unknown_too)
{
    const lt_plan *plan = auditor->state->plan;
    int64_t *units = calloc((size_t)plan->users, sizeof(units[0]));
    for (int user = 0; units && user < auditor->users; user++) {
        for (int64_t at = auditor->from[user]; at < auditor->from[user + 1]; at++) {
            const lt_audit_entry *entry = &auditor->entries[at];
            int64_t ticket = user + (at - auditor->from[user]) * auditor->users;
            bool bought =
                has_bought(auditor, entry) || (entry->kind == RECEIPT_UNKNOWN && unknown_too);
            units[plan_user_of(plan, ticket)] += bought ? plan->quantity : 0;
        }
    }
    return units;
}

/* Whether the limit of units a user was kept, and refused only those who had reached it. Each
 * request buys under a name of its own, unless users keep theirs. */
static bool check_limit(lt_auditor *auditor, long limit)
{
    const lt_plan *plan = auditor->state->plan;
    int64_t *certain = units_by_name(auditor, false), *possible = units_by_name(auditor, true);
    bool complete = certain && possible;
    for (int user = 0; complete && user < plan->users; user++) {
        int64_t units = plan->same_names || certain[user] == 0 ? certain[user] : plan->quantity;
        if (units > auditor->report.most_units)
            auditor->report.most_units = units;
    }
    for (int i = 0; complete && i < auditor->state->tallies.count; i++) {
        const lt_tally *tally = &auditor->state->tallies.items[i];
        for (size_t j = 0; j < tally->receipt_count; j++) {
            const lt_receipt *receipt = &tally->receipts[j];
            int64_t had = plan->same_names ? possible[plan_user_of(plan, receipt->ticket)] : 0;
            auditor->report.wrong_limit +=
                receipt->kind == RECEIPT_LIMITED && (limit <= 0 || had + plan->quantity <= limit);
        }
    }
    free(certain);
    free(possible);
    return complete;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void read_ledger(lt_auditor *auditor)
{
    const lt_run_state *state = auditor->state;
    lt_audit *report = &auditor->report, before = *report;
    char why[160] = "";
    lt_ledger ledger =
        ledger_read(auditor->http, state->plan, state->sale, 4 * auditor->count + ORDERS_MORE,
                    enter_order, auditor, why, sizeof(why));
    if (ledger != LEDGER_WHOLE)
        *report = before;
    report->ledger = ledger;
    snprintf(report->broken, sizeof(report->broken), "%s", why);
    for (int64_t i = 0; ledger == LEDGER_WHOLE && i < auditor->count; i++)
        judge_entry(report, &auditor->entries[i]);
}

lt_audit audit_check(lt_http *http, const lt_run_state *state, const lt_sale_spec *spec,
                     mono_ns patience)
{
    lt_auditor auditor = {.http = http, .state = state, .report = {.ledger = LEDGER_BROKEN}};
    if (make_entries(&auditor)) {
        for (int i = 0; i < state->tallies.count; i++)
            enter_receipts(&auditor, &state->tallies.items[i]);
        resolve_unknowns(&auditor, patience);
        read_ledger(&auditor);
        if (!count_shared(&auditor) || !check_limit(&auditor, spec->per_user_limit))
            auditor.report.ledger = LEDGER_BROKEN;
    }
    if (auditor.report.ledger == LEDGER_BROKEN && auditor.report.broken[0] == '\0')
        snprintf(auditor.report.broken, sizeof(auditor.report.broken), "out of memory");
    free(auditor.entries);
    free(auditor.from);
    return auditor.report;
}
