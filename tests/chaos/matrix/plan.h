/*
 * plan.h - which cells there are: every row under every fault; fewer for a quick look.
 *
 * Rows with another durability than Redis's memory are there for the faults that memory does not
 * cover, and that they do. Rows that reserve are there for the faults that say so.
 */
#ifndef TESTS_CHAOS_MATRIX_PLAN_H
#define TESTS_CHAOS_MATRIX_PLAN_H

#include <stdbool.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/row.h"

typedef enum matrix_size { MATRIX_WHOLE, MATRIX_QUICK, MATRIX_SELECTION } matrix_size;

/* What a cell has to show, or the matrix is wrong. */
typedef enum expectation {
    EXPECT_NOTHING,
    EXPECT_HELD,   /* where the row's durability covers the fault; not to be BROKEN elsewhere */
    EXPECT_BROKEN, /* a negative control: what is seen to be safe here was not tested */
    EXPECT_LOSS    /* likewise, of acknowledged orders, with a durability that does not cover it */
} expectation;

/* The name of a row, valid until the next call; NULL behind the last. First the strategies in the
 * service's order, then the guarded ones with each other durability, then those that reserve. */
const char *plan_row(int i);

/* Whether the cell is in a matrix of this size. `rows` and `columns`: "a,b", or NULL for any; what
 * is asked for by name is there whatever the size. */
bool plan_has(matrix_size size, const row *r, const fault *f, const char *rows,
              const char *columns);

/* Whether all names in "a,b" are those of rows, or of columns. NULL is allowed. */
bool plan_knows(const char *rows, const char *columns);

/* How often a cell is run, with a seed of its own each time. What is not guarded promises little,
 * and that is seen at once. */
int plan_runs(matrix_size size, const row *r);

expectation plan_expects(const row *r, const fault *f);

#endif
