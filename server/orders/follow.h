/*
 * follow.h - copies orders into the database while the process runs.
 *
 * Its whole state is in the database, so it may be killed at any moment, and several may run. It
 * asks for one page after the other, of all items in turn. Where nothing is new it asks less and
 * less often, at least about once a second. Buyers never wait for it.
 */
#ifndef FLASHSALE_ORDERS_FOLLOW_H
#define FLASHSALE_ORDERS_FOLLOW_H

#include "server/orders/database.h"
#include "server/orders/leader.h"
#include "server/orders/source.h"

#include <signal.h>

typedef struct follow_options {
    const char *item;    /* NULL = all */
    bool once;           /* ends when everything has been copied */
    const char *metrics; /* file; NULL = none */
    const volatile sig_atomic_t *stop;
} follow_options;

/* Runs until it is stopped, or with `once` until all is copied. `lead` NULL: it does not elect a
 * leader. Returns 0; or with `once` 69: the database or the instances did not answer. */
int follow(source *from, database *db, leader *lead, const follow_options *options);

#endif
