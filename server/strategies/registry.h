/*
 * registry.h - all strategies. The build makes the list from the files in this folder, and puts the
 * names into openapi.json. Whoever needs more of one, the tests' matrix too, reads its descriptor.
 */
#ifndef FLASHSALE_REGISTRY_H
#define FLASHSALE_REGISTRY_H

#include "server/selling/strategy.h"

/* By place, then by name; ends with NULL. */
const fs_strategy *const *strategy_list(void);

/* NULL: no such strategy. */
const fs_strategy *strategy_find(const char *name);

/* One of these in a paragraph: what its file begins with. */
const char *strategy_explanation(const fs_strategy *strategy);

/* The one that sells when none is named. */
const fs_strategy *strategy_standard(void);

/* All names in one line, "none, setnx, ...", for error texts. */
const char *strategy_names(void);

#endif
