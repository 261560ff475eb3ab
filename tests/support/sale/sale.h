/*
 * sale.h - a sale under test: started on the service of service.h, asked by anybody, and every
 * answer is written into its history.
 *
 *     fx_sale *s = fx_sale_start(&(fx_terms){.item = "P7", .strategy = "combined", .stock = 9},
 * path); fx_sale_ask(s, "r-1", 1, 1, 0);
 *     ...
 *     fx_sale_end(s);
 *
 * crew.h has buyers for it, rest.h writes down what is left of it, verdict.h judges it.
 */
#ifndef TESTS_SUPPORT_SALE_SALE_H
#define TESTS_SUPPORT_SALE_SALE_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/sale/journal.h"
#include "tests/support/service.h"

enum {
    FX_REQUEST_MAX = 72, /* of a request's name, which has 64 characters at most */
    FX_USER_MAX = 136,   /* of a user's, which has 128 */
    FX_TOLD_KEPT = 8,
    FX_ANSWER_MS = 15000 /* the service answers within 10 s */
};

typedef struct fx_terms {
    const char *item, *strategy, *durability;               /* durability NULL: memory */
    int stock, limit, segments, lease_ms, wait_ms, hold_ms; /* 0: not said */
    int reserve_s;   /* each buy reserves for so long; 0: it buys */
    bool same_run;   /* no failover and no restart comes: it goes into the history */
    bool long_users; /* their names have 128 characters, and differ in the last few or in case */
} fx_terms;

typedef struct fx_sale {
    fx_terms terms;
    char item[32], id[64];
    journal *history;
    atomic_bool replaced; /* another sale of the item has begun */

    pthread_mutex_t lock;            /* of these: */
    char (*doubts)[FX_REQUEST_MAX];  /* requests with an attempt whose outcome nobody knows */
    size_t doubt_count, doubt_space; /* (the same one may be there twice) */
    char told[2][FX_TOLD_KEPT][FX_REQUEST_MAX]; /* the last that were told no for good, or yes */
    size_t told_count[2], unkeyed;              /* unkeyed: attempts without a key */
} fx_sale;

/* An attempt to buy. */
typedef struct fx_buy {
    char request[FX_REQUEST_MAX]; /* its key; "" = none: the answer has the id that was made */
    int user, quantity;
    int reserve_s;        /* 0: as the sale's terms say */
    int64_t not_after_us; /* us since 1970; 0 = none */
    bool anew;            /* over a connection of its own */
} fx_buy;

/* What one attempt was told. */
typedef struct fx_told {
    int status;                   /* 0 = no answer */
    char code[48];                /* of a refusal */
    char request[FX_REQUEST_MAX]; /* "-" = not said */
    int64_t expires_us;           /* until when it is reserved, 0 = not */
} fx_told;

/* Starts it at the first instance, waits until it is in force on all, and begins its history. A
 * sale of the item before it is replaced. Ended by fx_sale_end(). */
fx_sale *fx_sale_start(const fx_terms *terms, const char *history);
void fx_sale_end(fx_sale *s); /* NULL is allowed */

/* "fs:{P0001}:<id>:lock" for "lock", of a segment if it is sharded; "sale": of the pointer to it.
 */
const char *fx_sale_key(const fx_sale *s, int segment, const char *name, char *buf, size_t len);

/* The sets of keys that it has: its segments, or 1. */
int fx_sale_key_sets(const fx_sale *s);

/* The name of a user: "u7", or a long one. */
const char *fx_sale_user(const fx_sale *s, int user, char buf[FX_USER_MAX]);

/* One attempt to buy of instance `at`. Any thread. Where it has no key and the answer does not name
 * the id, nobody can find the order: then the history lacks something. */
fx_told fx_sale_buy(fx_sale *s, const fx_buy *buy, int at);

/* Likewise, with nothing but these. */
fx_told fx_sale_ask(fx_sale *s, const char *request, int user, int quantity, int at);

/* One attempt to "confirm" or to "cancel" the order of a request, by its user. Any thread. */
fx_told fx_sale_settle(fx_sale *s, const char *what, const char *request, int user, int at);

/* Likewise by another user, who must be told 404. The history does not have it, for it does not say
 * who asks. */
fx_told fx_sale_settle_for_another(fx_sale *s, const char *what, const char *request, int user,
                                   int at);

/* Asks about a request. The status; 0 for a 404 that is not final. */
int fx_sale_look(fx_sale *s, const char *request, int at);

/* Likewise, of tries up to then. */
int fx_sale_look_until(fx_sale *s, const char *request, int64_t not_after_us, int at);

/* Asks for the sale's numbers. The units reserved, -1 = not told. */
long long fx_sale_look_at_stock(fx_sale *s, int at);

/* Goes through all requests with an attempt that had no definite answer, by looking at instance
 * `at`, until each is known or deadline_ms has passed. Nobody asks any more. */
void fx_sale_resolve(fx_sale *s, int at, int deadline_ms);

/* Whether it is not known what came of an attempt with this status. */
bool fx_is_unknown(int status);

/* Whether the sale's data is missing or wrong: nobody can be sold anything until it is mended. */
bool fx_is_damaged(const fx_told *told);

#endif
