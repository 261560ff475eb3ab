/* resume.c - POST /sales/resume: the admin says that a halted sale may go on, in so many words. */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/sale/sale_resume.h"
#include "server/sale/sale_find.h"

typedef struct resume_request {
    char item[IDENT_MAX + 1];
    char sale[IDENT_MAX + 1];
    int64_t lost_orders;
} resume_request;

/* All three are needed. */
static json_fault read_request(const api_request *http, resume_request *ret, char *err,
                               size_t err_len)
{
    json_field fields[] = {
        {.name = "item", .text = ret->item, .text_len = sizeof(ret->item)},
        {.name = "sale", .text = ret->sale, .text_len = sizeof(ret->sale)},
        {.name = "lost_orders", .number = &ret->lost_orders, .least = 0, .most = JSON_INT_MAX},
        {.name = NULL},
    };
    json_fault fault = json_read(http->body, http->body_len, fields, err, err_len);
    if (fault != JSON_FINE)
        return fault;
    if (fields[0].found && fields[1].found && fields[2].found &&
        ident_ok(ret->item, strlen(ret->item)) && ident_ok(ret->sale, strlen(ret->sale)))
        return JSON_FINE;
    snprintf(err, err_len,
             "'item', 'sale' (1 to 64 of [A-Za-z0-9_-]) and 'lost_orders' are needed, "
             "as 'sale_rolled_back' tells them");
    return JSON_BAD_VALUE;
}

static void answer_resumed(const resume_request *request, const sale_halt *halt, api_reply *reply)
{
    char lost[24];
    snprintf(lost, sizeof(lost), "%lld", (long long)request->lost_orders);
    log_event(LOG_WARN, "sale_resumed", "item", request->item, "sale", request->sale, "lost_orders",
              lost, NULL);
    text_printf(reply_json(reply, 200),
                "{\"item\":\"%s\",\"sale\":\"%s\",\"known\":%lld,\"found\":%lld,"
                "\"lost_orders\":%s,\"order_numbers_given_again\":%s}\n",
                request->item, request->sale, (long long)halt->known, (long long)halt->found, lost,
                lost);
}

void api_resume_sale(fs_api *api, const api_request *http, api_reply *reply)
{
    char err[256];
    resume_request request;
    sale_halt halt;
    if (!auth_admit(api->auth, http->headers.authorization, reply))
        return;
    if (!api_body_ok(read_request(http, &request, err, sizeof(err)), err, reply))
        return;
    dlock_time deadline = http->deadline;
    switch (
        sale_resume(api->store, request.item, request.sale, request.lost_orders, deadline, &halt)) {
    case RESUME_OK:
        sale_refresh(api->sales, request.item, deadline);
        answer_resumed(&request, &halt, reply);
        break;
    case RESUME_NOT_HALTED:
        problem(reply, 409, "sale_not_halted", "the item's sale is not halted");
        break;
    case RESUME_OTHER:
        api_halted(reply, 409, "sale_halted",
                   strcmp(halt.sale, request.sale) != 0
                       ? "another sale of the item is halted: 'sale' must name it"
                       : "the sale has lost another number of orders: 'lost_orders' must be that",
                   &halt);
        break;
    case RESUME_GONE:
        problem(reply, 409, "sale_gone",
                "something of the sale is missing or damaged in Redis, so it can not go on: start "
                "another with 'replaces'");
        break;
    default:
        problem_redis(reply, dlock_redis_said(), "ask again");
    }
}
