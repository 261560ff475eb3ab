/*
 * option_table.h - the options of the command line, as rows of one table, and the values read.
 */
#ifndef LOADTEST_OPTION_TABLE_H
#define LOADTEST_OPTION_TABLE_H

#include "loadtest/base/plan.h"
#include "loadtest/result/threshold.h"

typedef enum lt_command {
    COMMAND_RUN,     /* one strategy */
    COMMAND_COMPARE, /* several, taking turns */
    COMMAND_DIFF,    /* two result files */
    COMMAND_CHART,   /* a bench file's page */
    COMMAND_HELP,
    COMMAND_VERSION
} lt_command;

/* The command line, complete. Texts point into argv. */
typedef struct lt_options {
    lt_command command;
    lt_plan plan;
    const char *json_path; /* "-": standard output */
    const char *html_path, *hgrm_path, *log_path, *history_path;
    const char *diff[2];    /* the two files */
    const char *chart_path; /* the bench file */
    bool quiet, details;
    lt_threshold thresholds[THRESHOLDS_MAX];
    int threshold_count;
} lt_options;

/* What is known while parsing. */
typedef struct lt_parsing {
    lt_options options;
    lt_sale_spec defaults;                      /* --wait-ms and the like, for all strategies */
    const char *strategies;                     /* parsed last, over the defaults */
    const char *expect_unsafe;                  /* comma-separated, besides "none" */
    long stock, requests, users, workers, runs; /* -1: not given */
    double think_ms;                            /* negative: not given */
    bool flash, help, version;
    const char *not_chart, *not_diff; /* an option that this command does not have, or NULL */
    char *err;                        /* takes the error sentence */
    size_t err_len;
} lt_parsing;

typedef struct lt_option lt_option;

/* The row of an option (without its dashes, `length` long), or NULL. */
const lt_option *option_find(const char *name, size_t length);
bool option_has_value(const lt_option *option);

/* Reads a value (NULL for an option without one). False, with a sentence in parsing->err. */
bool option_read(const lt_option *option, lt_parsing *parsing, const char *value);

/* Stores a sentence; returns false. */
bool option_fail(lt_parsing *parsing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
