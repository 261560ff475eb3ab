/* refusals.c - why an endpoint does not answer, where several have the same reasons. */
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

/* ---- the sale -------------------------------------------------------------------------------- */

void api_halt_members(char ret[HALT_MEMBERS_MAX], const sale_halt *halt)
{
    snprintf(ret, HALT_MEMBERS_MAX, ",\"known\":%lld,\"found\":%lld,\"lost_orders\":%lld",
             (long long)halt->known, (long long)halt->found, (long long)halt_lost_orders(halt));
}

void api_halted(api_reply *reply, int status, const char *code, const char *detail,
                const sale_halt *halt)
{
    char numbers[HALT_MEMBERS_MAX], members[HALT_MEMBERS_MAX + IDENT_MAX + 16];
    api_halt_members(numbers, halt);
    snprintf(members, sizeof(members), ",\"sale\":\"%s\"%s", halt->sale, numbers);
    problem_with(reply, status, code, detail, members);
}

void api_no_sale(fs_api *api, api_reply *reply, sale_status status, const char *item)
{
    char detail[128];
    sale_halt halt;
    if (status == SALE_HALTED && sale_table_halt(api->sales, item, &halt)) {
        api_halted(reply, 503, "sale_rolled_back", HALTED_DETAIL, &halt);
    } else if (status == SALE_DAMAGED) {
        problem_later(reply, "sale_damaged", "the sale's data in Redis are damaged");
    } else if (status == SALE_NONE) {
        snprintf(detail, sizeof(detail), "there is no sale of item %s", item);
        problem(reply, 404, "no_such_item", detail);
    } else if (status == SALE_UNREADABLE) {
        problem_later(reply, "sale_unreadable", "the sale was started by another version");
    } else {
        problem_store_unavailable(reply);
    }
}

fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *item, api_reply *reply)
{
    fs_sale *sale;
    int wait_s = sale_table_knows(api->sales, item) ? 0 : rate_wait_unknown_item(api->rate);
    if (!api_may_go_on(api, wait_s, reply))
        return NULL;
    sale_status status = sale_find(api->sales, item, store_read_deadline(request->deadline), &sale);
    if (status == SALE_OK)
        return sale;
    api_no_sale(api, reply, status, item);
    return NULL;
}
