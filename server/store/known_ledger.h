/*
 * known_ledger.h - what this process knows of one ledger: under which epochs it has seen orders,
 * and up to which number.
 *
 * Any number of threads may read it and say what they saw. One at a time compares it and adopts
 * (sale/sale_check.c). What was known once stays until the ledger is freed: an answer that comes
 * late says of a run of the server that was left what it had.
 */
#ifndef FLASHSALE_KNOWN_LEDGER_H
#define FLASHSALE_KNOWN_LEDGER_H

#include "server/store/epochs.h"

#include <stdatomic.h>

typedef struct known_epoch known_epoch;

/* All-zero: nothing is known, and nothing can be written as yet. */
typedef struct known_ledger {
    _Atomic(known_epoch *) now; /* under which this process writes; NULL = none */
    _Atomic(known_epoch *) all;
    char run[RUN_NAME_MAX + 1]; /* of the server that began `now`; for who compares */
    int64_t accepted;           /* of the terms (terms.h), when it was adopted last */
} known_ledger;

void known_ledger_free(known_ledger *known);

/* The epochs, whose newest is to be written under, and the highest number seen in that one;
 * EPOCHS_NONE and 0: there is none. (borrowed) */
const char *known_ledger_epochs(const known_ledger *known, int64_t *ret_number);

void known_ledger_saw(known_ledger *known, const char *epoch, int64_t number);

/* The same for a move (reservations.h): its place in their list, written under this epoch. */
void known_ledger_saw_move(known_ledger *known, const char *epoch, int64_t place);

/* The orders that were seen. */
int64_t known_ledger_orders(const known_ledger *known);

/* ---- for who compares ------------------------------------------------------------------------ */

/* To be called before the server is asked: what is compared then. If its run is not the one that
 * began `now`, nothing is written under that any more. */
void known_ledger_mark(known_ledger *known, const char *run);

/* Whether these epochs are damaged: those of this name were others. They never change. */
bool known_ledger_contradicts(const known_ledger *known, const char *epochs);

/* What was seen of a ledger in Redis. (borrowed) */
typedef struct seen_ledger {
    const char *epochs;
    int64_t orders;
    const redisReply *lost; /* names and values of its lost orders (halt.h) */
    bool halted;            /* for them */
} seen_ledger;

/* The marked moves: "<epoch> <place> " of the last one under each epoch. The ledger has all of them
 * if it has these. */
void known_ledger_put_moves(const known_ledger *known, dlock_args *args);

/* Up to which number the orders of this name have been accepted as lost; -1: none are noted. */
int64_t known_ledger_accepted(const redisReply *lost, const char *name);

/* How many of the marked orders are lost: they are not in the ledger, nor has the admin accepted
 * that; nor are they noted as lost, where the sale is halted. With `ret` appends what halt.lua asks
 * for. */
int64_t known_ledger_lost(const known_ledger *known, const seen_ledger *seen, dlock_args *ret);

/* Takes over the epochs; writes go under the newest from now on. With `all_seen` its orders are
 * known from now on. What has been accepted as lost is missed no more; if anything was since the
 * last time, no move that was marked. False: out of memory. */
bool known_ledger_adopt(known_ledger *known, const seen_ledger *seen, int64_t accepted,
                        bool all_seen);

#endif
