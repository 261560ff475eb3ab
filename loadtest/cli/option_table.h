/*
 * option_table.h - every option of the command line, as a row of one table.
 *
 * options.c walks the words of the command line and asks here for each option; what is read goes
 * into a lt_parsing.
 */
#ifndef LOADTEST_OPTION_TABLE_H
#define LOADTEST_OPTION_TABLE_H

#include "loadtest/cli/options.h"

/* What is known while parsing. */
typedef struct lt_parsing {
    lt_options options;
    lt_sale_spec defaults;  /* --wait-ms and the like, for all strategies */
    const char *strategies; /* parsed last, over the defaults */
    long stock, requests, users, retries, workers, runs, seed; /* -1: not given */
    double think_ms;                                           /* negative: not given */
    bool flash, help, version;
    char *err; /* where a sentence goes */
    size_t err_len;
} lt_parsing;

typedef struct lt_option lt_option;

/* The row of an option (without its dashes, `length` long), or NULL. */
const lt_option *option_find(const char *name, size_t length);
const char *option_name(const lt_option *row);
bool option_has_value(const lt_option *row);

/* Reads a value (NULL for an option that has none). False, with a sentence in parsing->err. */
bool option_read(const lt_option *row, lt_parsing *parsing, const char *value);

#endif
