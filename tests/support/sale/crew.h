/*
 * crew.h - buyers of one sale or of several at once. Each answer goes into the sale's history.
 *
 * A buyer does what server/API.md tells its users to do: a request has an id of its own, and one
 * that was refused as busy or had no definite answer is asked again under the same id, at another
 * instance, a few times. Some look for their order elsewhere, or ask for it once more, later and
 * over another connection. Some reserve for half as long as others. Who came too late comes again
 * without a time, and who had no key has the id that the answer names from then on. The crew of a
 * fault is slow (so that the sale outlasts it) and hurries before and after.
 *
 * The first sale is the one that a fault is aimed at: `crew` has its counts, and crew_ask() and
 * what follows is about it. One crew at a time.
 */
#ifndef TESTS_SUPPORT_SALE_CREW_H
#define TESTS_SUPPORT_SALE_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/support/sale/sale.h"

enum { CREW_BUYERS = 12, CREW_SALES = 4 };

/* Counts of answers, by attempt but `begun` and `ended`. */
typedef struct crew_counts {
    atomic_int begun;                /* requests, not attempts */
    atomic_int ended;                /* requests whose last attempt was answered, or given up */
    atomic_int bought;               /* 201 */
    atomic_int sold_out;             /* not a single unit could be bought */
    atomic_int refused;              /* 409 otherwise: the limit, too many at once */
    atomic_int in_a_row;             /* 409, or 503 sale_damaged, since the last 201 */
    atomic_int closed;               /* another sale has taken its place */
    atomic_int busy;                 /* 503 */
    atomic_int unknown;              /* 504 or no answer */
    atomic_int let_in;               /* strangers who have settled an order */
    atomic_int other;                /* what nobody should be told */
    atomic_int halted[FX_INSTANCES]; /* 503 sale_rolled_back and its kin (busy, too) */
    atomic_int since[FX_INSTANCES];  /* 201 to attempts that began after crew_mark() */
} crew_counts;

extern crew_counts crew;

/* What buyers are like. All 0: each buys one unit, and asks no more than it must. */
typedef struct crew_habits {
    uint64_t seed;
    bool several;    /* some buy up to five units, and few up to 25 */
    bool long_names; /* requests have 64 characters, which differ in the last few only */
    bool looks;      /* some look for what became of their requests */
    bool repeats;    /* some send a request again that was told yes */
    bool dated;      /* some set a not_after, and some of these one that has passed */
    bool keyless;    /* some send no key */
} crew_habits;

extern crew_habits crew_like; /* as crew_begin() was told */

enum { CREW_DRAW_APART = 1 << 20 }; /* numbers from which something else of a request is drawn */

/* From 0 to below - 1, the same for a number and a seed. */
unsigned crew_drawn(int number, unsigned below);

/* Forgets all sales and counts: from here on it is about others. */
void crew_begin(const crew_habits *like);

/* Adds a sale, which is the crew's from now on, and so many buyers (0 to CREW_BUYERS), who begin.
 */
void crew_come(fx_sale *sale, int buyers);

fx_sale *crew_sale(int k); /* NULL behind the last */
crew_counts *crew_counts_of(int k);
int crew_size(void); /* buyers of all sales */

/* Writes a line into the history of each sale that goes on. */
void crew_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The pause of a buyer behind each request; 0 at the start. Those of the further sales take twice
 * as long. */
void crew_pace(int pause_ms);

/* The first so many requests of the first sale (and a third as many of each other) are made without
 * that pause: its units are not to be gone before the caller, on a busy machine, has seen that they
 * are being bought. */
void crew_quick(int requests);

/* So many requests of a sale may begin in all; no limit at the start. */
void crew_let_in(int requests);

/* Nobody goes to this instance any more (-1: all are there again). */
void crew_avoid(int instance);

/* The instance for a turn, which is one that runs. */
int crew_instance(int turn);

/* Buyers of the further sales keep away from an instance (and have left it, when it returns), for
 * what is done there is aimed at the first sale. */
void crew_reserve(int instance);
void crew_release(int instance);

/* At most so many attempts are made of a request (default 3). */
void crew_attempts(int most);

/* From now on `since` counts. */
void crew_mark(void);

/* Nobody begins a request any more, and all are answered, when it returns; and they begin again. */
void crew_pause(void);
void crew_go_on(void);

/* Waits until a count has come so far; false when it has not after deadline_ms. */
bool crew_until(atomic_int *count, int so_far, int deadline_ms);

/* Likewise for so many more than there are now. */
bool crew_more(atomic_int *count, int more, int deadline_ms);

/* Waits until sale k has nothing more for its buyers: each was told twice that there is not even
 * one unit, or they have had what their limit allows. */
bool crew_sell_out(int k, int deadline_ms);

/* Lets each buyer end the request that it is at. May be called twice. */
void crew_end(void);

/* Ends the histories, and forgets the sales. May be called twice. */
void crew_close(void);

/* Request number `number` of a sale with these terms. */
fx_buy crew_draw(const fx_terms *terms, int number);

/* Whether its buyer looks for it with its not_after before he buys, and never tries later. */
bool crew_looks_first(int number);

/* ---- the first sale -------------------------------------------------------------------------- */

/* One attempt. The status, 0 = no answer. Any thread. */
int crew_ask(const char *request, int user, int quantity, int at);

/* Asks instance `at` about a request. The status. */
int crew_look(const char *request, int at);

/* A buyer of its own: its request is sent now, and its answer taken later. */
typedef struct crew_buyer {
    char request[32];
    int user, at, status;
    atomic_bool done;
    pthread_t thread;
} crew_buyer;

/* `*buyer` stays where it is until its answer has been taken. */
void crew_send(crew_buyer *buyer, const char *request, int user, int at);

/* Waits for the answer: the status, 0 = there was none. */
int crew_answer(crew_buyer *buyer);

/* Asks again under the same id, at instance `at`, until something definite is known of it. */
bool crew_settle(const crew_buyer *buyer, int at, int deadline_ms);

#endif
