/*
 * patience.h - how long a test waits for what must come: longer where the machine is crowded.
 *
 * A deadline of a test says how long something may take on a machine that has a processor for it.
 * Where more threads want to run than there are processors, all that it waits for takes so many
 * times as long, and its patience grows with it. Then it fails late, but not for want of a
 * processor.
 *
 * What is shorter than a second is a look at what is not to come, and is as long as it says.
 */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <stdbool.h>

/* How many times as long as on an idle machine things take now: runnable threads a processor
 * (/proc/loadavg, now and in the last minute), at least 1. Any thread. */
double fx_crowding(void);

/* Whether a service may be too late for its own time limits, and say so: more than four runnable
 * threads a processor. Any thread. */
bool fx_is_crowded(void);

/* What `ms` are now, for one who sets a time-out and waits. fx_wait_until() asks again all the
 * time. Any thread. */
int fx_patient_ms(int ms);

/* What a lease of `ms` is to be now, in a test that waits for its end: at most five times as long.
 * Ask once, and use the answer. Any thread. */
int fx_lease_ms(int ms);

#endif
