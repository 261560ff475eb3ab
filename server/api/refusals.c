/* refusals.c - the refusals that several endpoints share. */
#include "server/api/routes.h"

#include <stdio.h>

#include "server/sale/sale_find.h"

bool api_may_go_on(fs_api *api, int wait_s, api_reply *reply)
{
    if (wait_s == 0)
        return true;
    problem(reply, 429, "rate_limited", "too many requests; see Retry-After");
    reply->retry_after_s = wait_s;
    api->metrics->rate_limited++;
    return false;
}

bool api_input_ok(json_fault fault, const char *detail, api_reply *reply)
{
    static const char *const codes[] = {
        [JSON_NOT_OBJECT] = "bad_body",
        [JSON_UNKNOWN] = "unknown_parameter",
        [JSON_REPEATED] = "repeated_parameter",
        [JSON_BAD_VALUE] = "bad_sale",
    };
    if (fault != JSON_FINE)
        problem(reply, 400, codes[fault], detail);
    return fault == JSON_FINE;
}

void api_put_lost(fs_text *out, const sale_halt *halt)
{
    text_put(out, NUMBER("known", halt->known), NUMBER("found", halt->found),
             NUMBER("lost_orders", halt_lost_orders(halt)));
}

void api_put_halt(fs_text *out, const sale_halt *halt)
{
    text_put(out, STRING("sale", halt->sale));
    api_put_lost(out, halt);
}

void api_no_sale(fs_api *api, api_reply *reply, sale_status status, const char *item)
{
    char detail[128];
    sale_halt halt;
    if (status == SALE_HALTED && sale_table_halt(api->sales, item, &halt)) {
        problem_outcome(reply, BUY_ROLLED_BACK, HALTED_DETAIL);
        api_put_halt(&reply->body, &halt);
    } else if (status == SALE_DAMAGED) {
        problem_outcome(reply, BUY_DAMAGED,
                        "the sale's data in Redis are damaged; nothing was done");
    } else if (status == SALE_NONE) {
        snprintf(detail, sizeof(detail), "there is no sale of item %s", item);
        problem(reply, 404, "no_such_item", detail);
    } else if (status == SALE_UNREADABLE) {
        problem(reply, 503, "sale_unreadable", "the sale was started by another version");
    } else {
        problem_redis(reply, dlock_redis_said(), "nothing was done");
    }
}

sale_status api_no_ledger(fs_api *api, const fs_sale *sale, bool damaged, dlock_time deadline,
                          api_reply *reply)
{
    sale_halt halt;
    const char *item = sale->open_sale.terms.item;
    sale_status why = damaged ? SALE_DAMAGED : SALE_UNAVAILABLE;
    if (damaged)
        sale_refresh(api->sales, item, store_read_deadline(deadline));
    if (sale_table_halt(api->sales, item, &halt))
        why = SALE_HALTED;
    api_no_sale(api, reply, why, item);
    return why;
}

fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *otherwise,
                       api_reply *reply)
{
    fs_sale *sale;
    char item[IDENT_MAX + 1];
    if (!api_read_ident(request->query, "item", "bad_item", !otherwise, item, reply))
        return NULL;
    if (item[0] == '\0')
        snprintf(item, sizeof(item), "%s", otherwise);
    int wait_s = sale_table_knows(api->sales, item) ? 0 : rate_wait_unknown_item(api->rate);
    if (!api_may_go_on(api, wait_s, reply))
        return NULL;
    sale_status status = sale_find(api->sales, item, store_read_deadline(request->deadline), &sale);
    if (status == SALE_OK)
        return sale;
    api_no_sale(api, reply, status, item);
    return NULL;
}
