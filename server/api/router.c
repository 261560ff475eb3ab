/*
 * router.c - the table of routes, and the checks of every request before its endpoint is called.
 *
 * The table also has the hints for wrong requests.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/authority.h"

typedef struct api_route {
    const char *method;
    const char *path; /* with one '*' for a part of it that may be anything */
    api_endpoint *endpoint;
    const char *hint;          /* how to ask, for those who asked in another way */
    const char *const *params; /* those of the query, ending with NULL; NULL = none */
    enum {
        PLAIN,
        FORM, /* the parameters may come in a body too */
        ADMIN,
        DEMO,    /* ADMIN, and not there unless with --demo yes */
        QUESTION /* everybody may ask, and Redis is asked: so often an address */
    } kind;
} api_route;

static const char *const buy_params[] = {"item",    "user",      "quantity",  "sale",
                                         "request", "not_after", "reserve_s", NULL};
static const char *const settle_params[] = {"item", "sale", "user", "not_after", NULL};
static const char *const ledger_params[] = {"item",    "cursor", "after", "sale",
                                            "segment", "limit",  NULL};
static const char *const order_params[] = {"item", "sale", "not_after", NULL};
static const char *const item_params[] = {"item", NULL};
static const char *const items_params[] = {"after", NULL};

static const api_route routes[] = {
    {"POST", "/buy", api_buy, "POST /buy?item=P0001&user=u1", buy_params, FORM},
    {"GET", "/stock", api_stock, "GET /stock?item=P0001", item_params, QUESTION},
    {"POST", ORDERS_PATH "*/confirm", api_confirm,
     "POST /orders/{request}/confirm?item=P0001&sale=...", settle_params, PLAIN},
    {"POST", ORDERS_PATH "*/cancel", api_cancel,
     "POST /orders/{request}/cancel?item=P0001&sale=...", settle_params, PLAIN},
    {"GET", ORDERS_PATH "*", api_order, "GET /orders/{request}?item=P0001&sale=...", order_params,
     QUESTION},
    {"GET", "/orders", api_orders, "GET /orders?item=P0001", ledger_params, ADMIN},
    {"GET", "/items", api_items, "GET /items", items_params, ADMIN},
    {"POST", "/sales", api_start_sale,
     "POST /sales with {\"item\":\"P0001\",\"stock\":1000,\"strategy\":\"combined\"}", NULL, ADMIN},
    {"POST", "/sales/resume", api_resume_sale,
     "POST /sales/resume with {\"item\":\"P0001\",\"sale\":\"...\",\"lost_orders\":5}", NULL,
     ADMIN},
    {"GET", "/locks", api_locks, "GET /locks", NULL, ADMIN},
    {"POST", "/locks/stop", api_stop_holder, "POST /locks/stop?item=P0001", item_params, DEMO},
    {"GET", "/strategies", api_strategies, "GET /strategies", NULL, PLAIN},
    {"GET", "/livez", api_live, "GET /livez", NULL, PLAIN},
    {"GET", "/readyz", api_ready, "GET /readyz", NULL, PLAIN},
    {"GET", "/metrics", api_metrics, "GET /metrics", NULL, PLAIN},
    {"GET", "/openapi.json", api_openapi, "GET /openapi.json", NULL, PLAIN},
    {"GET", "/dashboard", api_dashboard, "GET /dashboard?item=P0001", item_params, QUESTION},
    {"GET", "/", api_page, "GET /?item=P0001", item_params, PLAIN},
    {"GET", PAGE_PATH "*", api_page_part, "GET /page/page.js", NULL, PLAIN},
};

static bool is_path_of(const char *form, const char *path)
{
    while (*form != '\0' && *form == *path)
        form++, path++;
    if (*form != '*')
        return *form == *path;
    size_t end = strlen(form + 1), rest = strlen(path);
    return rest > end && strcmp(path + rest - end, form + 1) == 0;
}

static const api_route *find_route(const char *path, bool demo)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (is_path_of(routes[i].path, path) && (routes[i].kind != DEMO || demo))
            return &routes[i];
    return NULL;
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

/* Whether a Content-Type is this one, with parameters of its own or not. */
static bool is_type(const char *content_type, const char *type)
{
    size_t len = strlen(type);
    return strncasecmp(content_type, type, len) == 0 &&
           (content_type[len] == '\0' || strchr("; \t", content_type[len]));
}

/* Adds what stands in the body. False: it is of a type that is not read. */
static bool read_form(const api_request *request, fs_query *query)
{
    const char *type = request->headers.content_type ? request->headers.content_type : "";
    if (is_type(type, "application/x-www-form-urlencoded"))
        query_add_words(query, request->body, request->body_len);
    else if (is_type(type, "application/json"))
        query_add_json(query, request->body, request->body_len);
    else
        return false;
    return true;
}

/* False: refused. */
static bool read_params(const api_route *route, const api_request *request, fs_query *query,
                        api_reply *reply)
{
    char detail[256];
    query_init(query, route->params);
    query_add_words(query, request->query_string, strlen(request->query_string));
    if (query->fault == JSON_FINE && route->kind == FORM && request->body_len > 0 &&
        !read_form(request, query)) {
        problem(reply, 415, "unsupported_media_type",
                "a body here must be application/x-www-form-urlencoded or application/json");
        return false;
    }
    if (query->fault == JSON_FINE)
        return true;
    snprintf(detail, sizeof(detail), "%s; try: %s", query->why, route->hint);
    return api_input_ok(query->fault, detail, reply);
}

/* ---- one request ----------------------------------------------------------------------------- */

static void dispatch(fs_api *api, const api_request *request, api_reply *reply)
{
    fs_query query;
    api_request asked = *request;
    const api_route *route = find_route(request->path, api->demo);
    asked.query = &query;
    if (!route)
        problem(reply, 404, "not_found", "there is nothing at this path");
    else if (strcmp(route->method, request->method) != 0)
        wrong_method(route, request, reply);
    else if ((route->kind != QUESTION ||
              api_may_go_on(api, rate_wait_question(api->rate, request->peer), reply)) &&
             read_params(route, request, &query, reply) &&
             ((route->kind != ADMIN && route->kind != DEMO) ||
              auth_admit(api->auth, request->headers.authorization, reply)))
        route->endpoint(api, &asked, reply);
}

/* Whether a page of another site has had a browser send it. */
static bool is_cross_site(const api_headers *sent)
{
    static const char *const ours[] = {"same-origin", "same-site", "none"};
    bool known = !sent->fetch_site;
    for (size_t i = 0; !known && i < sizeof(ours) / sizeof(ours[0]); i++)
        known = strcasecmp(sent->fetch_site, ours[i]) == 0;
    return !known ||
           (sent->origin && !(sent->host && authority_is_of_origin(sent->host, sent->origin)));
}

/* Whether it may be looked at. Where the admin is open, a page that has its own name lead to this
 * machine (DNS rebinding) is of the same site, and only the name tells. */
static bool may_come(const fs_api *api, const api_request *request, bool probe, api_reply *reply)
{
    const api_headers *sent = &request->headers;
    if (!probe && api->auth->open && sent->host && !authority_is_loopback(sent->host)) {
        problem(reply, 421, "other_server",
                "without an admin token this server goes by localhost, 127.0.0.1 and [::1] only");
        reply->close = true;
        return false;
    }
    if (strcmp(request->method, "POST") != 0 || (!sent->fetch_site && !sent->origin) ||
        !is_cross_site(sent))
        return true;
    problem(reply, 403, "cross_site",
            "a page of another site may not ask for this; nothing was done");
    return false;
}

void api_handle(fs_api *api, const api_request *request, api_reply *reply)
{
    bool probe = strcmp(request->path, "/livez") == 0 || strcmp(request->path, "/readyz") == 0;
    atomic_fetch_add(&api->metrics->in_flight, 1);
    if (!atomic_load(&api->open) && !probe)
        problem(reply, 503, "starting", "this instance is still starting; nothing was done");
    else if (may_come(api, request, probe, reply))
        dispatch(api, request, reply);
    if (reply->sent)
        return;
    if (reply->body.failed)
        problem(reply, 503, "out_of_memory", "the reply did not fit into memory");
    if (atomic_load_explicit(&api->metrics->draining, memory_order_relaxed))
        reply->close = true;
    metrics_count_response(api->metrics, reply->status);
}

void api_done(fs_api *api)
{
    atomic_fetch_sub(&api->metrics->in_flight, 1);
}
