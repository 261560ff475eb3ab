/* sales.c - for the admin: POST /sales ends the item's sale and starts the next; POST /sales/resume
 * resumes a halted sale. */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/sale/sale_find.h"
#include "server/sale/sale_request.h"
#include "server/sale/sale_start.h"

/* ---- POST /sales ----------------------------------------------------------------------------- */

static void answer_started(const sale_terms *terms, api_reply *reply)
{
    fs_text *out = reply_json(reply, 201);
    text_put(out, STRING("item", terms->item), STRING("sale", terms->id),
             STRING("strategy", terms->strategy), NUMBER("stock", terms->initial),
             NUMBER("per_user_limit", terms->per_user_limit),
             NUMBER("reserve_max_s", terms->reserve_max_s), NUMBER("lease_ms", terms->lease_ms),
             NUMBER("wait_ms", terms->wait_ms), NUMBER("hold_ms", terms->hold_ms),
             STRING("durability", durability_name(terms->durability)),
             NUMBER("min_replicas", terms->min_replicas), NUMBER("segments", terms->segments));
    if (terms->previous[0] != '\0')
        text_put(out, STRING("previous", terms->previous));
    else
        text_put(out, AS_IS("previous", "null"));
    log_event(LOG_INFO, "sale_started", "item", terms->item, "sale", terms->id, "strategy",
              terms->strategy, NULL);
}

/* `redis`: what Redis said last, when nothing was started. */
static void answer_not_started(fs_api *api, start_status status, const sale_terms *terms,
                               const char *err, const char *redis, api_reply *reply)
{
    static const struct {
        int status;
        const char *code;
    } refusals[] = {
        [START_HALTED] = {409, "sale_halted"},   [START_NOT_HALTED] = {409, "sale_not_halted"},
        [START_DAMAGED] = {503, "sale_damaged"}, [START_REFUSED] = {409, "durability_unavailable"},
        [START_PAUSED] = {503, "writes_paused"}, [START_MAY_EVICT] = {409, "store_may_evict"}};
    sale_halt halt;
    size_t i = (size_t)status;
    if (status == START_UNKNOWN) {
        problem_outcome(
            reply, BUY_UNKNOWN,
            "started or not: GET /stock shows this sale within two seconds, or it was not");
        text_put(&reply->body, STRING("sale", terms->id));
    } else if (i < sizeof(refusals) / sizeof(refusals[0]) && refusals[i].code) {
        problem(reply, refusals[i].status, refusals[i].code, err);
        if (status == START_HALTED && sale_table_halt(api->sales, terms->item, &halt))
            api_put_halt(&reply->body, &halt);
    } else if (redis[0] != '\0') {
        problem_redis(reply, redis, "nothing was started");
    } else {
        problem_outcome(reply, BUY_UNAVAILABLE, err);
        text_put(&reply->body, STRING("redis", "no_answer"));
    }
}

/* Compares what is remembered of the item before it starts anything: if Redis has lost the item's
 * sale, that must be noticed, and no other sale started. */
void api_start_sale(fs_api *api, const api_request *request, api_reply *reply)
{
    char err[512], redis[32];
    sale_terms terms;
    json_fault fault =
        sale_request_read(request->body, request->body_len, &terms, err, sizeof(err));
    if (!api_input_ok(fault, err, reply))
        return;
    if (!sale_request_reserves(&terms, err, sizeof(err))) {
        problem(reply, 400, "reservations_not_supported", err);
        return;
    }
    dlock_time deadline = request->deadline;
    sale_refresh(api->sales, terms.item, store_read_deadline(deadline));
    start_status status = sale_start(api->store, &terms, false, deadline, err, sizeof(err));
    snprintf(redis, sizeof(redis), "%s", dlock_redis_said());
    dlock_time until = dlock_sooner(deadline, dlock_in_ms(START_MS));
    if (status == START_OK || status == START_UNKNOWN)
        sale_watch(api->sales, terms.item, until);
    else
        sale_refresh(api->sales, terms.item, until);
    if (status == START_OK)
        answer_started(&terms, reply);
    else
        answer_not_started(api, status, &terms, err, redis, reply);
}

/* ---- POST /sales/resume ---------------------------------------------------------------------- */

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
    fs_text *out = reply_json(reply, 200);
    text_put(out, STRING("item", request->item), STRING("sale", request->sale),
             NUMBER("known", halt->known), NUMBER("found", halt->found),
             NUMBER("lost_orders", request->lost_orders),
             NUMBER("order_numbers_given_again", request->lost_orders));
    char lost[24];
    snprintf(lost, sizeof(lost), "%lld", (long long)request->lost_orders);
    log_event(LOG_WARN, "sale_resumed", "item", request->item, "sale", request->sale, "lost_orders",
              lost, NULL);
}

void api_resume_sale(fs_api *api, const api_request *http, api_reply *reply)
{
    char err[256];
    resume_request request;
    sale_halt halt;
    if (!api_input_ok(read_request(http, &request, err, sizeof(err)), err, reply))
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
        problem(reply, 409, "sale_halted",
                strcmp(halt.sale, request.sale) != 0
                    ? "another sale of the item is halted: 'sale' must name it"
                    : "the sale has lost another number of orders: 'lost_orders' must be that");
        api_put_halt(&reply->body, &halt);
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
