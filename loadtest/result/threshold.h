/*
 * threshold.h - --fail-if 'p99>200ms': a figure of a run that must not be beyond a limit.
 *
 * Latencies are those of sold requests, from their scheduled start. A figure that a run does not
 * have (a percentile of too few samples) is neither: the run is then invalid.
 */
#ifndef LOADTEST_THRESHOLD_H
#define LOADTEST_THRESHOLD_H

#include "loadtest/result/result.h"

#define THRESHOLDS_MAX 16

typedef struct lt_threshold {
    char text[80]; /* as written */
    int metric;    /* index into the table of metrics */
    char compare[3];
    double limit; /* latencies in ms */
} lt_threshold;

typedef enum lt_threshold_state {
    THRESHOLD_HOLDS,
    THRESHOLD_BROKEN,
    THRESHOLD_NO_VALUE
} lt_threshold_state;

/* Parses "METRIC OP NUMBER[UNIT]", OP one of > >= < <=. False with a sentence in `err`. */
bool threshold_parse(const char *text, lt_threshold *ret, char *err, size_t err_len);

/* Compares; writes the observed figure (NAN when there is none). */
lt_threshold_state threshold_check(const lt_threshold *threshold, const lt_result *result,
                                   double *ret);

#endif
