/*
 * checks.h - what must be true of a history. Each check is one pass over events or operations that
 * are sorted already, and reports what breaks it.
 */
#ifndef HISTCHECK_CHECKS_H
#define HISTCHECK_CHECKS_H

#include "tests/tools/histcheck/report.h"

/* Makes operations of the events, and finds events that do not fit: the others need it first. */
void replay(hc_history *history, const hc_options *options, hc_report *report);

/* At most one holder at a time, in the intervals where ownership is certain. */
void check_overlap(const hc_history *history, hc_report *report);

/* Fences rise from grant to grant; no guarded write with a fence older than the last one issued. */
void check_fences(const hc_history *history, hc_report *report);

/* Every call returned, every grant ended, but for those of killed processes; a lock that was taken
 * away from outside stays away. */
void check_endings(const hc_history *history, hc_report *report);

/* A waiter gets a lock within idle_ns of its becoming free for certain. */
void check_idle(const hc_history *history, const hc_options *options, hc_report *report);

/* Who came more than fifo_ns before another is not overtaken by it. */
void check_fifo(const hc_history *history, const hc_options *options, hc_report *report);

#endif
