/*
 * validity.h - reasons not to believe a run, whatever its figures say.
 */
#ifndef LOADTEST_VALIDITY_H
#define LOADTEST_VALIDITY_H

#include "loadtest/result/result.h"

/* Adds every reason why the run can not be judged. */
void validity_check(lt_result *result, const lt_plan *plan);

#endif
