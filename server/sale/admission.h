/*
 * admission.h - when a new run of a server may be written to.
 *
 * Redis was restarted, or another server was promoted: it may be empty or older. Once a process
 * notices this, it sends nothing more to the old run (redis/server_run.h), and writes to the new
 * run only after its data is loaded and
 *
 *   1. this process has compared its sales with keys there, halted those that lack orders, and
 * begun an epoch of this run in the others (sale_check.h). Meanwhile it objects, in a key on that
 *      server that all processes read;
 *   2. OBJECT_MS (in a cluster OBJECT_CLUSTER_MS) have passed, so each other process could object:
 *      it may have seen orders that this one has not. With one server it is enough that another
 *      process has already admitted this run; in a cluster the key names only the last run;
 *   3. this process has compared again, the run is still the same, and no process objects.
 *
 * A process that was just started has nothing to compare, and waits like the others.
 *
 * A process that is not done after OBJECT_MOST_MS stops objecting, so the others may go on; it
 * still compares before it writes itself. The objection of a dead process lasts OBJECTION_MS.
 */
#ifndef FLASHSALE_ADMISSION_H
#define FLASHSALE_ADMISSION_H

#include "server/sale/sale_table.h"

typedef struct admission {
    char name[17];             /* of this process, in the list of objections */
    char seen[RUN_ID_MAX + 1]; /* the run that is not admitted yet; "" = none */
    bool loaded;               /* its data */
    dlock_time since;          /* when that was seen */
    bool compared;             /* all sales, once */
    bool gave_up;              /* objecting */
    dlock_time objected;       /* the last time */
} admission;

/* Looks at a server whose run is not admitted. True: it was admitted just now. */
bool admission_look(admission *a, fs_store *store, fs_node *node, sale_table *sales);

#endif
