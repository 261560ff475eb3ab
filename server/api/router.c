/*
 * router.c - one table of routes, and what the endpoints share.
 *
 * The table also tells who asked in a wrong way how to ask.
 */
#include "server/api/router.h"

#include <stdio.h>
#include <string.h>

#include "server/api/routes.h"

typedef struct api_route {
    const char *method;
    const char *path; /* ending on '/' and longer than that: with one more part behind it */
    api_endpoint *endpoint;
    const char *hint; /* how to ask, for those who asked in another way */
} api_route;

static const api_route routes[] = {
    {"POST", "/buy", api_buy, "POST /buy?item=P0001&user=u1"},
    {"GET", "/stock", api_stock, "GET /stock?item=P0001"},
    {"GET", ORDERS_PATH, api_order, "GET /orders/{request}?item=P0001"},
    {"GET", "/orders", api_orders, "GET /orders?item=P0001"},
    {"POST", "/sales", api_start_sale,
     "POST /sales with {\"item\":\"P0001\",\"stock\":1000,\"strategy\":\"combined\"}"},
    {"GET", "/locks", api_locks, "GET /locks"},
    {"GET", "/strategies", api_strategies, "GET /strategies"},
    {"GET", "/livez", api_live, "GET /livez"},
    {"GET", "/readyz", api_ready, "GET /readyz"},
    {"GET", "/metrics", api_metrics, "GET /metrics"},
    {"GET", "/", api_page, "GET /"},
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

static void dispatch(fs_api *api, const api_request *request, api_reply *reply)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const api_route *route = &routes[i];
        if (!matches(route, request->path))
            continue;
        if (strcmp(route->method, request->method) == 0)
            route->endpoint(api, request, reply);
        else
            wrong_method(route, request, reply);
        return;
    }
    problem(reply, 404, "not_found", "there is nothing at this path");
}

void api_handle(fs_api *api, const api_request *request, api_reply *reply)
{
    atomic_fetch_add(&api->in_flight, 1);
    if (atomic_load(&api->open) || strcmp(request->path, "/livez") == 0)
        dispatch(api, request, reply);
    else
        problem_later(reply, "starting", "this instance is still starting; nothing was done");
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

void api_no_sale(api_reply *reply, sale_status status, const char *item)
{
    char detail[128];
    if (status == SALE_NONE) {
        snprintf(detail, sizeof(detail), "there is no sale of item %s", item);
        problem(reply, 404, "no_such_item", detail);
    } else if (status == SALE_UNREADABLE) {
        problem_later(reply, "sale_unreadable", "the sale was started by another version");
    } else {
        problem_store_unavailable(reply);
    }
}

void api_put_order(fs_text *out, const char *item, const char *sale, bool sharded, int segment,
                   const char *request, const fs_order *order)
{
    char part[16] = "";
    if (sharded)
        snprintf(part, sizeof(part), "%d-", segment);
    text_printf(out,
                "{\"order\":\"%s-%s%lld\",\"request\":\"%s\",\"item\":\"%s\",\"sale\":\"%s\","
                "\"user\":\"%s\",\"quantity\":%lld,\"remaining\":%lld,\"fence\":%llu,"
                "\"instance\":\"%s\"",
                sale, part, (long long)order->number, request, item, sale, order->user,
                (long long)order->quantity, (long long)order->remaining,
                (unsigned long long)order->fence, order->instance);
}
