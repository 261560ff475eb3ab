/*
 * buy.c - POST /buy: what is asked, strictly read; and for each outcome the one answer that a
 * client can rely on.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "server/api/router.h"
#include "server/sale/checkout.h"

typedef struct buy_query {
    char item[IDENT_MAX + 1];
    char sale[IDENT_MAX + 1]; /* the only one to buy in; "" = the current one */
    purchase request;
} buy_query;

/* 128 random bits, from a supply that each thread fetches for many at a time. False: the system has
 * none to give. */
static bool take_random(uint64_t ret[2])
{
    static _Thread_local uint64_t supply[16];
    static _Thread_local size_t left;
    if (left == 0 && getrandom(supply, sizeof(supply), 0) != sizeof(supply))
        return false;
    if (left == 0)
        left = sizeof(supply) / sizeof(supply[0]);
    ret[0] = supply[--left];
    ret[1] = supply[--left];
    return true;
}

/* A request id for a client that sends none: nobody can guess another's and use it, or have it
 * declared void, before. */
static bool make_request_id(char ret[IDENT_MAX + 1])
{
    uint64_t bits[2];
    if (!take_random(bits))
        return false;
    for (int i = 0; i < 32; i++)
        ret[i] = "0123456789abcdef"[bits[i / 16] >> i % 16 * 4 & 15];
    ret[32] = '\0';
    return true;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static bool refuse(api_reply *reply, const char *code, const char *detail)
{
    problem(reply, 400, code, detail);
    return false;
}

/* An id for a request that has none: the proxy's, which it tells the client when no answer comes
 * from here, or one made here. Neither makes it a retry: the proxy sends a buy once. */
static bool give_request_id(const api_request *http, purchase *request, api_reply *reply)
{
    const char *given = http->headers.proxy_request;
    if (given && ident_ok(given, strlen(given))) {
        memcpy(request->request, given, strlen(given) + 1);
        return true;
    }
    if (make_request_id(request->request))
        return true;
    problem(reply, 503, "no_random_bits", "no request id could be made; nothing was bought");
    return false;
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

static bool quantity_ok(query_status status, int64_t most, api_reply *reply)
{
    char form[48] = "";
    if (status != QUERY_OK)
        snprintf(form, sizeof(form), "a number from 1 to %lld", (long long)most);
    return api_param_ok(status, "bad_quantity", "quantity", form, reply);
}

static bool read_query(const fs_api *api, const api_request *http, buy_query *query,
                       api_reply *reply)
{
    purchase *request = &query->request;
    query_status item = query_word(http->query, "item", ident_ok, query->item);
    query_status user = query_word(http->query, "user", user_ok, request->user);
    query_status sale = query_word(http->query, "sale", ident_ok, query->sale);
    query_status quantity =
        query_int(http->query, "quantity", 1, api->max_quantity, &request->quantity);
    if (sale == QUERY_ABSENT)
        query->sale[0] = '\0';
    if (quantity == QUERY_ABSENT)
        request->quantity = 1;
    return api_param_ok(item, "bad_item", "item", IDENT_FORM, reply) &&
           api_param_ok(user, "bad_user", "user",
                        "1 to 128 of [A-Za-z0-9._%+@-]; mind that a query has + as %2B", reply) &&
           (sale == QUERY_ABSENT || api_param_ok(sale, "bad_sale", "sale", IDENT_FORM, reply)) &&
           (quantity == QUERY_ABSENT || quantity_ok(quantity, api->max_quantity, reply)) &&
           api_read_not_after(http->query, &request->wanted_by_us, reply) &&
           read_request_id(http, request, reply);
}

/* Whether the user has said who it is, where it must, and does not try too often. */
static bool may_buy(fs_api *api, const api_request *http, const char *user, api_reply *reply)
{
    const fs_rate *rate = api->rate;
    if (api->auth->buyer_key[0] != '\0' &&
        !auth_admit_buyer(api->auth, user, http->headers.buyer_token, reply))
        return false;
    return (rate->user == 0 && rate->address == 0) ||
           api_may_go_on(api, rate_wait_buy(rate, user, http->peer, http->deadline), reply);
}

/* ---- what is answered ------------------------------------------------------------------------ */

static void answer_closed(const char *now, const char *wanted, api_reply *reply)
{
    const outcome_words *closed = &outcome_table[BUY_CLOSED];
    if (strcmp(wanted, now) < 0)
        problem(reply, closed->status, closed->code, closed->sentence);
    else
        problem(reply, 404, "no_such_sale", "there is no such sale");
}

/* The request id goes with every refusal, for the client may not have chosen it; and the sale, so
 * that a retry can say to which it belongs. */
static void answer_problem(const purchase *request, const char *sale, const char *more,
                           api_reply *reply, int status, const char *code, const char *detail)
{
    char members[320];
    int len = snprintf(members, sizeof(members), ",\"request\":\"%s\",\"sale\":\"%s\"%s",
                       request->request, sale, more);
    if (status == 504)
        snprintf(members + len, sizeof(members) - (size_t)len, ",\"not_after\":%lld",
                 (long long)request->not_after_us);
    problem_with(reply, status, code, detail, members);
}

/* The sale is the order's; `result` is an order. */
static void answer_sold(const buy_query *query, const char *sale, bool sharded,
                        const purchase_result *result, api_reply *reply)
{
    fs_text *out = reply_json(reply, 201);
    api_put_order(out, query->item, sale, sharded, result->segment, query->request.request,
                  &result->order);
    text_add(out, "}\n");
    reply->replayed = result->replayed && query->request.keyed;
    text_add_all(&reply->location, ORDERS_PATH, query->request.request, "?item=", query->item,
                 "&sale=", sale);
}

/* More in one request than the sale allows a user: another try can not help, a smaller one may. */
static void answer_above_limit(const buy_query *query, const checkout_answer *bought,
                               api_reply *reply)
{
    char detail[128];
    snprintf(detail, sizeof(detail), "this sale allows a user %lld; nothing was bought",
             (long long)bought->per_user_limit);
    answer_problem(&query->request, bought->sale, "", reply, 409, "quantity_above_limit", detail);
}

/* Buyers hear what Redis said by its first word; the whole of it is in the log. */
static void answer_unavailable(const buy_query *query, const checkout_answer *bought,
                               api_reply *reply)
{
    char detail[160], member[64];
    store_refusal(bought->result.redis, "nothing was bought", detail, sizeof(detail), member,
                  sizeof(member));
    answer_problem(&query->request, bought->sale, member, reply, 503, "store_unavailable", detail);
}

/* The halt's sale, unlike the buyer's, is what the admin is asked about. */
static void answer_halted(const purchase *request, const sale_halt *halt, api_reply *reply)
{
    char numbers[HALT_MEMBERS_MAX], members[HALT_MEMBERS_MAX + 2 * IDENT_MAX + 32];
    api_halt_members(numbers, halt);
    snprintf(members, sizeof(members), ",\"request\":\"%s\",\"sale\":\"%s\"%s", request->request,
             halt->sale, numbers);
    problem_with(reply, 503, "sale_rolled_back",
                 HALTED_DETAIL
                 "; this try bought nothing, but an earlier one may have lost its order",
                 members);
    reply->retry_after_s = 1;
}

static void answer(fs_api *api, const buy_query *query, const checkout_answer *bought,
                   api_reply *reply)
{
    sale_halt halt;
    purchase_outcome outcome = bought->result.outcome;
    const outcome_words *words = &outcome_table[outcome];
    const char *detail = words->sentence;
    if (outcome == BUY_SOLD_OUT && bought->sharded)
        detail = "no segment of the sale has as many units left as asked for";
    if (outcome == BUY_SOLD)
        answer_sold(query, bought->sale, bought->sharded, &bought->result, reply);
    else if (outcome == BUY_CLOSED)
        answer_closed(bought->sale, query->sale, reply);
    else if (outcome == BUY_UNAVAILABLE)
        answer_unavailable(query, bought, reply);
    else if (outcome == BUY_LIMIT_REACHED && query->request.quantity > bought->per_user_limit)
        answer_above_limit(query, bought, reply);
    else if (outcome == BUY_ROLLED_BACK && sale_table_halt(api->sales, query->item, &halt))
        answer_halted(&query->request, &halt, reply);
    else
        answer_problem(&query->request, bought->sale, "", reply, words->status, words->code,
                       detail);
}

/* ---- answered by another thread -------------------------------------------------------------- */

typedef struct direct_buy {
    fs_api *api;
    const buy_query *query;
} direct_buy;

static void count(fs_api *api, const purchase_result *result, bool replayed, dlock_time received)
{
    metrics_count_buy(api->metrics, result->outcome, replayed, dlock_now().us - received.us);
}

/* Not while it drains: the connection is to be closed then, which only its own thread does. */
static bool tell_sold(direct_answer *direct, const sale_terms *terms, const purchase_result *result)
{
    api_client *client = (api_client *)direct;
    const direct_buy *buy = client->arg;
    api_reply reply;
    if (atomic_load_explicit(&buy->api->draining, memory_order_relaxed))
        return false;
    reply_init(&reply);
    answer_sold(buy->query, terms->id, terms->segments > 0, result, &reply);
    bool sent = !reply.body.failed && client->send(client, &reply);
    reply_free(&reply);
    if (sent) {
        count(buy->api, result, reply.replayed, buy->query->request.received);
        buy->api->metrics->told_directly++;
        metrics_count_response(buy->api->metrics, reply.status);
        api_done(buy->api);
    }
    return sent;
}

void api_buy(fs_api *api, const api_request *http, api_reply *reply)
{
    buy_query query;
    checkout_answer bought;
    direct_buy buy = {api, &query};
    if (atomic_load_explicit(&api->refusing, memory_order_relaxed)) {
        problem_later(reply, "draining", "this instance is going down; nothing was bought");
        return;
    }
    if (!read_query(api, http, &query, reply) || !may_buy(api, http, query.request.user, reply))
        return;
    query.request.received = http->received;
    query.request.deadline = http->deadline;
    query.request.direct = NULL;
    if (http->client) {
        http->client->direct.tell = tell_sold;
        http->client->arg = &buy;
        query.request.direct = &http->client->direct;
    }

    sale_status status = checkout(api->sales, query.item, query.sale, &query.request, &bought);
    if (status != SALE_OK) {
        api_no_sale(api, reply, status, query.item);
        return;
    }
    reply->sent = bought.result.told;
    if (reply->sent) {
        reply->status = 201;
        return;
    }
    answer(api, &query, &bought, reply);
    count(api, &bought.result, bought.result.replayed, http->received);
}
