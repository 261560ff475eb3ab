/*
 * soak.h - three instances under load, with a random fault every few seconds, for minutes: do the
 * guarantees hold, and does anything grow?
 */
#ifndef TESTS_CHAOS_SOAK_SOAK_H
#define TESTS_CHAOS_SOAK_SOAK_H

#include "tests/chaos/matrix/run.h"

/* `minutes` long, with the seed, on the first row (NULL: combined:durability=disk), with its
 * histories in `out`. 0 if every minute held and nothing has grown. */
int soak_run(const matrix_options *options);

#endif
