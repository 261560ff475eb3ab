/*
 * admission.h - a server that is another run than before, and when it may be written to.
 *
 * Redis restarted, or another took its place: it may be empty, or older. Nobody writes to it (see
 * redis/server_run.h) until
 *
 *   1. this process has compared all its sales with it, and halted those that are behind;
 *   2. OBJECT_MS have passed, so that the other processes could do the same: one may have seen
 *      orders that this one has not;
 *   3. it has compared once more, and found the same run.
 *
 * A process that has just been started remembers nothing, and so must leave the others that time:
 * it writes to a server that has been up for UP_S.
 */
#ifndef FLASHSALE_ADMISSION_H
#define FLASHSALE_ADMISSION_H

#include "server/sale/sale_table.h"

typedef struct admission {
    char seen[RUN_ID_MAX + 1]; /* the run that is not admitted as yet; "" = none */
    dlock_time since;          /* when it was first seen */
} admission;

/* Looks at the server that the store is not connected to. True: it has been admitted just now. */
bool admission_look(admission *a, fs_store *store, sale_table *sales);

#endif
