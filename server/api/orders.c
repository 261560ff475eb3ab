/*
 * orders.c - GET /stock, GET /orders/{request}, GET /orders: read what was sold.
 *
 * All three ask Redis at every request: instances keep no copy of the ledger, which could be stale.
 */
#include "server/api/routes.h"

#include <string.h>

#include "server/sale/sale_find.h"
#include "server/store/ledger.h"
#include "server/store/replicas.h"

/* All count units, so that they stay right for quantities above one. Units are unordered when they
 * have been taken from the stock and no order has them: on their way, or lost. */
static void put_numbers(fs_text *out, const sale_terms *terms, const ledger_numbers *numbers,
                        const sale_halt *halt)
{
    int64_t unordered = terms->initial - numbers->remaining - numbers->units;
    text_put(out, STRING("item", terms->item), STRING("sale", terms->id),
             STRING("strategy", terms->strategy), NUMBER("initial", terms->initial),
             NUMBER("remaining", numbers->remaining), NUMBER("orders", numbers->orders),
             NUMBER("units", numbers->units), NUMBER("reserved", numbers->reserved),
             NUMBER("sold", numbers->sold));
    if (halt) {
        text_put(out, AS_IS("halted", "{"), STRING("why", halt->why));
        api_put_lost(out, halt);
        text_add(out, "}");
    }
    text_put(out, NUMBER("oversold", ledger_oversold(terms->initial, numbers)),
             NUMBER("lost_updates", ledger_lost(terms->initial, numbers)),
             NUMBER("unordered", unordered > 0 ? unordered : 0),
             NUMBER("time_us", numbers->time_us));
}

void api_stock(fs_api *api, const api_request *request, api_reply *reply)
{
    ledger_numbers numbers;
    sale_halt halt;
    fs_sale *sale = api_find_sale(api, request, NULL, reply);
    if (!sale)
        return;
    const open_sale *open = &sale->open_sale;
    dlock_time deadline = request->deadline;
    ledger_status status =
        ledger_count(open->store, &open->terms, open->strategy->guarded, deadline, &numbers);
    bool halted = sale_table_halt(api->sales, open->terms.item, &halt);
    if (status == LEDGER_FOUND)
        put_numbers(reply_json(reply, 200), &open->terms, &numbers, halted ? &halt : NULL);
    else if (api_no_ledger(api, sale, status == LEDGER_DAMAGED, deadline, reply) == SALE_DAMAGED)
        text_put(&reply->body, STRING("sale", open->terms.id));
    sale_table_put(sale);
}

/* ---- one order ------------------------------------------------------------------------------- */

void api_put_order(fs_text *out, const char *item, const char *sale, int segment,
                   const char *request, const fs_order *order, bool at_first)
{
    bool reserved = order->expires_us > 0;
    order_state state = !at_first ? order->state : reserved ? ORDER_RESERVED : ORDER_SOLD;
    text_add(out, "\"order\":\"");
    order_put_id(out, sale, segment, order);
    text_add_all(out, "\",\"request\":\"", request, "\",\"item\":\"", item, "\",\"sale\":\"", sale,
                 "\",\"user\":\"", order->user, "\",\"quantity\":");
    text_add_int(out, order->quantity);
    text_add(out, ",\"remaining\":");
    text_add_int(out, order->remaining);
    text_add(out, ",\"fence\":");
    text_add_int(out, (int64_t)order->fence);
    text_add_all(out, ",\"instance\":\"", order->instance, "\",\"state\":\"",
                 order_state_name(state), "\"");
    if (reserved)
        text_put(out, NUMBER("expires_us", order->expires_us));
    if (!at_first)
        text_put(out, NUMBER("time_us", order->time_us));
}

/* `sale` is the one that was asked for, or the current one. What is final is so there. */
static void put_missing(api_reply *reply, ledger_status status, const char *sale)
{
    bool final = status >= LEDGER_NEVER && status <= LEDGER_OVER;
    problem(reply, 404, "no_such_order",
            status == LEDGER_PAST
                ? "no try up to this not_after became an order in this sale, and none will"
            : final ? "this request did not become an order in this sale, and will not"
            : status == LEDGER_OLDER
                ? "no order in the item's current sale and the one before, but it had others; "
                  "only with sale= this becomes final"
                : "no order yet; ask again until this is final");
    text_put(&reply->body, STRING("sale", sale), FLAG("final", final));
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

/* A Redis that has just lost orders says "no", too. So a "no" is final only if this server still
 * has all orders that this process has seen in the item's current sale; and that a sale is over,
 * only if a later one is in force: what stands in its place may be damage, or a halt. */
static ledger_status confirm_no(fs_api *api, const char *item, const char *wanted, ledger_status no,
                                dlock_time deadline)
{
    fs_sale *now;
    if (no != LEDGER_NEVER && no != LEDGER_PAST && no != LEDGER_OVER)
        return no;
    bool sound = sale_refresh(api->sales, item, store_read_deadline(deadline)) == SALE_OK;
    if (!sound || no != LEDGER_OVER)
        return sound ? no : LEDGER_NOT_YET;
    if (!sale_table_take(api->sales, item, false, &now))
        return LEDGER_NOT_YET;
    bool over = strcmp(now->open_sale.terms.id, wanted) > 0;
    sale_table_put(now);
    return over ? no : LEDGER_NOT_YET;
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
    status = confirm_no(api, now->terms.item, wanted, status, deadline);
    bool halted = sale_table_halt(api->sales, now->terms.item, &halt);
    if (status == LEDGER_FOUND) {
        api_put_order(reply_json(reply, 200), now->terms.item, entry.sale,
                      entry.sharded ? entry.segment : -1, query->request, &entry.order, false);
    } else if (status == LEDGER_UNCONFIRMED) {
        problem_outcome(
            reply, BUY_NOT_DURABLE,
            "there is an order, but too few replicas of Redis have it as yet; ask again");
    } else if (halted) {
        problem_outcome(reply, BUY_ROLLED_BACK,
                        HALTED_DETAIL "; this request has no order now, but may have lost one");
        api_put_halt(&reply->body, &halt);
    } else if (status == LEDGER_DAMAGED || status == LEDGER_UNAVAILABLE) {
        api_no_ledger(api, sale, status == LEDGER_DAMAGED, deadline, reply);
    } else if (status == LEDGER_NOT_YET && may_be_replaced(now)) {
        problem_outcome(reply, BUY_NOT_DURABLE,
                        "no order here, but a replica is missing that may know of one; ask again");
    } else if (status == LEDGER_OLDER && wanted[0] != '\0') {
        problem(reply, 404, "no_such_sale", "there is no such sale, or it is not kept any more");
    } else {
        put_missing(reply, status, wanted[0] != '\0' ? wanted : now->terms.id);
    }
}

void api_order(fs_api *api, const api_request *request, api_reply *reply)
{
    order_query query = {.request = request->path + strlen(ORDERS_PATH)};
    fs_sale *sale = NULL;
    if (!ident_ok(query.request, strlen(query.request))) {
        problem(reply, 400, "bad_request_id", "a request id is " IDENT_FORM);
        return;
    }
    if (api_read_ident(request->query, "sale", "bad_sale", false, query.sale, reply) &&
        api_read_not_after(request->query, &query.not_after_us, reply))
        sale = api_find_sale(api, request, NULL, reply);
    if (!sale)
        return;
    resolve(api, sale, &query,
            (dlock_time){request->received.us + sale->open_sale.request_ms * 1000}, reply);
    sale_table_put(sale);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

typedef struct orders_page {
    const sale_terms *terms;
    fs_text *out;
} orders_page;

static void put_entry(void *arg, int segment, const char *request, const fs_order *order)
{
    const orders_page *page = arg;
    text_next(page->out, "{");
    api_put_order(page->out, page->terms->item, page->terms->id,
                  page->terms->segments > 0 ? segment : -1, request, order, false);
    text_add(page->out, "}");
}

/* A cursor is "<segment>.<first>", both counted from 0. */
static bool read_cursor(const fs_query *query, int segments, int64_t *segment, int64_t *first)
{
    char cursor[QUERY_VALUE_MAX + 1];
    query_status status = query_word(query, "cursor", NULL, cursor);
    *segment = *first = 0;
    if (status != QUERY_OK)
        return status == QUERY_ABSENT;
    size_t point = strcspn(cursor, ".");
    return decimal_read(cursor, point, segment) && *segment < segments && cursor[point] == '.' &&
           decimal_read(cursor + point + 1, strlen(cursor + point + 1), first);
}

static void put_page(fs_api *api, const fs_sale *sale, int segment, int64_t first,
                     dlock_time deadline, api_reply *reply)
{
    const sale_terms *terms = &sale->open_sale.terms;
    fs_text *out = reply_json(reply, 200);
    orders_page page = {terms, out};
    text_put(out, STRING("item", terms->item), STRING("sale", terms->id), AS_IS("orders", "["));
    int entries;
    ledger_status status =
        ledger_read(sale->open_sale.store, terms, segment, first, first + LEDGER_PAGE - 1, deadline,
                    put_entry, &page, &entries);
    if (status != LEDGER_FOUND) {
        api_no_ledger(api, sale, status == LEDGER_DAMAGED, deadline, reply);
        return;
    }
    bool more_here = entries == LEDGER_PAGE;
    if (more_here || segment + 1 < terms_key_sets(terms))
        text_printf(out, "],\"cursor\":\"%d.%lld\"", more_here ? segment : segment + 1,
                    (long long)(more_here ? first + entries : 0));
    else
        text_add(out, "],\"cursor\":null");
}

void api_orders(fs_api *api, const api_request *request, api_reply *reply)
{
    int64_t segment, first;
    if (api_is_feed(request->query)) {
        api_feed(api, request, reply);
        return;
    }
    fs_sale *sale = api_find_sale(api, request, NULL, reply);
    if (!sale)
        return;
    if (read_cursor(request->query, sale->open_sale.key_sets, &segment, &first))
        put_page(api, sale, (int)segment, first, request->deadline, reply);
    else
        problem(reply, 400, "bad_cursor", "cursor= must come from the page before");
    sale_table_put(sale);
}
