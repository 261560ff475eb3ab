/*
 * options.h - the command line, parsed and checked.
 */
#ifndef LOADTEST_OPTIONS_H
#define LOADTEST_OPTIONS_H

#include "loadtest/base/plan.h"
#include "loadtest/judge/threshold.h"

#define STRATEGIES_MAX 32

enum command {
    COMMAND_RUN,     /* one strategy */
    COMMAND_COMPARE, /* several, interleaved */
    COMMAND_DIFF,    /* two result files */
    COMMAND_HELP,
    COMMAND_VERSION
};

enum preset { PRESET_NONE, PRESET_CONTENDED, PRESET_REFERENCE };

const char *preset_name(enum preset preset);

struct options {
    enum command command;
    enum preset preset;
    struct load_plan plan;
    struct sale_spec specs[STRATEGIES_MAX];
    int spec_count;
    int runs;              /* of each strategy */
    const char *json_path; /* "-": standard output */
    const char *html_path, *hgrm_path, *log_path;
    const char *redis_info;
    const char *expect_unsafe; /* comma-separated, besides "none" */
    const char *diff[2];       /* the two files */
    bool quiet;
    struct threshold thresholds[THRESHOLDS_MAX];
    int threshold_count;
};

/* Parses; false with a sentence in `err` on a usage error. Keeps pointers into argv. */
bool options_parse(int argc, char **argv, struct options *ret_options, char *err, size_t err_len);

/* Whether a strategy is a declared negative control: expected to break an invariant. */
bool options_expect_unsafe(const struct options *options, const struct sale_spec *spec);

/* The text of --help. */
extern const char help_text[];

#endif
