/*
 * options.h - the command line, parsed and checked.
 */
#ifndef LOADTEST_OPTIONS_H
#define LOADTEST_OPTIONS_H

#include "loadtest/base/plan.h"
#include "loadtest/judge/threshold.h"

#define STRATEGIES_MAX 32

typedef enum lt_command {
    COMMAND_RUN,     /* one strategy */
    COMMAND_COMPARE, /* several, interleaved */
    COMMAND_DIFF,    /* two result files */
    COMMAND_HELP,
    COMMAND_VERSION
} lt_command;

typedef enum lt_preset { PRESET_NONE, PRESET_CONTENDED, PRESET_REFERENCE } lt_preset;

const char *preset_name(lt_preset preset);

typedef struct lt_options {
    lt_command command;
    lt_preset preset;
    lt_plan plan;
    lt_sale_spec specs[STRATEGIES_MAX];
    int spec_count;
    int runs;              /* of each strategy */
    const char *json_path; /* "-": standard output */
    const char *html_path, *hgrm_path, *log_path;
    const char *redis_info;
    const char *expect_unsafe; /* comma-separated, besides "none" */
    const char *diff[2];       /* the two files */
    bool quiet;
    lt_threshold thresholds[THRESHOLDS_MAX];
    int threshold_count;
} lt_options;

/* Parses; false with a sentence in `err` on a usage error. Keeps pointers into argv. */
bool options_parse(int argc, char **argv, lt_options *ret_options, char *err, size_t err_len);

/* Whether a strategy is a declared negative control: expected to break an invariant. */
bool options_expect_unsafe(const lt_options *options, const lt_sale_spec *spec);

/* The text of --help. */
extern const char help_text[];

#endif
