/*
 * matrix.h - the cells, each the sum of its runs.
 */
#ifndef TESTS_CHAOS_MATRIX_MATRIX_H
#define TESTS_CHAOS_MATRIX_MATRIX_H

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/chaos/matrix/plan.h"

/* From the best to the worst; the verdict of a cell is the worst of its runs. */
typedef enum verdict { SKIPPED, HELD, NOT_COVERED, INCONCLUSIVE, BROKEN, VERDICTS } verdict;

const char *verdict_word(verdict v); /* "HELD" */

/* Units, or orders, summed over the runs. */
typedef enum figure {
    OVERSOLD,
    LOST_UPDATES,
    DUPLICATES,
    ACKED_LOST,
    UNORDERED,
    REFUSED_SOLD,
    UNRESOLVED,
    STUCK,
    FIGURES
} figure;

extern const char *const figure_names[FIGURES]; /* "oversold" */

typedef struct matrix_cell {
    row row;
    const fault *fault;
    uint64_t seed;   /* of the run that the verdict is of */
    int runs, tries; /* tries: with those that were made again, being inconclusive */
    long long landed, figures[FIGURES];
    bool untold[FIGURES]; /* a run could not say it: what is summed up is the least that it is */
    verdict verdict;
    char why[256], violated[128]; /* the guarantees, "units falling" */
    bool died; /* or hung: a run said nothing, whenever it was tried; or an instance of it died */
    bool as_expected;
    double seconds;
} matrix_cell;

typedef struct matrix {
    matrix_cell *cells;
    int len;
    uint64_t seed;
    int counts[VERDICTS];
    int unexpected;
    int planted, caught; /* defects; 0, 0: none were tried */
    double seconds;
} matrix;

/* Adds what `matrix cell` said of one run (judge.h), at last, after so many tries; NULL: it said
 * nothing, and `why` it did not. */
void matrix_add(matrix_cell *c, const cJSON *run, uint64_t seed, int tries, const char *why);

/* Counts, and compares with what is expected. */
void matrix_sum_up(matrix *m);

/* Whether more than half of the cells that ran are inconclusive, and not only one: nobody has
 * looked there. */
enum { BLIND_AT_LEAST = 2 };
bool matrix_is_blind(int inconclusive, int ran);

/* The k-th column, or row that is guarded, that is blind; NULL = no further one. */
const char *matrix_blind(const matrix *m, int k);

/* The cell of a row and fault; NULL = there is none. */
const matrix_cell *matrix_find(const matrix *m, const char *of_row, const char *of_fault);

/* Whether there is any cell of it. */
bool matrix_has_row(const matrix *m, const char *name);
bool matrix_has_fault(const matrix *m, const fault *f);

/* The command that repeats a cell alone; valid until the next call. */
const char *matrix_command(const matrix_cell *c);

/* What stands in a table: "held", "7 oversold", "(12 lost)", "–". */
const char *matrix_text(const matrix_cell *c, char *buf, size_t len);

/* ---- reports: false when the file could not be written -----------------------------------------
 */

bool matrix_json(const matrix *m, FILE *out);
bool matrix_markdown(const matrix *m, FILE *out);
bool matrix_html(const matrix *m, FILE *out);

#endif
