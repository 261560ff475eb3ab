/* routes.h - the endpoints, one function each, and what they share. Only for this folder. */
#ifndef FLASHSALE_ROUTES_H
#define FLASHSALE_ROUTES_H

#include "server/api/reply.h"
#include "server/api/request.h"
#include "server/base/json.h"

typedef void api_endpoint(fs_api *api, const api_request *request, api_reply *reply);

api_endpoint api_buy;         /* POST /buy */
api_endpoint api_stock;       /* GET /stock */
api_endpoint api_order;       /* GET /orders/{request} */
api_endpoint api_orders;      /* GET /orders; admin */
api_endpoint api_start_sale;  /* POST /sales */
api_endpoint api_resume_sale; /* POST /sales/resume; admin */
api_endpoint api_locks;       /* GET /locks */
api_endpoint api_strategies;  /* GET /strategies */
api_endpoint api_live;        /* GET /livez */
api_endpoint api_ready;       /* GET /readyz */
api_endpoint api_metrics;     /* GET /metrics */
api_endpoint api_openapi;     /* GET /openapi.json */
api_endpoint api_page;        /* GET / */
api_endpoint api_page_part;   /* GET /page/{name} */
api_endpoint api_dashboard;   /* GET /dashboard */

/* For dashboard_options.count; `arg` is the fs_api. */
void api_count(void *arg, instance_record *ret);

#define ORDERS_PATH "/orders/"
#define PAGE_PATH   "/page/"

/* What an identifier is, for people. */
#define IDENT_FORM "1 to 64 of [A-Za-z0-9_-]"

/* Whether a parameter was read. Otherwise it is refused with 400, `code`, and whether it is missing
 * or malformed: it must be `form`. */
bool api_param_ok(query_status status, const char *code, const char *name, const char *form,
                  api_reply *reply);

/* Reads `not_after`, 0 = none. False: refused. */
bool api_read_not_after(const fs_query *query, int64_t *ret, api_reply *reply);

/* Whether the JSON body of a sale was read. Otherwise it is refused with 400 and `what`. */
bool api_body_ok(json_fault fault, const char *what, api_reply *reply);

/* The refusal for a sale that could not be had. */
void api_no_sale(fs_api *api, api_reply *reply, sale_status status, const char *item);

/* A refusal that tells of a halt: its sale, and the orders known, found and lost. */
void api_halted(api_reply *reply, int status, const char *code, const char *detail,
                const sale_halt *halt);

/* The same as members of a JSON object, `,"known":...`, without the sale. */
#define HALT_MEMBERS_MAX 128
void api_halt_members(char ret[HALT_MEMBERS_MAX], const sale_halt *halt);

#define HALTED_DETAIL                                                                              \
    "Redis has lost something of this sale; nothing is sold until the admin has decided"

/* The item's sale, for a question about it; to be given back with sale_table_put(). NULL: refused.
 */
fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *item, api_reply *reply);

/* False: refused; the address or the user has tried to buy too often. */
bool api_within_rate(fs_api *api, const api_request *request, const char *user, api_reply *reply);

/* One order as JSON, without its closing brace. A function of the order alone, so that a replay
 * has the same body. `sharded`: whether its number counts within a segment. */
void api_put_order(fs_text *out, const char *item, const char *sale, bool sharded, int segment,
                   const char *request, const fs_order *order);

#endif
