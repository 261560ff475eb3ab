/*
 * slowness.h - how much slower the machine is than one that has time for this cell.
 *
 * A thread that could run waits for a processor, and Linux counts for how long. The threads of a
 * cell are in each other's way, too, so on an idle machine they wait about as long as they run.
 * What they wait beyond that is others' doing, and a deadline for the service is longer by it. It
 * is measured where the deadline counts, from the heal on.
 */
#ifndef TESTS_CHAOS_SLOWNESS_H
#define TESTS_CHAOS_SLOWNESS_H

/* From now on; the instances run. */
void slowness_begin(void);

/* 1 for a machine that is as good as idle, 2 for one on which all takes twice as long, 10 at most.
 * Where Linux does not count it is 1. */
double slowness_since(void);

/* The same of threads that ran and waited for so long. */
double slowness_of(double ran, double waited);

#endif
