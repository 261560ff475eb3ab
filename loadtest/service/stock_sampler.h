/*
 * stock_sampler.h - the stock over time: a thread that reads GET /stock while the run lasts.
 *
 * It has a connection of its own to the first target and asks 50 times a second at first, then
 * less and less often, so that short and long runs both get a curve and no run gets a load of it.
 */
#ifndef LOADTEST_STOCK_SAMPLER_H
#define LOADTEST_STOCK_SAMPLER_H

#include "loadtest/base/plan.h"

struct stock_watch;

struct stock_sample {
    double at_s; /* since the start; when the answer came */
    int64_t remaining, units;
};

/* Starts to watch. NULL when that fails. */
struct stock_watch *stock_watch_start(const struct load_plan *plan, mono_ns started_at);

/* The last sample so far; false when there is none. Any thread. */
bool stock_watch_last(struct stock_watch *watch, struct stock_sample *ret_sample);

/* Ends the thread; hands over the samples (from malloc, may be NULL) and frees the watch. */
struct stock_sample *stock_watch_stop(struct stock_watch *watch, int *ret_count);

#endif
