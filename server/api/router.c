/*
 * router.c - one table of routes, and what the endpoints share.
 *
 * The table also tells who asked in a wrong way how to ask.
 */
#include "server/api/router.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/api/routes.h"
#include "server/base/authority.h"
#include "server/sale/sale_find.h"

typedef struct api_route {
    const char *method;
    const char *path; /* ending on '/' and longer than that: with one more part behind it */
    api_endpoint *endpoint;
    const char *hint;          /* how to ask, for those who asked in another way */
    const char *const *params; /* those of the query, ending with NULL; NULL = none */
    enum {
        PLAIN,
        FORM,    /* the parameters may come in a body too */
        QUESTION /* everybody may ask, and Redis is asked: so often an address */
    } kind;
} api_route;

static const char *const buy_params[] = {"item",    "user",      "quantity", "sale",
                                         "request", "not_after", NULL};
static const char *const ledger_params[] = {"item", "cursor", NULL};
static const char *const order_params[] = {"item", "sale", "not_after", NULL};
static const char *const item_params[] = {"item", NULL};

static const api_route routes[] = {
    {"POST", "/buy", api_buy, "POST /buy?item=P0001&user=u1", buy_params, FORM},
    {"GET", "/stock", api_stock, "GET /stock?item=P0001", item_params, QUESTION},
    {"GET", ORDERS_PATH, api_order, "GET /orders/{request}?item=P0001&sale=...", order_params,
     QUESTION},
    {"GET", "/orders", api_orders, "GET /orders?item=P0001", ledger_params, PLAIN},
    {"POST", "/sales", api_start_sale,
     "POST /sales with {\"item\":\"P0001\",\"stock\":1000,\"strategy\":\"combined\"}", NULL, PLAIN},
    {"POST", "/sales/resume", api_resume_sale,
     "POST /sales/resume with {\"item\":\"P0001\",\"sale\":\"...\",\"lost_orders\":5}", NULL,
     PLAIN},
    {"GET", "/locks", api_locks, "GET /locks", NULL, PLAIN},
    {"GET", "/strategies", api_strategies, "GET /strategies", NULL, PLAIN},
    {"GET", "/livez", api_live, "GET /livez", NULL, PLAIN},
    {"GET", "/readyz", api_ready, "GET /readyz", NULL, PLAIN},
    {"GET", "/metrics", api_metrics, "GET /metrics", NULL, PLAIN},
    {"GET", "/openapi.json", api_openapi, "GET /openapi.json", NULL, PLAIN},
    {"GET", "/dashboard", api_dashboard, "GET /dashboard?item=P0001", item_params, QUESTION},
    {"GET", "/", api_page, "GET /?item=P0001", item_params, PLAIN},
    {"GET", PAGE_PATH, api_page_part, "GET /page/page.js", NULL, PLAIN},
};

static bool matches(const api_route *route, const char *path)
{
    size_t len = strlen(route->path);
    if (len > 1 && route->path[len - 1] == '/')
        return strncmp(path, route->path, len) == 0 && path[len] != '\0';
    return strcmp(path, route->path) == 0;
}

static void wrong_method(const api_route *route, const api_request *request, api_reply *reply)
{
    char detail[256];
    snprintf(detail, sizeof(detail), "%.16s is not possible here; try: %s", request->method,
             route->hint);
    problem(reply, 405, "method_not_allowed", detail);
    reply->allow = strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool refuse_params(const api_route *route, query_fault fault, const char *what,
                          api_reply *reply)
{
    static const char *const codes[] = {
        [QUERY_UNKNOWN] = "unknown_parameter",
        [QUERY_REPEATED] = "repeated_parameter",
        [QUERY_NOT_OBJECT] = "bad_body",
    };
    char detail[256];
    if (fault == QUERY_FINE)
        return true;
    snprintf(detail, sizeof(detail), "%s; try: %s", what, route->hint);
    problem(reply, 400, codes[fault], detail);
    return false;
}

/* Whether a Content-Type is this one, with parameters of its own or not. */
static bool is_type(const char *content_type, const char *type)
{
    size_t len = strlen(type);
    return strncasecmp(content_type, type, len) == 0 &&
           (content_type[len] == '\0' || strchr("; \t", content_type[len]));
}

/* Adds what stands in the body. False: refused. */
static bool read_form(const api_route *route, const api_request *request, fs_query *query,
                      api_reply *reply)
{
    char what[160];
    query_fault fault;
    const char *type = request->headers.content_type ? request->headers.content_type : "";
    if (request->body_len == 0)
        return true;
    if (is_type(type, "application/x-www-form-urlencoded")) {
        fault = query_add_words(query, request->body, request->body_len, what, sizeof(what));
    } else if (is_type(type, "application/json")) {
        fault = query_add_json(query, request->body, request->body_len, what, sizeof(what));
    } else {
        problem(reply, 415, "unsupported_media_type",
                "a body here must be application/x-www-form-urlencoded or application/json");
        return false;
    }
    return refuse_params(route, fault, what, reply);
}

static bool read_params(const api_route *route, const api_request *request, fs_query *query,
                        api_reply *reply)
{
    char what[160];
    query_init(query, route->params);
    query_fault fault = query_add_words(query, request->query_string, strlen(request->query_string),
                                        what, sizeof(what));
    return refuse_params(route, fault, what, reply) &&
           (route->kind != FORM || read_form(route, request, query, reply));
}

/* ---- one request ----------------------------------------------------------------------------- */

/* Whether it may go on: it need not wait. */
static bool may_go_on(fs_api *api, int wait_s, api_reply *reply)
{
    if (wait_s == 0)
        return true;
    problem(reply, 429, "rate_limited", "too many requests; see Retry-After");
    reply->retry_after_s = wait_s;
    metrics_add(&api->metrics->rate_limited, 1);
    return false;
}

static void ask_endpoint(const api_route *route, fs_api *api, const api_request *request,
                         api_reply *reply)
{
    fs_query query;
    api_request asked = *request;
    asked.query = &query;
    int wait_s = route->kind == QUESTION ? question_wait_s(api->questions, request->peer) : 0;
    if (may_go_on(api, wait_s, reply) && read_params(route, request, &query, reply))
        route->endpoint(api, &asked, reply);
}

static void dispatch(fs_api *api, const api_request *request, api_reply *reply)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const api_route *route = &routes[i];
        if (!matches(route, request->path))
            continue;
        if (strcmp(route->method, request->method) == 0)
            ask_endpoint(route, api, request, reply);
        else
            wrong_method(route, request, reply);
        return;
    }
    problem(reply, 404, "not_found", "there is nothing at this path");
}

/* Whether a page of another site has had a browser send it. */
static bool is_cross_site(const api_request *request)
{
    static const char *const ours[] = {"same-origin", "same-site", "none"};
    bool known = !request->headers.fetch_site;
    for (size_t i = 0; !known && i < sizeof(ours) / sizeof(ours[0]); i++)
        known = strcasecmp(request->headers.fetch_site, ours[i]) == 0;
    if (!known)
        return true;
    return request->headers.origin &&
           !(request->headers.host &&
             authority_is_of_origin(request->headers.host, request->headers.origin));
}

/* Whether it may be looked at. Where the admin is open, a page that has its own name lead to this
 * machine (DNS rebinding) is of the same site, and only the name tells. */
static bool may_come(const fs_api *api, const api_request *request, bool probe, api_reply *reply)
{
    if (!probe && api->auth->open && request->headers.host &&
        !authority_is_loopback(request->headers.host)) {
        problem(reply, 421, "other_server",
                "without an admin token this server goes by localhost, 127.0.0.1 and [::1] only");
        reply->close = true;
        return false;
    }
    if (strcmp(request->method, "POST") != 0 || !is_cross_site(request))
        return true;
    problem(reply, 403, "cross_site",
            "a page of another site may not ask for this; nothing was done");
    return false;
}

void api_handle(fs_api *api, const api_request *request, api_reply *reply)
{
    bool probe = strcmp(request->path, "/livez") == 0 || strcmp(request->path, "/readyz") == 0;
    atomic_fetch_add(&api->in_flight, 1);
    if (!atomic_load(&api->open) && !probe)
        problem_later(reply, "starting", "this instance is still starting; nothing was done");
    else if (may_come(api, request, probe, reply))
        dispatch(api, request, reply);
    if (reply->sent)
        return;
    if (reply->body.failed)
        problem(reply, 503, "out_of_memory", "the reply did not fit into memory");
    if (atomic_load_explicit(&api->draining, memory_order_relaxed))
        reply->close = true;
    metrics_count_response(api->metrics, reply->status);
}

void api_done(fs_api *api)
{
    atomic_fetch_sub(&api->in_flight, 1);
}

/* ---- shared by the endpoints ----------------------------------------------------------------- */

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
    if (status == 503)
        reply->retry_after_s = 1;
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

bool api_param_ok(query_status status, const char *code, const char *name, const char *form,
                  api_reply *reply)
{
    char detail[160];
    if (status == QUERY_OK)
        return true;
    snprintf(detail, sizeof(detail), "%s= %s %s", name,
             status == QUERY_ABSENT ? "is missing; it must be" : "must be", form);
    problem(reply, 400, code, detail);
    return false;
}

bool api_body_ok(json_fault fault, const char *what, api_reply *reply)
{
    static const char *const codes[] = {
        [JSON_NOT_OBJECT] = "bad_body",
        [JSON_UNKNOWN] = "unknown_parameter",
        [JSON_REPEATED] = "repeated_parameter",
        [JSON_BAD_VALUE] = "bad_sale",
    };
    if (fault == JSON_FINE)
        return true;
    problem(reply, 400, codes[fault], what);
    return false;
}

bool api_within_rate(fs_api *api, const api_request *request, const char *user, api_reply *reply)
{
    int wait_s =
        api->limit ? limit_check(api->limit, user, request->peer, request->deadline) : 0;
    return may_go_on(api, wait_s, reply);
}

fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *item, api_reply *reply)
{
    fs_sale *sale;
    int wait_s = sale_table_knows(api->sales, item) ? 0 : question_wait_unknown_s(api->questions);
    if (!may_go_on(api, wait_s, reply))
        return NULL;
    sale_status status =
        sale_find(api->sales, item, store_read_deadline(request->deadline), &sale);
    if (status == SALE_OK)
        return sale;
    api_no_sale(api, reply, status, item);
    return NULL;
}

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
