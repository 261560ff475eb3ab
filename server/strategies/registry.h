/*
 * registry.h - all strategies. The build makes the list from the files in this folder, and puts the
 * names into openapi.json. Everything else, also in the tests' matrix, comes from the descriptors.
 */
#ifndef FLASHSALE_REGISTRY_H
#define FLASHSALE_REGISTRY_H

#include "server/selling/strategy.h"

/* By place, then by name; ends with NULL. */
const fs_strategy *const *strategy_list(void);

/* NULL: no such strategy. */
const fs_strategy *strategy_find(const char *name);

/* Explains one of them in a paragraph: the comment that opens its file. */
const char *strategy_explanation(const fs_strategy *strategy);

/* The default. */
const fs_strategy *strategy_standard(void);

/* All names in one line, "none, setnx, ...", for error texts. */
const char *strategy_names(void);

#endif
