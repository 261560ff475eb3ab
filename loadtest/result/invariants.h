/*
 * invariants.h - what must hold: the rows of a result, each with the verdict that it stands for.
 */
#ifndef LOADTEST_INVARIANTS_H
#define LOADTEST_INVARIANTS_H

#include "loadtest/result/result.h"

/* Adds all rows that there is evidence for. The result's figures are computed already. One that
 * stands for INVALID, and fails, becomes a reason too. */
void invariants_check(lt_result *result, const lt_plan *plan);

/* The first row that fails and stands for this verdict, or NULL. */
const lt_invariant *invariants_broken(const lt_result *result, lt_verdict verdict);

#endif
