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

enum live_style {
    LIVE_NONE,     /* --quiet */
    LIVE_LINES,    /* one line a second */
    LIVE_TERMINAL, /* redrawn in place */
};

/* The style that fits stderr, with --quiet or without. */
enum live_style live_style_of(bool quiet);

struct live;

/* NULL when memory is short or the style is LIVE_NONE; the other functions accept it. */
struct live *live_new(enum live_style style, const char *label, struct course *course,
                      const struct fleet *fleet, struct stock_watch *watch);

/* Shows the state when it is time to; call it several times a second. */
void live_tick(struct live *live);

/* Wipes the display from the terminal. */
void live_free(struct live *live);

#endif
