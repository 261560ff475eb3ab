/*
 * sale.h - what the files of the service share: its sales, and how an answer is made.
 */
#ifndef STUBSERVER_SALE_H
#define STUBSERVER_SALE_H

#include "tests/tools/stubserver/service.h"

#define REPLY_MAX    (1024 * 1024)
#define SALES_KEPT   8
#define SEGMENTS_MAX 16
#define MID_BUYS     200 /* after which GET /stock is "stock", and "mid" before */

struct sale {
    char id[32], strategy[80];
    struct ledger ledger;
    struct ledger asked; /* ids that were not found; made_ms: when first; hidden: void */
    int64_t initial, remaining, units, limit;
    int64_t reserved; /* of the units */
    int64_t reserve_max_s;
    int64_t buys, sold, unknowns, replays;
    int64_t left[SEGMENTS_MAX], numbers[SEGMENTS_MAX];
    int segments; /* 1 unless it is sharded */
    int audits;   /* readings of the ledger that began */
};

struct service {
    struct service_options options;
    struct lies *lies; /* of the options */
    char item[80];
    struct sale sales[SALES_KEPT]; /* the n-th at n % SALES_KEPT */
    int sale_count;
    int64_t wait_ms;
    const struct service_request *request; /* that is being answered */
    char reply[REPLY_MAX];
};

/* ---- answers --------------------------------------------------------------------------------- */

struct text answer_begin(struct service *service);

/* Ends it as the place's lies will have it. */
struct service_reply answer_end(struct service *service, struct text *text, const char *place,
                                int status);

/* A refusal, with the status that its code has. */
struct service_reply problem(struct service *service, const char *code);

/* ---- sales and orders ------------------------------------------------------------------------ */

struct sale *current_sale(struct service *service);

/* NULL when there is none of that id. */
struct sale *find_sale(struct service *service, const char *id);

bool is_locked(const char *strategy);

struct service_reply open_sale(struct service *service);
struct service_reply show_stock(struct service *service);
struct service_reply show_strategies(struct service *service);

/* A 200 or 201 with an order. */
struct service_reply answer_order(struct service *service, const struct sale *sale,
                                  const char *place, const struct order *order, int status);
struct service_reply show_order(struct service *service, const char *request);
struct service_reply show_page(struct service *service);

/* ---- reservations ---------------------------------------------------------------------------- */

bool may_reserve(const char *strategy);
const char *state_name(enum state state);

/* Makes an order that was sold a reserved one. */
void reserve(struct service *service, struct sale *sale, struct order *order);

/* Ends the reservations whose time is over. */
void expire_due(struct service *service);

/* POST /orders/{request}/confirm or /cancel, by what stands behind /orders/. */
struct service_reply end_order(struct service *service, const char *path);

int64_t wall_us(void);

struct service_reply buy(struct service *service);

#endif
