/*
 * progress.h - what a person sees while a run lasts.
 *
 * On a terminal, two lines: a bar with what is left, the stock, errors; requests and sales a
 * second, latencies of the last second. Otherwise all in one plain line a second. Always to stderr,
 * never to stdout.
 */
#ifndef LOADTEST_PROGRESS_H
#define LOADTEST_PROGRESS_H

#include "loadtest/load/engine.h"
#include "loadtest/service/stock_sampler.h"

#include <stdio.h>

typedef enum lt_progress_style {
    PROGRESS_NONE,     /* --quiet */
    PROGRESS_LINES,    /* one line a second */
    PROGRESS_TERMINAL, /* redrawn in place */
} lt_progress_style;

/* The style that fits stderr, with --quiet or without. */
lt_progress_style progress_style_of(bool quiet);

typedef struct lt_progress lt_progress;

/* NULL when memory is short or the style is PROGRESS_NONE; the other functions accept it. */
lt_progress *progress_new(lt_progress_style style, const char *label, lt_run_state *state,
                          const lt_fleet *fleet, lt_stock_sampler *sampler);

/* Shows the state when it is time to; call it several times a second. */
void progress_tick(lt_progress *progress);

/* Wipes the display from the terminal. */
void progress_free(lt_progress *progress);

#endif
