/*
 * orders.c - GET /stock, GET /orders/{request}, GET /orders: reading what was sold.
 *
 * All three ask Redis at every request: the instances have no copy of the ledger that could
 * be behind.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_find.h"
#include "server/store/ledger.h"
#include "server/store/replicas.h"

/* All count units, so that they stay right for quantities above one. Units are unordered when they
 * have been taken from the stock and no order has them: on their way, or lost. */
static void put_numbers(fs_text *out, const sale_terms *terms, const ledger_numbers *numbers,
                        const sale_halt *halt)
{
    char lost[HALT_MEMBERS_MAX];
    text_printf(out, "{\"item\":\"%s\",\"sale\":\"%s\",\"strategy\":\"%s\",\"initial\":%lld,",
                terms->item, terms->id, terms->strategy, (long long)terms->initial);
    text_printf(out, "\"remaining\":%lld,\"orders\":%lld,\"units\":%lld,",
                (long long)numbers->remaining, (long long)numbers->orders,
                (long long)numbers->units);
    if (halt) {
        api_halt_members(lost, halt);
        text_printf(out, "\"halted\":{\"why\":\"%s\"%s},", halt->why, lost);
    }
    int64_t unordered = terms->initial - numbers->remaining - numbers->units;
    text_printf(out,
                "\"oversold\":%lld,\"lost_updates\":%lld,\"unordered\":%lld,\"time_us\":%lld}\n",
                (long long)ledger_oversold(terms->initial, numbers),
                (long long)ledger_lost(terms->initial, numbers),
                (long long)(unordered > 0 ? unordered : 0), (long long)numbers->time_us);
}

/* The item's sale, named by the query; to be given back with sale_table_put(). NULL: refused. */
static fs_sale *find_sale(fs_api *api, const api_request *request, api_reply *reply)
{
    char item[IDENT_MAX + 1];
    if (!api_param_ok(query_word(request->query, "item", ident_ok, item), "bad_item", "item",
                      IDENT_FORM, reply))
        return NULL;
    return api_find_sale(api, request, item, reply);
}

/* LEDGER_DAMAGED, _UNAVAILABLE. What is damaged may be what Redis has lost, and the keeper not have
 * looked since. */
static void put_failure(fs_api *api, const fs_sale *sale, ledger_status status, dlock_time deadline,
                        api_reply *reply)
{
    sale_halt halt;
    if (status == LEDGER_DAMAGED)
        sale_refresh(api->sales, sale->open_sale.terms.item, store_read_deadline(deadline));
    if (sale_table_halt(api->sales, sale->open_sale.terms.item, &halt))
        api_halted(reply, 503, "sale_rolled_back", HALTED_DETAIL, &halt);
    else if (status == LEDGER_DAMAGED)
        problem_sale_damaged(reply);
    else
        problem_store_unavailable(reply);
}

void api_stock(fs_api *api, const api_request *request, api_reply *reply)
{
    ledger_numbers numbers;
    sale_halt halt;
    fs_sale *sale = find_sale(api, request, reply);
    if (!sale)
        return;
    const open_sale *open = &sale->open_sale;
    dlock_time deadline = request->deadline;
    ledger_status status =
        ledger_count(open->store, &open->terms, open->strategy->guarded, deadline, &numbers);
    bool halted = sale_table_halt(api->sales, open->terms.item, &halt);
    if (status == LEDGER_FOUND)
        put_numbers(reply_json(reply, 200), &open->terms, &numbers, halted ? &halt : NULL);
    else
        put_failure(api, sale, status, deadline, reply);
    sale_table_put(sale);
}

/* ---- one order ------------------------------------------------------------------------------- */

void api_put_order(fs_text *out, const char *item, const char *sale, bool sharded, int segment,
                   const char *request, const fs_order *order)
{
    text_add(out, "{\"order\":\"");
    order_put_id(out, sale, sharded ? segment : -1, order);
    text_add_all(out, "\",\"request\":\"", request, "\",\"item\":\"", item, "\",\"sale\":\"", sale,
                 "\",\"user\":\"", order->user, "\",\"quantity\":");
    text_add_int(out, order->quantity);
    text_add(out, ",\"remaining\":");
    text_add_int(out, order->remaining);
    text_add(out, ",\"fence\":");
    text_add_int(out, (int64_t)order->fence);
    text_add_all(out, ",\"instance\":\"", order->instance, "\"");
}

static void put_found(api_reply *reply, const char *item, const char *request,
                      const ledger_entry *entry)
{
    fs_text *out = reply_json(reply, 200);
    api_put_order(out, item, entry->sale, entry->sharded, entry->segment, request, &entry->order);
    text_printf(out, ",\"time_us\":%lld}\n", (long long)entry->order.time_us);
}

/* `sale` is the one that was asked for, or the current one. What is final is so there. */
static void put_missing(api_reply *reply, ledger_status status, const char *sale)
{
    char members[IDENT_MAX + 40];
    bool final = status >= LEDGER_NEVER && status <= LEDGER_OVER;
    snprintf(members, sizeof(members), ",\"sale\":\"%s\",\"final\":%s", sale,
             final ? "true" : "false");
    problem_with(reply, 404, "no_such_order",
                 status == LEDGER_PAST
                     ? "no try up to this not_after became an order in this sale, and none will"
                 : final ? "this request did not become an order in this sale, and will not"
                 : status == LEDGER_OLDER
                     ? "no order in the item's current sale and the one before, but it had others; "
                       "only with sale= this becomes final"
                     : "no order yet; ask again until this is final",
                 members);
}

typedef struct order_query {
    const char *request;
    char sale[IDENT_MAX + 1]; /* "" = the current one and the one before */
    int64_t not_after_us;     /* none of the asker's tries has a later one; 0 = not said */
} order_query;

static ledger_status find_order(const open_sale *now, const order_query *query, dlock_time deadline,
                                ledger_entry *ret)
{
    const char *wanted = query->sale;
    char err[256];
    sale_terms terms = now->terms;
    if (wanted[0] == '\0')
        return ledger_find_recent(now->store, &terms, query->request, query->not_after_us, deadline,
                                  ret);
    sale_status status = SALE_OK;
    if (strcmp(wanted, terms.id) != 0)
        status =
            terms_read(now->store, now->terms.item, wanted, deadline, &terms, err, sizeof(err));
    if (status != SALE_OK)
        return ledger_of_sale(status);
    if (query->not_after_us != 0)
        return ledger_find_until(now->store, &terms, query->request, query->not_after_us, deadline,
                                 ret);
    return ledger_find(now->store, &terms, query->request, LEDGER_ASK, deadline, ret);
}

/* A Redis that has just lost orders says "no", too. So a "no" about the current sale is final only
 * if this server still has all orders that this process has seen there. */
static ledger_status confirm_no(fs_api *api, const open_sale *now, ledger_status no,
                                dlock_time deadline)
{
    if (no != LEDGER_NEVER && no != LEDGER_PAST)
        return no;
    sale_status is = sale_refresh(api->sales, now->terms.item, store_read_deadline(deadline));
    return is == SALE_OK ? no : LEDGER_NOT_YET;
}

/* Another server may have been promoted in its place, and know of an order. */
static bool may_be_replaced(const open_sale *sale)
{
    bool missing = false;
    for (int k = 0; !missing && k < sale->key_sets; k++)
        missing = replicas_missing(sale->store, &sale->terms, &sale->keys[k]);
    return missing;
}

/* What a halted sale has lost may have been acknowledged: no "no" is final before the admin has
 * said that it goes on. */
static void resolve(fs_api *api, const fs_sale *sale, const order_query *query, dlock_time deadline,
                    api_reply *reply)
{
    const char *wanted = query->sale;
    ledger_entry entry = {.segment = 0};
    sale_halt halt;
    const open_sale *now = &sale->open_sale;
    ledger_status status = find_order(now, query, deadline, &entry);
    status = confirm_no(api, now, status, deadline);
    bool halted = sale_table_halt(api->sales, now->terms.item, &halt);
    if (status == LEDGER_FOUND)
        put_found(reply, now->terms.item, query->request, &entry);
    else if (status == LEDGER_UNCONFIRMED)
        problem_later(reply, "durability_lost",
                      "there is an order, but too few replicas of Redis have it as yet; ask again");
    else if (halted)
        api_halted(reply, 503, "sale_rolled_back",
                   HALTED_DETAIL "; this request has no order now, but may have lost one", &halt);
    else if (status == LEDGER_DAMAGED || status == LEDGER_UNAVAILABLE)
        put_failure(api, sale, status, deadline, reply);
    else if (status == LEDGER_NOT_YET && may_be_replaced(now))
        problem_later(reply, "durability_lost",
                      "no order here, but a replica is missing that may know of one; ask again");
    else if (status == LEDGER_OLDER && wanted[0] != '\0')
        problem(reply, 404, "no_such_sale", "there is no such sale, or it is not kept any more");
    else
        put_missing(reply, status, wanted[0] != '\0' ? wanted : now->terms.id);
}

void api_order(fs_api *api, const api_request *request, api_reply *reply)
{
    order_query query = {.request = request->path + strlen(ORDERS_PATH)};
    if (!ident_ok(query.request, strlen(query.request))) {
        problem(reply, 400, "bad_request_id", "a request id is " IDENT_FORM);
        return;
    }
    query_status status = query_word(request->query, "sale", ident_ok, query.sale);
    if (status == QUERY_ABSENT)
        query.sale[0] = '\0';
    else if (!api_param_ok(status, "bad_sale", "sale", IDENT_FORM, reply))
        return;
    if (!api_read_not_after(request->query, &query.not_after_us, reply))
        return;
    fs_sale *sale = find_sale(api, request, reply);
    if (!sale)
        return;
    resolve(api, sale, &query, terms_deadline(&sale->open_sale.terms, request->received), reply);
    sale_table_put(sale);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

typedef struct orders_page {
    const sale_terms *terms;
    fs_text *out;
    const char *comma;
} orders_page;

static void put_entry(void *arg, int segment, const char *request, const fs_order *order)
{
    orders_page *page = arg;
    text_add(page->out, page->comma);
    api_put_order(page->out, page->terms->item, page->terms->id, page->terms->segments > 0, segment,
                  request, order);
    text_printf(page->out, ",\"time_us\":%lld}", (long long)order->time_us);
    page->comma = ",";
}

/* A cursor is "<segment>.<first>", both counted from 0. */
static bool read_cursor(const fs_query *query, int segments, int *segment, int64_t *first)
{
    char cursor[QUERY_VALUE_MAX + 1], *end;
    query_status status = query_word(query, "cursor", NULL, cursor);
    *segment = 0;
    *first = 0;
    if (status == QUERY_ABSENT)
        return true;
    if (status == QUERY_BAD || strspn(cursor, "0123456789.") != strlen(cursor))
        return false;
    long k = strtol(cursor, &end, 10);
    if (*end != '.' || k >= segments)
        return false;
    *segment = (int)k;
    *first = strtoll(end + 1, &end, 10);
    return *end == '\0' && *first < INT64_MAX / 2;
}

static void put_page(fs_api *api, const fs_sale *sale, int segment, int64_t first,
                     dlock_time deadline, api_reply *reply)
{
    const sale_terms *terms = &sale->open_sale.terms;
    fs_text *out = reply_json(reply, 200);
    orders_page page = {terms, out, ""};
    text_printf(out, "{\"item\":\"%s\",\"sale\":\"%s\",\"orders\":[", terms->item, terms->id);
    int entries;
    ledger_status status =
        ledger_read(sale->open_sale.store, terms, segment, first, first + LEDGER_PAGE - 1, deadline,
                    put_entry, &page, &entries);
    if (status != LEDGER_FOUND) {
        put_failure(api, sale, status, deadline, reply);
        return;
    }
    bool more_here = entries == LEDGER_PAGE;
    if (more_here || segment + 1 < terms_key_sets(terms))
        text_printf(out, "],\"cursor\":\"%d.%lld\"}\n", more_here ? segment : segment + 1,
                    (long long)(more_here ? first + entries : 0));
    else
        text_add(out, "],\"cursor\":null}\n");
}

void api_orders(fs_api *api, const api_request *request, api_reply *reply)
{
    int segment;
    int64_t first;
    /* The ledger names every request id, and every user. */
    if (!auth_admit(api->auth, request->headers.authorization, reply))
        return;
    fs_sale *sale = find_sale(api, request, reply);
    if (!sale)
        return;
    if (read_cursor(request->query, sale->open_sale.key_sets, &segment, &first))
        put_page(api, sale, segment, first, request->deadline, reply);
    else
        problem(reply, 400, "bad_cursor", "cursor= must come from the page before");
    sale_table_put(sale);
}
