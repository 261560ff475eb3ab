/*
 * follow.h - copies orders into the database for as long as the process runs.
 *
 * What it knows is in the database, so it may be killed at any moment, and run beside others. It
 * asks for one page after the other, of all items in turn; where there is nothing new it asks less
 * and less often, up to once a second. Buyers never wait for it.
 */
#ifndef FLASHSALE_ORDERS_FOLLOW_H
#define FLASHSALE_ORDERS_FOLLOW_H

#include "server/orders/database.h"
#include "server/orders/leader.h"
#include "server/orders/source.h"

#include <signal.h>

typedef struct follow_options {
    const char *item;    /* NULL = all */
    bool once;           /* ends when all that there is has been copied */
    const char *metrics; /* file; NULL = none */
    const volatile sig_atomic_t *stop;
} follow_options;

/* Until it is to stop, or with `once` to the end. `lead` NULL: it does not ask who leads. 0, or
 * with `once` 69: the database or the instances did not answer. */
int follow(source *from, database *db, leader *lead, const follow_options *options);

#endif
