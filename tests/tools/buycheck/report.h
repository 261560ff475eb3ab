/*
 * report.h - the figures of a history, and what became of each check.
 */
#ifndef BUYCHECK_REPORT_H
#define BUYCHECK_REPORT_H

#include <stdio.h>

#include "tests/tools/buycheck/history.h"

typedef enum bc_check {
    CHECK_I1,       /* units are neither made nor lost */
    CHECK_I2,       /* never more sold than there is, and stock only falls */
    CHECK_I3,       /* one order a request */
    CHECK_I4,       /* every 201 has its order */
    CHECK_I5,       /* no refusal has one, and what was unknown is resolved */
    CHECK_I6,       /* fences, and nobody's lock is taken away */
    CHECK_I7,       /* after a fault a buy succeeds */
    CHECK_I8,       /* nothing is left behind */
    CHECK_ORDER,    /* who has bought before another asked has the smaller number */
    CHECK_LIMIT,    /* no user has more than the limit */
    CHECK_SOLD_OUT, /* who was told so could not have had the units that are left */
    CHECKS
} bc_check;

typedef enum bc_state {
    STATE_UNCHECKED = 0, /* the history does not tell */
    STATE_OK,
    STATE_NOTHING, /* there is nothing that it could be true of: no limit, no fault */
    STATE_VIOLATED
} bc_state;

typedef struct bc_finding {
    bc_state state;
    int64_t count;   /* violations */
    char first[320]; /* the first of them; or why it is unchecked */
} bc_finding;

/* UNKNOWN: the history does not tell. Units, where nothing else is said. */
typedef struct bc_figures {
    int64_t requests, attempts; /* counts */
    int64_t sold;               /* told 201, or found */
    int64_t oversold;           /* in orders, or told of and not in orders, beyond the stock */
    int64_t lost_updates;       /* sold, and not taken from the stock */
    int64_t unordered;          /* taken from the stock, and in no order */
    int64_t undersold;          /* left, although somebody was refused who could have had them */
    int64_t duplicates;         /* orders (count) beyond one a request */
    int64_t acked_lost;         /* told 201, or found, and in no order */
    int64_t refused_sold;       /* in orders of requests that were told no */
    int64_t unresolved;         /* requests (count) of which nobody knows */
    int64_t stuck;  /* heals (count) behind which nothing was sold in time, and calls without end */
    int64_t landed; /* faults (count) */
} bc_figures;

typedef struct bc_options {
    int64_t i7_us;    /* a buy succeeds so soon after a heal; UNKNOWN: the lease and a second */
    int64_t final_us; /* a look is final so soon after the first */
    bool json;
} bc_options;

typedef struct bc_report {
    const bc_history *history; /* (borrowed) */
    bc_options options;
    bc_figures figures;
    bc_finding findings[CHECKS];
    int64_t ledger_units, remaining; /* at rest; UNKNOWN */
} bc_report;

/* Counts a violation; keeps the sentence on the first. */
void violated(bc_report *report, bc_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the check came to if nothing violates it; called behind it. `why` it is unchecked. */
void settle(bc_report *report, bc_check check, bc_state state, const char *why);

/* Prints all of it. */
void report_print(const bc_report *report, FILE *to);
void report_print_json(const bc_report *report, FILE *to);

/* 0: all of it held; 1: something is violated; 3: nothing is, but not all could be checked. */
int report_exit(const bc_report *report);

#endif
