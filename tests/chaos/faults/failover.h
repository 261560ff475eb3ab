/* failover.h - a primary whose replicas hear of nothing more, and that dies (failover.c). */
#ifndef TESTS_CHAOS_FAULTS_FAILOVER_H
#define TESTS_CHAOS_FAULTS_FAILOVER_H

#include "tests/support/topology.h"

/* From now on the replicas hear of nothing. */
void failover_cut_replicas_off(fx_topology *t);

/* The primary dies, the replicas go on, and one of them is promoted. How many orders of the first
 * sale it does not have. */
long long failover_kill_primary(fx_topology *t);

#endif
