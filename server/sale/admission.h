/*
 * admission.h - a server that is another run than before, and when it may be written to.
 *
 * Redis restarted, or another was promoted: it may be empty, or older. Once that is seen nothing is
 * sent to the run before any more (redis/server_run.h), nor to this one until its data is loaded,
 * and
 *
 *   1. this process has compared its sales that have keys there, halted those that are behind, and
 * begun an epoch of this run in the others (sale_check.h). While it does so it objects, in a key of
 * that run's that all processes read;
 *   2. OBJECT_MS have passed since, in a cluster OBJECT_CLUSTER_MS, so that each of the others
 * could begin to object: one may have seen orders that this one has not. Or one of them has
 * admitted this run already, where there is one server: of a cluster only the last one is told;
 *   3. this process has compared once more, found the same run, and nobody objects.
 *
 * A process that has just been started has nothing to compare, and waits like the others.
 *
 * Who is not done after OBJECT_MOST_MS objects no longer, so that the others may go on; it goes on
 * comparing before it writes anything itself. Who has died objects for OBJECTION_MS.
 */
#ifndef FLASHSALE_ADMISSION_H
#define FLASHSALE_ADMISSION_H

#include "server/sale/sale_table.h"

typedef struct admission {
    char name[17];             /* of this process, among those that object */
    char seen[RUN_ID_MAX + 1]; /* the run that is not admitted as yet; "" = none */
    bool loaded;               /* it has been seen not to be loading */
    dlock_time since;          /* when that was */
    bool compared;             /* all sales, once */
    bool gave_up;              /* objecting */
    dlock_time objected;       /* when last */
} admission;

/* Looks at the server that the store is not connected to. True: it has been admitted just now. */
bool admission_look(admission *a, fs_store *store, fs_node *node, sale_table *sales);

#endif
