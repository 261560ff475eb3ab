/*
 * progress.h - what a person sees while a run lasts.
 *
 * On a terminal, two lines: a bar with what is left, the stock, errors; requests and sales a
 * second, latencies of the last second. Otherwise all in one plain line a second. Always to stderr,
 * never to stdout.
 */
#ifndef LOADTEST_PROGRESS_H
#define LOADTEST_PROGRESS_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/stock_sampler.h"

typedef struct lt_progress lt_progress;

/* For a run that has started. `sampler` may be NULL. NULL when memory is short; the other
 * functions accept it. */
lt_progress *progress_new(const char *label, lt_run_state *state, lt_stock_sampler *sampler);

/* Shows the state when it is time to; call it several times a second. */
void progress_tick(lt_progress *progress);

/* Wipes the display from the terminal. */
void progress_free(lt_progress *progress);

#endif
