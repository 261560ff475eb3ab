/*
 * shop.h - a flash sale in memory: the HTTP contract of flashsale, as little of it as a load
 * generator needs, with planted defects that it must catch.
 */
#ifndef STUBSERVER_SHOP_H
#define STUBSERVER_SHOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the shop does wrong. */
enum defect {
    DEFECT_NONE,
    DEFECT_OVERSELL,    /* never says sold out */
    DEFECT_LOSE,        /* every second sale is forgotten by the stock */
    DEFECT_DUPLICATE,   /* every tenth sale has two orders on the books */
    DEFECT_FORGET,      /* every tenth 201 has no order on the books */
    DEFECT_UNANNOUNCED, /* every tenth sale is answered "busy" */
    DEFECT_AMNESIA,     /* a replayed request gets another order */
    DEFECT_COUNT
};

struct shop;

struct shop_options {
    enum defect defect;
    unsigned busy_every;    /* every Nth buy is refused as busy; 0: none */
    unsigned unknown_every; /* every Nth buy is answered 504, every second of them has bought */
};

struct shop *shop_new(struct shop_options options);
void shop_free(struct shop *shop);

struct shop_request {
    char method[8];
    char path[128];  /* without the query */
    char query[256]; /* without '?' */
    char key[80];    /* Idempotency-Key, "" when none */
    const char *body;
    size_t body_length;
};

struct shop_reply {
    int status;
    char *body; /* belongs to the shop; valid until the next request */
    size_t length;
};

struct shop_reply shop_answer(struct shop *shop, const struct shop_request *request);

/* The defect of that name. False when there is none. */
bool defect_parse(const char *name, enum defect *ret_defect);

#endif
