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

/* The refusal for a sale that could not be had. */
void api_no_sale(fs_api *api, api_reply *reply, sale_status status, const char *item);

/* The refusal where the ledger of the item's sale can not be read: it is damaged, or Redis did not
 * answer. Compares a damaged one first: Redis may have lost orders since the keeper's last look.
 * Returns what was refused: SALE_DAMAGED, _HALTED or _UNAVAILABLE. */
sale_status api_no_ledger(fs_api *api, const fs_sale *sale, bool damaged, dlock_time deadline,
                          api_reply *reply);

/* Members that tell of a halt: its sale, and what follows; the orders known, found and lost. */
void api_put_halt(fs_text *out, const sale_halt *halt);
void api_put_lost(fs_text *out, const sale_halt *halt);

#define HALTED_DETAIL                                                                              \
    "Redis has lost something of this sale; nothing is sold until the admin has decided"

/* The sale of the item that item= names, for a question about it; `otherwise` the item, where none
 * is named (NULL: one must be). To be given back with sale_table_put(). NULL: refused. */
fs_sale *api_find_sale(fs_api *api, const api_request *request, const char *otherwise,
                       api_reply *reply);

/* The refusal of what was sent, unless it is fine; then true. */
bool api_input_ok(json_fault fault, const char *detail, api_reply *reply);

/* False: refused, for this must wait so long. */
bool api_may_go_on(fs_api *api, int wait_s, api_reply *reply);

/* Whether GET /orders asks for the feed, in the right way or not; and that way of it. */
bool api_is_feed(const fs_query *query);
api_endpoint api_feed;

/* The members of an order: as its buyer was told it at first, which never changes, so that a replay
 * has the same body; or as it is now, with its time. `segment`: in which its number counts; -1 = in
 * the whole sale. */
void api_put_order(fs_text *out, const char *item, const char *sale, int segment,
                   const char *request, const fs_order *order, bool at_first);

#endif
