/*
 * sampler.h - looks at the sales while they are on, many times a second, and writes down what it
 * sees: the units left and ordered, as an instance tells them; who holds the lock, and the fence
 * issued last, as Redis has them in one moment.
 */
#ifndef TESTS_CHAOS_SAMPLER_H
#define TESTS_CHAOS_SAMPLER_H

#include "tests/chaos/cell.h"

/* Begins. Who does not answer is asked again at the next look. */
void sampler_start(cell *c);

/* May be called twice. */
void sampler_end(void);

#endif
