/*
 * checks.h - what must be true of a sale: the invariants I1 to I8, and three more. Each check is
 * linear, but for sorting, and settles what it was called for.
 */
#ifndef BUYCHECK_CHECKS_H
#define BUYCHECK_CHECKS_H

#include "tests/tools/buycheck/report.h"

/* The figures. The others need them. */
void count_figures(bc_report *report);

/* The most units that are left in one segment. */
int64_t most_left(const bc_history *history);

void check_units(bc_report *report);    /* I1 */
void check_stock(bc_report *report);    /* I2 */
void check_ledger(bc_report *report);   /* I3, I4 */
void check_refusals(bc_report *report); /* I5, sold_out */
void check_fences(bc_report *report);   /* I6 */
void check_heals(bc_report *report);    /* I7 */
void check_left(bc_report *report);     /* I8 */
void check_order(bc_report *report);    /* order */
void check_limit(bc_report *report);    /* limit */

#endif
