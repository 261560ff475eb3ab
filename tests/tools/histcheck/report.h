/*
 * report.h - violations, counted by kind and told in a sentence each.
 */
#ifndef HISTCHECK_REPORT_H
#define HISTCHECK_REPORT_H

#include "tests/tools/histcheck/history.h"

typedef enum violation {
    VIOLATION_OVERLAP,   /* two holders at a time */
    VIOLATION_FENCE,     /* fences that do not rise, or are missing */
    VIOLATION_STALE,     /* a guarded write that should have been refused, or should not */
    VIOLATION_RECREATED, /* a lock that was taken away came back */
    VIOLATION_DEPTH,   /* re-entry miscounted, or a hold that goes on when it is lost or released */
    VIOLATION_UNENDED, /* a call that never returned, a grant that never ended */
    VIOLATION_IDLE,    /* nobody got a free lock although somebody waited */
    VIOLATION_FIFO,    /* overtaken by a much later waiter */
    VIOLATION_PROTOCOL, /* the history itself makes no sense */
    VIOLATIONS
} violation;

#define HC_FAIR_MAX 8

typedef struct hc_options {
    int64_t lease_ns;   /* the longest lease in use */
    int64_t idle_ns;    /* 0: not checked */
    int64_t fifo_ns;    /* 0: not checked */
    const char *cohort; /* the lock whose hand-offs inside a process keep the fence; NULL: none */
    const char *fair[HC_FAIR_MAX]; /* the locks that are first in, first out; none: all are */
} hc_options;

typedef struct hc_report {
    const hc_history *history; /* (borrowed) */
    long count[VIOLATIONS];
} hc_report;

/* Prints the first few of each kind, counts all. */
void report(hc_report *report, violation what, int lock, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints the counts; the number of violations. */
long report_summary(const hc_report *report);

/* "1234/5 (op 17, fence 99)" in a buffer of its own for each of four calls in a row. */
const char *report_name(const hc_operation *operation);

/* Milliseconds since the history's first event. */
double report_ms(const hc_report *report, int64_t ns);

#endif
