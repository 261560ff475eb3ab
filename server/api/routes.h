/* routes.h - the endpoints, one function each, and what they share. Only for this folder. */
#ifndef FLASHSALE_ROUTES_H
#define FLASHSALE_ROUTES_H

#include "server/api/request.h"

typedef void api_endpoint(fs_api *api, const api_request *request, api_reply *reply);

api_endpoint api_buy;         /* POST /buy */
api_endpoint api_confirm;     /* POST /orders/{request}/confirm */
api_endpoint api_cancel;      /* POST /orders/{request}/cancel */
api_endpoint api_stock;       /* GET /stock */
api_endpoint api_order;       /* GET /orders/{request} */
api_endpoint api_orders;      /* GET /orders; admin */
api_endpoint api_items;       /* GET /items; admin */
api_endpoint api_start_sale;  /* POST /sales */
api_endpoint api_resume_sale; /* POST /sales/resume; admin */
api_endpoint api_locks;       /* GET /locks */
api_endpoint api_stop_holder; /* POST /locks/stop; admin, in a demonstration */
api_endpoint api_strategies;  /* GET /strategies */
api_endpoint api_live;        /* GET /livez */
api_endpoint api_ready;       /* GET /readyz */
api_endpoint api_metrics;     /* GET /metrics */
api_endpoint api_openapi;     /* GET /openapi.json */
api_endpoint api_page;        /* GET / */
api_endpoint api_page_part;   /* GET /page/{name} */
api_endpoint api_dashboard;   /* GET /dashboard */

#define ORDERS_PATH "/orders/"
#define PAGE_PATH   "/page/"

/* The refusal when no sale was found or opened. */
void api_no_sale(fs_api *api, api_reply *reply, sale_status status, const char *item);

/* The refusal where the ledger of the item's sale can not be read: it is damaged, or Redis did not
 * answer. Compares a damaged one first: Redis may have lost orders since the keeper's last look.
 * Returns what was refused: SALE_DAMAGED, _HALTED or _UNAVAILABLE. */
sale_status api_no_ledger(fs_api *api, const fs_sale *sale, bool damaged, dlock_time deadline,
                          api_reply *reply);

/* Adds members about a halt: its sale and the rest; the numbers of known, found and lost orders. */
void api_put_halt(fs_text *out, const sale_halt *halt);
void api_put_lost(fs_text *out, const sale_halt *halt);

#define HALTED_DETAIL                                                                              \
    "Redis has lost something of this sale; nothing is sold until the admin has decided"

/* The sale of the item in item=, or else of `otherwise` (NULL: item= is required), for a question.
 * To be given back by sale_table_put(). NULL: refused. */
fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *otherwise,
                       api_reply *reply);

/* True: the input is fine. False: the reply refuses it. */
bool api_input_ok(json_fault fault, const char *detail, api_reply *reply);

/* True: there is nothing to wait for. False: the reply refuses, for `wait_s` seconds. */
bool api_may_go_on(fs_api *api, int wait_s, api_reply *reply);

/* Whether GET /orders asks for the feed, correctly or not; and the endpoint of the feed. */
bool api_is_feed(const fs_query *query);
api_endpoint api_feed;

/* Adds the members of an order: as its buyer was first told, which never changes, so that a replay
 * has the same body; or as it is now, with its time. `segment`: the order's number counts within
 * it; -1 = the sale is not sharded. */
void api_put_order(fs_text *out, const char *item, const char *sale, int segment,
                   const char *request, const fs_order *order, bool at_first);

#endif
