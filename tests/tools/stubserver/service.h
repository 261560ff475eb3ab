/*
 * service.h - a flash sale in memory: the HTTP contract of flashsale (server/API.md), as much of it
 * as a load generator can see, told truthfully, but for its lies.
 *
 * Places of lies (lies.h), and what else they may have as a field:
 *
 *   sale      the 201 of POST /sales           strategies  GET /strategies
 *   stock     GET /stock; "mid" before the 200th buy, "stock before" before the first
 *   told      a 201; location, replayed        replayed    a 201 of a request that has an order;
 *             (headers)                                    forget=1: the key is not known
 *   found     GET /orders/{request}, 200;      missing     likewise, 404; found=1: the first order
 *             missing=1: no such order                     that there is is shown instead
 *   ledger    an entry of it; times=N: it      page        a page of it; extra=REQUEST: one entry
 *             stands there N times                         more, of that request (-N: one of this
 *                                                          run); endless=1; reversed=1
 *   refused   what is no                       reused      another payload; told=1: the order
 *                                                          again; sell=1: it buys
 *   closed    sale= of another sale;           buy         before it is sold; as=CODE: refused;
 *             ignore=1: it buys in this one                sold_out=never, limit=never,
 *                                                          not_after=ignore, redirect=1: 307 first
 *   sell      record=0: it is forgotten, =hidden: only its buyer is told, =2: it has two orders;
 *             take=0: not from the stock; skip=N: so many numbers; quantity=N
 *   confirmed the 200 of a confirm             cancelled   the 200 of a cancel
 *   ending    before either; as=CODE: refused
 *   reserving free=1: what is reserved stays for sale; early=1: it is over at once; never=1: never;
 *             kept=1: its units do not come back, lost=1: nor are they reserved any more; late=1:
 * it is confirmed all the same; both=1: confirmed or cancelled, it can still become the other;
 * unconfirmed=1, uncancelled=1: that is said, and not done
 */
#ifndef STUBSERVER_SERVICE_H
#define STUBSERVER_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/stubserver/lies.h"

enum ids { IDS_OF_SALE, IDS_PLAIN, IDS_BIG, IDS_UUID, IDS_GAPS };

struct service_options {
    enum ids ids;           /* what order ids look like: s1-7, 7, 9007199254740992007, a UUID, 70 */
    unsigned page_orders;   /* on a page of the ledger */
    unsigned busy_every;    /* every Nth buy is refused as busy; 0: none */
    unsigned unknown_every; /* every Nth buy is answered 504, every second of them has bought */
    unsigned replay_busy;   /* every Nth replay is refused as busy; 0: none */
    unsigned empty_pages;   /* at the end of the ledger */
    bool earlier_sale;      /* the item had a sale before the first POST /sales */
    bool backwards;         /* members of an order stand in the opposite order */
    int64_t wait_ms;        /* of the sale, when POST /sales does not say */
    int64_t final_after_ms; /* "no such order" is final so long after the first question */
    struct lies lies;
};

struct service *service_new(const struct service_options *options);
void service_free(struct service *service);

struct service_request {
    int target; /* the port it came to, from 1 */
    char method[8];
    char path[128];  /* without the query */
    char query[256]; /* without '?' */
    char key[80];    /* Idempotency-Key, "" when none */
    const char *body;
    size_t body_length;
};

struct service_reply {
    int status;
    bool reset; /* the connection, instead of an answer */
    char *body; /* belongs to the service; valid until the next request */
    size_t length;
    char location[256], replayed[16]; /* headers; "" when there is none */
};

struct service_reply service_answer(struct service *service, const struct service_request *request);

/* Adds the lies that are a defect of that name (service.c). False when there is none. */
bool defect_add(struct lies *lies, const char *name);

#endif
