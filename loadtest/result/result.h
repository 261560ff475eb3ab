/*
 * result.h - everything a run found out, from which all reports are made.
 */
#ifndef LOADTEST_RESULT_H
#define LOADTEST_RESULT_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/audit.h"
#include "loadtest/service/sale_api.h"
#include "loadtest/service/stock_sampler.h"
#include "loadtest/stats/tally.h"

#define INVARIANTS_MAX 32
#define REASONS_MAX    8

/* From the best to the worst; verdict.h says why in this order. */
typedef enum lt_verdict {
    VERDICT_SAFE,
    VERDICT_UNDERSOLD,  /* stock left although somebody was refused, or failed */
    VERDICT_INVALID,    /* the run can not be judged; the reasons are listed */
    VERDICT_LOST,       /* sales that the stock, or the ledger, knows nothing of, or otherwise */
    VERDICT_DUPLICATED, /* a request has two orders */
    VERDICT_OVERSOLD
} lt_verdict;

typedef struct lt_invariant {
    const char *id;   /* "I1" */
    const char *name; /* "stock adds up" */
    int64_t observed;
    const char *relation; /* that is asked for: "=", ">=" or "<=" */
    int64_t expected;
    lt_verdict verdict; /* of a run in which it fails, or worse */
    bool ok;
    char check[640]; /* a redis-cli command that shows it, see redis_check.h, or "" */
} lt_invariant;

/* How evenly the users were served (closed and flash models). */
typedef struct lt_fairness {
    int users;           /* that issued at least one request */
    int never_asked;     /* the plan's other users */
    int never_served;    /* of these, got neither a sale nor a "sold out" */
    int starved;         /* of these, got no answer before another user was through */
    int unanswered;      /* of these, got no answer at all */
    int64_t least, most; /* sales of the user with the fewest, and the most */
    double ratio;        /* least / most; NAN with fewer than five sales a user */
    double jain;         /* Jain's index, 1 = all alike; NAN likewise */
} lt_fairness;

/* Whether the generator kept up: one that did not has measured itself. */
typedef struct lt_generator_health {
    double cpu_s; /* processor time that this process used */
    int cores;    /* that it may run on */
    double share; /* of these cores' time */
} lt_generator_health;

typedef struct lt_result {
    const lt_sale_spec *spec; /* (borrowed) */
    char sale[SALE_ID_MAX];   /* "" when none was created */
    int64_t segments;         /* of its stock */
    int64_t stock_asked;      /* units that it was to begin with */
    char key_prefix[32];
    lt_verdict verdict;
    bool partial; /* interrupted */
    lt_stop_reason stop_reason;
    char reasons[REASONS_MAX][256]; /* why INVALID */
    int reason_count;

    double elapsed_s; /* start to last answer */
    double offered_s; /* start to the moment when nobody could get a ticket any more */
    double sellout_s; /* start to last sale, when the stock went to 0; else NAN */
    lt_tally *tally;
    lt_histogram *all_due; /* latencies of all outcomes */
    lt_timeline_bin *bins;
    int bin_count;
    double bin_width_s;
    lt_stock stock; /* at rest, after the run, when it is known */
    bool stock_known;
    lt_stock_watch watch; /* while it lasted */
    int64_t *user_sales;  /* sales of each user that issued requests, rising; fairness.users */
    lt_fairness fairness;
    lt_error_entry errors[ERRORS_MAX];
    int error_count;
    lt_audit audit;
    lt_generator_health health;
    double lock_wait_p50_ms, lock_wait_p99_ms; /* NAN: unknown */
    double redis_per_sale;                     /* NAN: unknown */

    /* the judgement, by verdict.c */
    int64_t sold, sold_units, oversold, lost_updates, undersold, duplicates;
    lt_invariant invariants[INVARIANTS_MAX];
    int invariant_count;
} lt_result;

const char *verdict_name(lt_verdict verdict);

/* Notes a reason why the run can not be judged. */
void result_invalid(lt_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void result_free(lt_result *result);

/* The number of requests with an outcome. */
static inline int64_t result_count(const lt_result *result, lt_outcome outcome)
{
    return !result->tally ? 0 : counter_get(&result->tally->outcomes[outcome]);
}

/* Answers, and sales, a second. 0 when nothing came. */
double result_throughput(const lt_result *result);
double result_goodput(const lt_result *result);

/* Latency from the scheduled start, of one outcome. */
lt_latency result_latency(const lt_result *result, lt_outcome outcome);

/* Errors for reports: everything that is neither sold, refused for good, busy nor unknown. */
int64_t result_errors(const lt_result *result);

#endif
