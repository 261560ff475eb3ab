/* sales.c - POST /sales: closing the item's sale and starting the next. */
#include "server/api/routes.h"

#include <stdio.h>

#include "server/base/log.h"
#include "server/sale/sale_request.h"
#include "server/sale/sale_start.h"
#include "server/sale/sale_find.h"

static void answer_started(const sale_terms *terms, api_reply *reply)
{
    fs_text *out = reply_json(reply, 201);
    text_printf(out, "{\"item\":\"%s\",\"sale\":\"%s\",\"strategy\":\"%s\",\"stock\":%lld,",
                terms->item, terms->id, terms->strategy, (long long)terms->initial);
    text_printf(out, "\"per_user_limit\":%lld,\"lease_ms\":%lld,\"wait_ms\":%lld,",
                (long long)terms->per_user_limit, (long long)terms->lease_ms,
                (long long)terms->wait_ms);
    text_printf(out, "\"hold_ms\":%lld,\"durability\":\"%s\",\"min_replicas\":%d,",
                (long long)terms->hold_ms, durability_name(terms->durability), terms->min_replicas);
    text_printf(out, "\"segments\":%d,\"previous\":", terms->segments);
    if (terms->previous[0] != '\0')
        text_json(out, terms->previous);
    else
        text_add(out, "null");
    text_add(out, "}\n");
}

static void answer_halted(fs_api *api, const char *item, const char *err, api_reply *reply)
{
    sale_halt halt;
    if (sale_table_halt(api->sales, item, &halt))
        api_halted(reply, 409, "sale_halted", err, &halt);
    else
        problem(reply, 409, "sale_halted", err);
}

static void answer_unknown(const sale_terms *terms, api_reply *reply)
{
    char member[IDENT_MAX + 16];
    snprintf(member, sizeof(member), ",\"sale\":\"%s\"", terms->id);
    problem_with(reply, 504, "unknown",
                 "started or not: GET /stock shows this sale within two seconds, or it was not",
                 member);
}

/* `redis`: what Redis said last, when nothing was started. */
static void answer_status(fs_api *api, start_status status, const sale_terms *terms,
                          const char *err, const char *redis, api_reply *reply)
{
    switch (status) {
    case START_OK:
        answer_started(terms, reply);
        log_event(LOG_INFO, "sale_started", "item", terms->item, "sale", terms->id, "strategy",
                  terms->strategy, NULL);
        break;
    case START_HALTED:
        answer_halted(api, terms->item, err, reply);
        break;
    case START_NOT_HALTED:
        problem(reply, 409, "sale_not_halted", err);
        break;
    case START_DAMAGED:
        problem_later(reply, "sale_damaged", err);
        break;
    case START_REFUSED:
        problem(reply, 409, "durability_unavailable", err);
        break;
    case START_PAUSED:
        problem_later(reply, "writes_paused", err);
        break;
    case START_MAY_EVICT:
        problem(reply, 409, "store_may_evict", err);
        break;
    case START_UNKNOWN:
        answer_unknown(terms, reply);
        break;
    default:
        if (redis[0] != '\0')
            problem_redis(reply, redis, "nothing was started");
        else
            problem_with(reply, 503, "store_unavailable", err, ",\"redis\":\"no_answer\"");
    }
}

/* Before anything is started, what is remembered of the item is compared: a Redis that has
 * forgotten the item's sale is to be found out, and not to be given another. */
void api_start_sale(fs_api *api, const api_request *request, api_reply *reply)
{
    char err[512], redis[32];
    sale_terms terms;
    if (!auth_admit(api->auth, request->headers.authorization, reply))
        return;
    json_fault fault =
        sale_request_read(request->body, request->body_len, &terms, err, sizeof(err));
    if (!api_body_ok(fault, err, reply))
        return;
    dlock_time deadline = request->deadline;
    sale_refresh(api->sales, terms.item, store_read_deadline(deadline));
    start_status status = sale_start(api->store, &terms, false, deadline, err, sizeof(err));
    snprintf(redis, sizeof(redis), "%s", dlock_redis_said());
    dlock_time until = dlock_sooner(deadline, dlock_in_ms(START_MS));
    if (status == START_OK || status == START_UNKNOWN)
        sale_watch(api->sales, terms.item, until);
    else
        sale_refresh(api->sales, terms.item, until);
    answer_status(api, status, &terms, err, redis, reply);
}
