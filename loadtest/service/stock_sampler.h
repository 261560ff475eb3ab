/*
 * stock_sampler.h - the stock over time: a thread that reads GET /stock while the run lasts.
 *
 * It has a connection of its own to the first target and asks 50 times a second at first, then
 * less and less often, so that short and long runs both get a curve and no run gets a load of it.
 */
#ifndef LOADTEST_STOCK_SAMPLER_H
#define LOADTEST_STOCK_SAMPLER_H

#include "loadtest/base/plan.h"

typedef struct lt_stock_sampler lt_stock_sampler;

typedef struct lt_stock_sample {
    double at_s; /* since the start; when the answer came */
    int64_t remaining, units;
} lt_stock_sample;

/* What was seen of the stock while the run lasted. */
typedef struct lt_stock_watch {
    lt_stock_sample *samples; /* from malloc, may be NULL */
    int count;
    int while_buying;   /* of these, taken before the last buyer was through */
    int64_t failed;     /* readings that got no stock */
    int64_t foreign;    /* that got the stock of another sale */
    int64_t other;      /* that got another initial stock or strategy than asked for */
    int64_t lowest;     /* units left */
    int64_t most_units; /* ordered */
    int64_t most_oversold, most_lost; /* by the service's own count */
} lt_stock_watch;

/* Starts to read the stock of this sale (borrowed, like the others); answers about another are no
 * samples. NULL when that fails. */
lt_stock_sampler *stock_sampler_start(const lt_plan *plan, const lt_sale_spec *spec,
                                      const char *sale, mono_ns started_at);

/* The last sample so far; false when there is none. Any thread. */
bool stock_sampler_last(lt_stock_sampler *sampler, lt_stock_sample *ret);

/* Ends the thread; hands over what it saw, and frees the sampler. */
lt_stock_watch stock_sampler_stop(lt_stock_sampler *sampler);

#endif
