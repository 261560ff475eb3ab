/* network.h - a network of the cell's own, gone with its processes. */
#ifndef TESTS_CHAOS_FAULTS_NETWORK_H
#define TESTS_CHAOS_FAULTS_NETWORK_H

#include <stdbool.h>

enum { NETWORK_MS = 20000 }; /* deadline of a script that lays lines */

/* From here on this thread, and all that it starts, is in a network without any lines. False: that
 * is not permitted here. */
bool network_leave(void);

#endif
