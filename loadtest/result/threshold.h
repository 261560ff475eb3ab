/*
 * threshold.h - --fail-if 'p99>200ms': a limit on a figure of a run; 'p99>+10%': a limit on its
 * change between two result files.
 *
 * Latencies are those of requests that sold or failed in any way, from their scheduled start. If a
 * run does not have the figure (a percentile of too few samples), the limit neither holds nor is
 * broken, and the run is invalid.
 */
#ifndef LOADTEST_THRESHOLD_H
#define LOADTEST_THRESHOLD_H

#include "loadtest/result/result.h"

#define THRESHOLDS_MAX 16

typedef struct lt_threshold {
    char text[80]; /* as written */
    int metric;    /* index into the table of metrics */
    char compare[3];
    bool relative; /* the limit is a change in percent */
    double limit;  /* latencies in ms */
} lt_threshold;

typedef enum lt_threshold_state {
    THRESHOLD_HOLDS,
    THRESHOLD_BROKEN,
    THRESHOLD_NO_VALUE
} lt_threshold_state;

const char *threshold_state_name(lt_threshold_state state); /* "ok", "BROKEN", "NO VALUE" */

/* Parses "METRIC OP NUMBER[UNIT]" or "METRIC OP +N%", OP one of > >= < <=. False with a sentence in
 * `err`. */
bool threshold_parse(const char *text, lt_threshold *ret, char *err, size_t err_len);

/* Compares an observed figure, or its change in percent; NAN: there is none. */
lt_threshold_state threshold_state(const lt_threshold *threshold, double observed);

/* Where the figure stands in a row of the result file: "latency_ms.p99". */
const char *threshold_member(const lt_threshold *threshold);

/* Compares with an absolute limit; writes the observed figure (NAN when there is none). */
lt_threshold_state threshold_check(const lt_threshold *threshold, const lt_result *result,
                                   double *ret);

#endif
