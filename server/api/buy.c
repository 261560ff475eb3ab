/*
 * buy.c - POST /buy, and POST /orders/{request}/confirm and /cancel, which end a reservation. Reads
 * the parameters strictly, and gives each outcome one answer that a client can rely on.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "server/sale/checkout.h"

#define USER_FORM "1 to 128 of [A-Za-z0-9._%+@-]; mind that a query has + as %2B"

typedef struct buy_query {
    fs_api *api;
    char item[IDENT_MAX + 1];
    char sale[IDENT_MAX + 1]; /* the only one to buy in; "" = the current one */
    purchase request;
} buy_query;

/* ---- what is asked --------------------------------------------------------------------------- */

static bool refuse(api_reply *reply, const char *code, const char *detail)
{
    problem(reply, 400, code, detail);
    return false;
}

/* Gives an id to a request without one: the proxy's, which the proxy tells the client if this
 * instance does not answer; or 128 random bits, which an attacker can not guess in order to use
 * them or have them declared void. Each thread fetches many bits at a time. Such an id never marks
 * a retry, because the proxy sends a buy once. */
static bool give_request_id(const api_request *http, purchase *request, api_reply *reply)
{
    static _Thread_local unsigned char supply[128];
    static _Thread_local size_t left;
    const char *given = http->headers.proxy_request;
    if (given && ident_ok(given, strlen(given))) {
        memcpy(request->request, given, strlen(given) + 1);
        return true;
    }
    if (left == 0 && getrandom(supply, sizeof(supply), 0) != sizeof(supply)) {
        problem(reply, 503, "no_random_bits", "no request id could be made; nothing was bought");
        return false;
    }
    left = (left == 0 ? sizeof(supply) : left) - 16;
    text_hex(&supply[left], 16, request->request);
    return true;
}

/* The request id: from the header, from a parameter, or made. */
static bool read_request_id(const api_request *http, purchase *request, api_reply *reply)
{
    char key[IDENT_MAX + 1];
    const char *header = http->headers.idempotency_key;
    query_status status = query_word(http->query, "request", ident_ok, request->request);
    if (status == QUERY_BAD)
        return api_param_ok(status, "bad_request_id", "request", IDENT_FORM, reply);
    if (header && !query_read_key(header, key))
        return refuse(reply, "bad_request_id",
                      "Idempotency-Key must be " IDENT_FORM ", in double quotes or without");
    if (header && status == QUERY_OK && strcmp(key, request->request) != 0)
        return refuse(reply, "bad_request_id", "Idempotency-Key and request= differ");

    request->keyed = header || status == QUERY_OK;
    if (header)
        memcpy(request->request, key, sizeof(key));
    return request->keyed || give_request_id(http, request, reply);
}

/* A number from 1 on. */
static bool read_number(const fs_query *query, const char *name, const char *code, int64_t most,
                        int64_t otherwise, int64_t *ret, api_reply *reply)
{
    char form[48];
    query_status status = query_int(query, name, 1, most, ret);
    if (status == QUERY_ABSENT)
        *ret = otherwise;
    if (status != QUERY_BAD)
        return true;
    snprintf(form, sizeof(form), "a number from 1 to %lld", (long long)most);
    return api_param_ok(status, code, name, form, reply);
}

static bool read_query(const fs_api *api, const api_request *http, buy_query *query,
                       api_reply *reply)
{
    purchase *request = &query->request;
    return api_read_ident(http->query, "item", "bad_item", true, query->item, reply) &&
           api_param_ok(query_word(http->query, "user", user_ok, request->user), "bad_user", "user",
                        USER_FORM, reply) &&
           api_read_ident(http->query, "sale", "bad_sale", false, query->sale, reply) &&
           read_number(http->query, "quantity", "bad_quantity", api->max_quantity, 1,
                       &request->quantity, reply) &&
           read_number(http->query, "reserve_s", "bad_reserve_s", RESERVE_MOST_S, 0,
                       &request->reserve_s, reply) &&
           api_read_not_after(http->query, &request->wanted_by_us, reply) &&
           read_request_id(http, request, reply);
}

/* Whether the user has said who it is, where it must, and does not try too often. */
static bool may_ask(fs_api *api, const api_request *http, const purchase *request, api_reply *reply)
{
    const fs_rate *rate = api->rate;
    char order[IDENT_MAX + 2];
    if (api->auth->buyer_key[0] != '\0' && request->action != PURCHASE_REVOKE &&
        !auth_admit_buyer(api->auth, request->user, http->headers.buyer_token, reply))
        return false;
    if (rate->user == 0 && rate->address == 0)
        return true;
    snprintf(order, sizeof(order), "#%s", request->request); /* no user's name */
    const char *who = request->user[0] != '\0' ? request->user : order;
    return api_may_go_on(api, rate_wait_buy(rate, who, http->peer, http->deadline), reply);
}

/* ---- what is answered ------------------------------------------------------------------------ */

static void answer_done(const buy_query *query, const char *sale, bool sharded,
                        const purchase_result *result, api_reply *reply)
{
    bool buys = query->request.action == PURCHASE_BUY;
    api_put_order(reply_json(reply, buys ? 201 : 200), query->item, sale,
                  sharded ? result->segment : -1, query->request.request, &result->order, buys);
    if (!buys)
        return;
    reply->replayed = result->replayed && query->request.keyed;
    text_add_all(&reply->location, ORDERS_PATH, query->request.request, "?item=", query->item,
                 "&sale=", sale);
}

/* The detail of a confirm or cancel that was refused; NULL: the outcome's own sentence. */
static const char *settled_words(purchase_outcome outcome)
{
    return outcome == BUY_UNKNOWN ? "done or not: send it again, or ask GET /orders/{request}"
           : outcome_table[outcome].again == AGAIN_YES || outcome == BUY_TOO_LATE
               ? "this try changed nothing; the order is as it was"
               : NULL;
}

/* The request id goes with every refusal, for the client may not have chosen it; and the sale, so
 * that a retry can say to which it belongs. Buyers hear what Redis said by its first word; the
 * whole of it is in the log. */
static void answer_refused(const buy_query *query, const checkout_answer *bought, api_reply *reply)
{
    char detail[128];
    const purchase *request = &query->request;
    purchase_outcome outcome = bought->result.outcome;
    if (outcome == BUY_UNAVAILABLE) {
        problem_redis(reply, bought->result.redis, "nothing was bought");
    } else if (outcome == BUY_LIMIT_REACHED && request->quantity > bought->per_user_limit) {
        /* only a smaller request can help */
        snprintf(detail, sizeof(detail), "this sale allows a user %lld; nothing was bought",
                 (long long)bought->per_user_limit);
        problem(reply, 409, "quantity_above_limit", detail);
    } else {
        problem_outcome(reply, outcome,
                        outcome == BUY_SOLD_OUT && bought->sharded
                            ? "no segment of the sale has as many units left as asked for"
                        : request->action != PURCHASE_BUY ? settled_words(outcome)
                                                          : NULL);
    }
    if (outcome == BUY_SOLD_OUT && bought->result.reserved >= 0)
        text_put(&reply->body, NUMBER("reserved", bought->result.reserved));
    text_put(&reply->body, STRING("request", request->request), STRING("sale", bought->sale));
    if (outcome == BUY_UNKNOWN)
        text_put(&reply->body, NUMBER("not_after", request->not_after_us));
}

static void answer(const buy_query *query, const checkout_answer *bought, api_reply *reply)
{
    sale_halt halt;
    purchase_outcome outcome = bought->result.outcome;
    if (outcome == BUY_SOLD) {
        answer_done(query, bought->sale, bought->sharded, &bought->result, reply);
    } else if (outcome == BUY_CLOSED && strcmp(query->sale, bought->sale) >= 0) {
        problem(reply, 404, "no_such_sale", "there is no such sale");
    } else if (outcome == BUY_CLOSED) {
        problem_outcome(reply, BUY_CLOSED, NULL);
    } else if (outcome == BUY_ROLLED_BACK &&
               sale_table_halt(query->api->sales, query->item, &halt)) {
        problem_outcome(reply, BUY_ROLLED_BACK,
                        query->request.action == PURCHASE_BUY ? HALTED_DETAIL
                            "; this try bought nothing, but an earlier one may have lost its order"
                                                              : HALTED_DETAIL
                            "; this try changed nothing, and the order may be lost");
        text_put(&reply->body, STRING("request", query->request.request));
        api_put_halt(&reply->body, &halt); /* names the halted sale, not the buyer's */
    } else {
        answer_refused(query, bought, reply);
    }
}

/* ---- answered by another thread -------------------------------------------------------------- */

/* As it is counted. */
static purchase_outcome counted_as(const purchase *request, purchase_outcome outcome)
{
    if (outcome != BUY_SOLD)
        return outcome;
    if (request->action == PURCHASE_BUY)
        return request->reserve_s > 0 ? BUY_RESERVED : BUY_SOLD;
    return request->action == PURCHASE_CONFIRM ? BUY_CONFIRMED : BUY_CANCELLED;
}

/* Not while it drains: the connection is to be closed then, which only its own thread does. */
static bool tell_done(direct_answer *direct, const sale_terms *terms, const purchase_result *result)
{
    api_client *client = (api_client *)direct;
    const buy_query *query = client->arg;
    fs_metrics *metrics = query->api->metrics;
    api_reply reply;
    if (atomic_load_explicit(&metrics->draining, memory_order_relaxed))
        return false;
    reply_init(&reply);
    answer_done(query, terms->id, terms->segments > 0, result, &reply);
    bool sent = !reply.body.failed && client->send(client, &reply);
    reply_free(&reply);
    if (sent) {
        metrics_count_buy(metrics, counted_as(&query->request, BUY_SOLD),
                          result->replayed && query->request.keyed,
                          dlock_now().us - query->request.received.us);
        metrics->told_directly++;
        metrics_count_response(metrics, reply.status);
        api_done(query->api);
    }
    return sent;
}

/* Asks for it, and answers. */
static void ask(fs_api *api, const api_request *http, buy_query *query, api_reply *reply)
{
    checkout_answer bought;
    purchase *request = &query->request;
    query->api = api;
    request->received = http->received;
    request->deadline = http->deadline;
    request->direct = NULL;
    if (http->client) {
        http->client->direct.tell = tell_done;
        http->client->arg = query;
        request->direct = &http->client->direct;
    }

    sale_status status = checkout(api->sales, query->item, query->sale, request, &bought);
    if (status != SALE_OK) {
        api_no_sale(api, reply, status, query->item);
        return;
    }
    reply->sent = bought.result.told;
    if (reply->sent) {
        reply->status = request->action == PURCHASE_BUY ? 201 : 200;
        return;
    }
    answer(query, &bought, reply);
    metrics_count_buy(api->metrics, counted_as(request, bought.result.outcome),
                      bought.result.replayed, dlock_now().us - http->received.us);
}

static bool is_refusing(fs_api *api, api_reply *reply)
{
    bool refusing = atomic_load_explicit(&api->refusing, memory_order_relaxed);
    if (refusing)
        problem(reply, 503, "draining", "this instance is going down; nothing was done");
    return refusing;
}

void api_buy(fs_api *api, const api_request *http, api_reply *reply)
{
    buy_query query;
    query.request.action = PURCHASE_BUY;
    if (!is_refusing(api, reply) && read_query(api, http, &query, reply) &&
        may_ask(api, http, &query.request, reply))
        ask(api, http, &query, reply);
}

/* ---- what becomes of a reservation ----------------------------------------------------------- */

/* The request id stands in the path, before the last part. */
static bool read_settled(const fs_api *api, const api_request *http, buy_query *query,
                         api_reply *reply)
{
    purchase *request = &query->request;
    const char *id = http->path + strlen(ORDERS_PATH);
    size_t len = (size_t)(strrchr(id, '/') - id);
    query_status status = query_word(http->query, "user", user_ok, request->user);
    request->quantity = 1;
    request->reserve_s = 0;
    request->keyed = true;
    if (status == QUERY_ABSENT)
        request->user[0] = '\0';
    if (!ident_ok(id, len))
        return refuse(reply, "bad_request_id", "a request id is " IDENT_FORM);
    snprintf(request->request, sizeof(request->request), "%.*s", (int)len, id);
    bool needed = api->auth->buyer_key[0] != '\0' && request->action != PURCHASE_REVOKE;
    return api_read_ident(http->query, "item", "bad_item", true, query->item, reply) &&
           ((status == QUERY_ABSENT && !needed) ||
            api_param_ok(status, "bad_user", "user", USER_FORM, reply)) &&
           api_read_ident(http->query, "sale", "bad_sale", false, query->sale, reply) &&
           api_read_not_after(http->query, &request->wanted_by_us, reply);
}

static void settle(fs_api *api, const api_request *http, purchase_action action, api_reply *reply)
{
    buy_query query;
    query.request.action = action;
    if (!is_refusing(api, reply) && read_settled(api, http, &query, reply) &&
        may_ask(api, http, &query.request, reply))
        ask(api, http, &query, reply);
}

void api_confirm(fs_api *api, const api_request *http, api_reply *reply)
{
    settle(api, http, PURCHASE_CONFIRM, reply);
}

/* A cancel revokes a sold order only with the admin's Authorization, even where everybody is the
 * admin: a buyer's cancel that crosses its own confirm must not undo it. */
void api_cancel(fs_api *api, const api_request *http, api_reply *reply)
{
    const char *shown = http->headers.authorization;
    if (!shown || auth_admit(api->auth, shown, reply))
        settle(api, http, shown ? PURCHASE_REVOKE : PURCHASE_CANCEL, reply);
}
