/*
 * usage.h - what a soak's servers take: memory, descriptors and threads of each instance, and
 * Redis's own memory, but for the buffers of its connections, which vary with the moment and are as
 * many as the instances' descriptors allow.
 */
#ifndef TESTS_CHAOS_SOAK_USAGE_H
#define TESTS_CHAOS_SOAK_USAGE_H

#include <stdbool.h>

#include "tests/support/service.h"

enum { USAGES = 3 * FX_INSTANCES + 1 };

/* The highest values that were seen. All zero: none. */
typedef struct usage {
    long long values[USAGES]; /* by usage_name(); memory in KiB */
} usage;

const char *usage_name(int i);

/* Looks at all servers, which must run, and keeps what is higher than before. */
void usage_look(usage *highest);

/* "memory 14.1 14.0 13.9 MB, ..." in a buffer that the next call writes anew. */
const char *usage_text(const usage *u);

/* Prints how the last compares with the first, a line each. False: one is more than `percent`
 * above; of descriptors and threads two more are allowed in any case. */
bool usage_compare(const usage *first, const usage *last, int percent);

#endif
