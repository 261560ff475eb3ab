/*
 * recorded.h - a sale whose buyers record every answer, and what it is held to afterwards.
 *
 *     recorded_open("P7", 1000, 0, "'strategy':'combined'");
 *     recorded_let_in(500);
 *     ... something breaks ...
 *     recorded_sell_out(20);
 *     recorded_resolve(true);
 *     recorded_check_sold_out();
 *
 * Every buy is of one unit, with a request id of its own and one recorded answer. Afterwards the
 * orders are read out of Redis: each 201 has its order, each refusal has none, no request has two,
 * and units left and units ordered make up the stock. A buyer who is told that the sale is damaged
 * or rolled back, or anything but 201, 409, 503 and 504, fails the test.
 *
 * One sale at a time, on the service of service.h, from the main thread.
 */
#ifndef TESTS_SUPPORT_SALE_RECORDED_H
#define TESTS_SUPPORT_SALE_RECORDED_H

#include <stdatomic.h>

#include "tests/support/service.h"

enum {
    RECORDED_BUYERS = 12,
    RECORDED_MOST = 100000 /* buys in one sale */
};

typedef struct recorded_sale {
    char item[32], id[64];
    int stock, segments;                     /* 0 segments: not sharded */
    bool open;                               /* the buyers are there */
    atomic_bool over;                        /* and are to go */
    atomic_int next, allowed, done;          /* buys begun, that may begin, answered */
    atomic_int bought, refused, unavailable; /* 201, 409, 503 */
    atomic_int unknown;                      /* 504 or no answer */
    atomic_int dead;                         /* the instance that nobody goes to, -1 = none */
    atomic_int watched;                      /* the first buy that begins after ... */
    atomic_llong first_ms;                   /* the first 201 of these, 0 = none */
    atomic_llong last_ms, gap_ms;            /* the latest 201; the longest time without one */
    atomic_int outcome[RECORDED_MOST];       /* by number: the status */
    atomic_bool wrong;                       /* somebody got an answer that nobody should: */
    char words[256];
} recorded_sale;

extern recorded_sale recorded;

/* Starts a sale. Its buyers are there, and wait to be let in. `terms` are further members. */
void recorded_open(const char *item, int stock, int segments, const char *terms);

/* Lets so many buys more begin. */
void recorded_let_in(int more);

/* Waits until one of the counts has come so far. */
void recorded_until(atomic_int *count, int so_far);

/* Lets nobody in any more, and waits for those who are inside; and lets so many in again. */
void recorded_pause(void);
void recorded_let_in_again(int more);

/* Ends the buyers after the buy each is at. */
void recorded_end(void);

/* Likewise behind a case that has failed: a teardown. */
int recorded_close(void **state);

/* Sells on until so many more are told that all is sold, then ends the buyers. */
void recorded_sell_out(int refusals);

/* Prints the counts. */
void recorded_tell(const char *what);

/* A key of segment k, or of the sale if it is not sharded; valid until the next call. */
const char *recorded_key(int k);

/* Resolves what is unknown: by buying again with the same request id, or only by asking, which
 * takes a sale that is over. */
void recorded_resolve(bool buys);

/* Units left. Fails unless they and the orders, which are counted by their buys' numbers, make up
 * the stock. */
int recorded_check_units(int orders[RECORDED_MOST]);

/* Holds every recorded answer to the orders. */
void recorded_check_answers(const int orders[RECORDED_MOST]);

/* Waits until no instance finds fault with the sale. */
void recorded_check_service(void);

/* All of it: sold to its last unit, and every answer true. */
void recorded_check_sold_out(void);

#endif
