/*
 * options.h - the command line, parsed and checked.
 */
#ifndef LOADTEST_OPTIONS_H
#define LOADTEST_OPTIONS_H

#include "loadtest/cli/option_table.h"

/* Parses; false with a sentence in `err` on a usage error. argv ends with NULL, as main() has it;
 * pointers into it are kept. */
bool options_parse(int argc, char **argv, lt_options *ret, char *err, size_t err_len);

/* The text of --help. */
extern const char help_text[];

#endif
