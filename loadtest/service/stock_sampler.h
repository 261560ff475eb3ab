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

/* Starts to read the stock of this sale (borrowed); answers about another are no samples. NULL when
 * that fails. */
lt_stock_sampler *stock_sampler_start(const lt_plan *plan, const char *sale, mono_ns started_at);

/* The last sample so far; false when there is none. Any thread. */
bool stock_sampler_last(lt_stock_sampler *sampler, lt_stock_sample *ret);

/* Ends the thread; hands over the samples (from malloc, may be NULL) and frees the sampler. */
lt_stock_sample *stock_sampler_stop(lt_stock_sampler *sampler, int *ret_count);

#endif
