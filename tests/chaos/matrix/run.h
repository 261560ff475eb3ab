/*
 * run.h - runs the cells of a plan, several at a time, each in a process of its own, and writes
 * the reports.
 */
#ifndef TESTS_CHAOS_MATRIX_RUN_H
#define TESTS_CHAOS_MATRIX_RUN_H

#include <stdint.h>

#include "tests/chaos/matrix/plan.h"

typedef struct matrix_options {
    matrix_size size;
    uint64_t seed;
    int runs, jobs;      /* 0: as many as the size and the machine ask for */
    const char *rows;    /* "a,b"; NULL = all of the size */
    const char *faults;  /* likewise */
    const char *out;     /* the directory for all that is written */
    int minutes;         /* of a soak */
    int planted, caught; /* defects that were tried before, for the report */
} matrix_options;

/* 0: all as expected, few cells were inconclusive, and no column or row that promises to hold was
 * mostly so; 1: not so. */
int matrix_run(const matrix_options *options);

#endif
