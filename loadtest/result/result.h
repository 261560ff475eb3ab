/*
 * result.h - everything a run found out; all reports are made from it.
 */
#ifndef LOADTEST_RESULT_H
#define LOADTEST_RESULT_H

#include "loadtest/judge/judge.h"
#include "loadtest/load/run_state.h"
#include "loadtest/service/cost.h"
#include "loadtest/service/evidence.h"
#include "loadtest/service/sale_api.h"
#include "loadtest/service/stock_sampler.h"
#include "loadtest/stats/tally.h"

#define INVARIANTS_MAX (2 * GUARANTEES_MAX)
#define REASONS_MAX    8

/* A guarantee and its state in this run. */
typedef struct lt_invariant {
    const lt_guarantee *guarantee;
    bool of_old_sale; /* not of the run's own */
    lt_finding finding;
    bool ok;         /* not violated, and not unchecked */
    char check[640]; /* a redis-cli command that shows it, see redis_check.h, or "" */
} lt_invariant;

/* How evenly the users were served (closed and flash models). */
typedef struct lt_fairness {
    int users;           /* users that issued at least one request */
    int never_asked;     /* the plan's other users */
    int never_served;    /* of these, got neither a sale nor a "sold out" */
    int starved;         /* of these, got no answer before another user had finished */
    int unanswered;      /* of these, got no answer at all */
    int64_t least, most; /* sales of the user with the fewest, and the most */
    double ratio;        /* least / most; NAN with fewer than five sales a user */
    double jain;         /* Jain's index, 1 = all alike; NAN likewise */
} lt_fairness;

/* Whether the generator kept up. A generator that did not keep up measured itself. */
typedef struct lt_generator_health {
    double cpu_s; /* processor time that this process used */
    int cores;    /* that it may run on */
    double share; /* of these cores' time */
} lt_generator_health;

typedef struct lt_result {
    const lt_sale_spec *spec; /* (borrowed) */
    char sale[SALE_ID_MAX];   /* "" when none was created */
    int64_t stock_asked;      /* units at the start, as asked for */
    char key_prefix[32];
    lt_verdict verdict;
    bool partial; /* interrupted */
    lt_stop_reason stop_reason;
    char reasons[REASONS_MAX][256]; /* why INVALID */
    int reason_count;

    double elapsed_s;     /* start to last answer, or to the moment when the users were stopped */
    double silence_s;     /* the longest span without any answer while requests were open; or NAN */
    double silent_from_s; /* when it began, after the start */
    double offered_s;     /* start to the moment when tickets ended */
    double sellout_s;     /* start to last sale, when the stock went to 0; else NAN */
    lt_tally *tally;
    lt_histogram *all_due; /* latencies of all requests, answered or not */
    lt_timeline_bin *bins;
    int bin_count;
    double bin_width_s;
    lt_stock_watch watch; /* samples during the run */
    int64_t *user_sales;  /* sales of each user that issued requests, rising; fairness.users */
    lt_fairness fairness;
    lt_error_entry errors[ERRORS_MAX];
    int error_count;
    lt_evidence evidence;
    int64_t retries_probed; /* sold requests that were sent again */
    lt_generator_health health;
    lt_costs costs;

    /* The judgement, by verdict.c. */
    int64_t sold, sold_units, oversold, lost_updates, undersold, duplicates;
    int64_t reserved, confirmed, cancelled, expired; /* orders, where buys reserve */
    lt_invariant invariants[INVARIANTS_MAX];
    int invariant_count;
} lt_result;

/* Adds a reason why the run can not be judged. */
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

/* Latency from the scheduled start, of one series (outcome.h). */
lt_latency result_latency(const lt_result *result, int series);

/* Likewise, the headline: of requests that sold, or failed in any way. */
lt_latency result_headline(const lt_result *result);

/* Errors for reports: everything that is neither sold, refused for good, busy nor unknown. */
int64_t result_errors(const lt_result *result);

/* The share of requests that were errors, or whose outcome is unknown. NAN without any request. */
double result_error_rate(const lt_result *result);

#endif
