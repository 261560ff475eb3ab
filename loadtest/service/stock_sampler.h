/*
 * stock_sampler.h - the stock over time: a thread that reads GET /stock during the run.
 *
 * It asks one target after the other, 50 times a second at first, then less and less often: short
 * and long runs both get a curve, and the readings are no load. Each reading is a line of the
 * history; what the chart needs is kept.
 */
#ifndef LOADTEST_STOCK_SAMPLER_H
#define LOADTEST_STOCK_SAMPLER_H

#include "loadtest/base/plan.h"
#include "loadtest/history/recorder.h"

typedef struct lt_stock_sampler lt_stock_sampler;

typedef struct lt_stock_sample {
    double at_s; /* since the start; when the answer came */
    int64_t remaining, units;
    int64_t reserved; /* of the units */
} lt_stock_sample;

/* What was seen of the stock while the run lasted. */
typedef struct lt_stock_watch {
    lt_stock_sample *samples; /* from malloc, may be NULL */
    int count;
} lt_stock_watch;

/* Starts to read the stock of this sale (borrowed, like the others); answers about another sale
 * are ignored. NULL when that fails. */
lt_stock_sampler *stock_sampler_start(const lt_plan *plan, const char *sale, lt_recorder *recorder,
                                      mono_ns started_at);

/* The last sample so far; false when there is none. Any thread. */
bool stock_sampler_last(lt_stock_sampler *sampler, lt_stock_sample *ret);

/* Ends the thread, returns its samples, and frees the sampler. */
lt_stock_watch stock_sampler_stop(lt_stock_sampler *sampler);

#endif
