/*
 * mutate.h - random changes to bytes, by a seed: the same seed makes the same changes everywhere.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum { MUTATE_MAX = 16384 };

typedef struct mutator {
    uint64_t state; /* not 0 */
} mutator;

mutator mutate_begin(uint64_t seed);

/* A number below `below`, which is not 0. */
size_t mutate_below(mutator *dice, size_t below);

/* Makes a few changes to bytes[0..len), in an array of MUTATE_MAX; some take parts of other[0..
 * other_len). The new length. */
size_t mutate(mutator *dice, uint8_t *bytes, size_t len, const uint8_t *other, size_t other_len);

#endif
