/*
 * judge.h - what a history proves: the guarantees, the figures, the verdict.
 *
 *     lt_judgement *judgement = judge_file("run.history", &options, err, sizeof(err));
 *     ... judgement->verdict, judgement->figures.oversold, judgement->findings[i] ...
 *     judgement_free(judgement);
 *
 * `loadtest run`, `compare` and `verify`, the fault matrix, the soak and the tests all ask this
 * judge. It knows nothing but the history.
 *
 * Each guarantee stands for one verdict; a history's verdict is the worst that is proven. Verdicts
 * from the worst:
 *
 *     OVERSOLD, DUPLICATED, LOST, BROKEN   proven by what was seen: evidence that is missing takes
 *                                          nothing back. In the order of what they cost a seller
 *     INVALID      something could not be checked, so the run may be any of these
 *     UNDERSOLD    a loss of sales, not of trust; and one that a run which is to be doubted (users
 *                  starved, targets down) brings about by itself
 *     COUNTS_ONLY  there is no ledger: the counts agree, but no order was seen
 *     SAFE         all was checked, and all held
 */
#ifndef LOADTEST_JUDGE_H
#define LOADTEST_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* From the best to the worst. */
typedef enum lt_verdict {
    VERDICT_SAFE,
    VERDICT_COUNTS_ONLY,
    VERDICT_UNDERSOLD,  /* stock left although somebody was refused, or failed */
    VERDICT_INVALID,    /* the run can not be judged; the reasons are listed */
    VERDICT_BROKEN,     /* another promise of the service's contract */
    VERDICT_LOST,       /* sales that the stock, or the ledger, knows nothing of, or otherwise */
    VERDICT_DUPLICATED, /* a request has two orders, or an order two requests */
    VERDICT_OVERSOLD
} lt_verdict;

const char *verdict_name(lt_verdict verdict);

/* Whether the verdict says that the service broke its promise. */
bool verdict_is_broken(lt_verdict verdict);

typedef enum lt_state {
    STATE_UNCHECKED, /* the evidence is missing */
    STATE_OK,
    STATE_NOTHING, /* it does not apply: no limit, no fault, no retry */
    STATE_VIOLATED
} lt_state;

const char *state_name(lt_state state); /* "unchecked", "ok", "nothing", "violated" */

typedef struct lt_finding {
    lt_state state;
    int64_t count;   /* violations */
    char first[320]; /* the first of them, with its lines; or why it is unchecked */
} lt_finding;

#define JUDGE_UNKNOWN INT64_MIN /* the history does not tell */

/* JUDGE_UNKNOWN where the history does not tell. Units, where nothing else is said. */
typedef struct lt_figures {
    int64_t requests, attempts; /* counts */
    int64_t sold;               /* acknowledged with 201, or found */
    int64_t oversold;           /* beyond the stock: sold, or in orders and acked_lost */
    int64_t lost_updates;       /* sold, and not taken from the stock */
    int64_t unordered;          /* taken from the stock, and in no order */
    int64_t undersold;          /* left, although somebody was refused who could have had them */
    int64_t duplicates;         /* orders (count) beyond one a request in a reading, and `retold` */
    int64_t retold;             /* answers (count) with another order than the request's first */
    int64_t acked_lost;         /* told 201, or found, and in no order */
    int64_t refused_sold;       /* in orders of requests that were told no */
    int64_t unresolved;         /* requests (count) whose outcome stays unknown */
    int64_t stuck;  /* heals (count) after which nothing was sold in time, and calls without end */
    int64_t landed; /* faults (count) */
    int64_t reserved, confirmed, cancelled, expired; /* orders (count), where buys reserve */
} lt_figures;

/* A guarantee: what is promised, which evidence shows it, where it applies. */
typedef struct lt_judging lt_judging;
typedef struct lt_guarantee {
    const char *id;       /* "I1" to "I8" of the design; "" = a further one */
    const char *name;     /* "one-order", unique */
    const char *sentence; /* "one order per request" */
    const char *evidence; /* the evidence it needs: "ledger", "stock at rest", ... */
    const char *applies;  /* "always", "where a fence is above 0", ... */
    lt_verdict verdict;   /* the verdict that a violation stands for */
    void (*check)(lt_judging *judging);
} lt_guarantee;

#define GUARANTEES_MAX 64

extern const lt_guarantee guarantees[];
extern const int guarantee_count;

typedef struct lt_judge_options {
    int64_t i7_us;    /* a buy succeeds so soon after a heal; 0: the lease and a second */
    int64_t final_us; /* a lookup is final so soon after the first; 0: 30 s, or
                         wait_us + 20 s if that is more */
} lt_judge_options;

typedef struct lt_judgement {
    lt_verdict verdict;
    lt_figures figures;
    lt_finding findings[GUARANTEES_MAX]; /* by the number of the guarantee */
    char reasons[8][256];                /* why INVALID */
    int reason_count;
    char strategy[64], durability[32]; /* of the sale */
    int64_t stock;
} lt_judgement;

/* Judges a history. `options` may be NULL. NULL, with a sentence, when it can not be read. */
lt_judgement *judge_file(const char *path, const lt_judge_options *options, char *err,
                         size_t err_len);

void judgement_free(lt_judgement *judgement);

/* Prints it for people; as one JSON object on a line. */
void judgement_print(const char *path, const lt_judgement *judgement, FILE *to);
void judgement_print_json(const char *path, const lt_judgement *judgement, FILE *to);

#endif
