/*
 * service.h - a flash sale in memory: the HTTP contract of flashsale, as little of it as a load
 * generator needs, with planted defects that it must catch.
 */
#ifndef STUBSERVER_SERVICE_H
#define STUBSERVER_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/stubserver/lies.h"

/* What the service does wrong. */
enum defect {
    DEFECT_NONE,
    DEFECT_OVERSELL,    /* never says sold out */
    DEFECT_LOSE,        /* every second sale is forgotten by the stock */
    DEFECT_DUPLICATE,   /* every tenth sale has two orders in the ledger */
    DEFECT_FORGET,      /* every tenth 201 has no order in the ledger */
    DEFECT_UNANNOUNCED, /* every tenth sale is answered "busy" */
    DEFECT_AMNESIA,     /* a replayed request gets another order */
    DEFECT_DENY,        /* a replayed request is told "sold out" */
    DEFECT_BUSY_AGAIN,  /* every replayed request is told "busy" */
    DEFECT_TWICE,       /* every tenth entry of the ledger is listed twice */
    DEFECT_STRANGER,    /* the ledger has an order that nobody of this run made */
    DEFECT_INVENTED,    /* the ledger has an order of a request of this run that was never made */
    DEFECT_EARLY,       /* "sold out" when half of the stock is left */
    DEFECT_LIMIT,       /* "limit reached" when half of the stock is left */
    DEFECT_LOOP,        /* the ledger's second page leads back to the first */
    DEFECT_ENDLESS,     /* after the ledger's last page there is always another */
    DEFECT_ZEROES,      /* the ledger writes the number in a request's id with a zero before it */
    DEFECT_COUNT
};

struct service;

struct service_options {
    enum defect defect;
    unsigned busy_every;    /* every Nth buy is refused as busy; 0: none */
    unsigned unknown_every; /* every Nth buy is answered 504, every second of them has bought */
    unsigned replay_busy;   /* every Nth replay is refused as busy; 0: none */
    unsigned empty_pages;   /* at the end of the ledger */
    int64_t wait_ms;        /* of the sale, when POST /sales does not say */
    int64_t final_after_ms; /* "no such order" is final so long after the first question */
    struct lies lies;
};

struct service *service_new(struct service_options options);
void service_free(struct service *service);

struct service_request {
    char method[8];
    char path[128];  /* without the query */
    char query[256]; /* without '?' */
    char key[80];    /* Idempotency-Key, "" when none */
    const char *body;
    size_t body_length;
};

struct service_reply {
    int status;
    char *body; /* belongs to the service; valid until the next request */
    size_t length;
};

struct service_reply service_answer(struct service *service, const struct service_request *request);

/* The defect of that name. False when there is none. */
bool defect_parse(const char *name, enum defect *ret_defect);

#endif
