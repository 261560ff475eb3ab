/*
 * known_ledger.h - what this process knows of one ledger: the epochs in which it has seen orders,
 * and the highest number in each.
 *
 * Any number of threads may read it and add what they saw. One thread at a time compares and adopts
 * (sale/sale_check.c). Knowledge is never dropped before the ledger is freed, because a late answer
 * may still tell what an abandoned run of the server had.
 */
#ifndef FLASHSALE_KNOWN_LEDGER_H
#define FLASHSALE_KNOWN_LEDGER_H

#include "server/store/epochs.h"

#include <stdatomic.h>

typedef struct known_epoch known_epoch;

/* All-zero: nothing is known, and nothing can be written yet. */
typedef struct known_ledger {
    _Atomic(known_epoch *) now; /* this process writes under it; NULL = none */
    _Atomic(known_epoch *) all;
    char run[RUN_NAME_MAX + 1]; /* of the server that began `now`; for the comparing thread */
    int64_t accepted;           /* of the terms (terms.h), at the last adoption */
} known_ledger;

void known_ledger_free(known_ledger *known);

/* The epochs, and the highest number seen in the newest, under which to write; EPOCHS_NONE and 0:
 * none. (borrowed) */
const char *known_ledger_epochs(const known_ledger *known, int64_t *ret_number);

void known_ledger_saw(known_ledger *known, const char *epoch, int64_t number);

/* The same for a move (reservations.h): its place in the list of moves, and its epoch. */
void known_ledger_saw_move(known_ledger *known, const char *epoch, int64_t place);

/* How many orders were seen. */
int64_t known_ledger_orders(const known_ledger *known);

/* ---- for the comparing thread ---------------------------------------------------------------- */

/* Marks what is to be compared; call it before asking the server. If its run did not begin `now`,
 * no more writes are made under `now`. */
void known_ledger_mark(known_ledger *known, const char *run);

/* Whether these epochs are damaged: they contradict known epochs of the same name, which never
 * change. */
bool known_ledger_contradicts(const known_ledger *known, const char *epochs);

/* What was seen of a ledger in Redis. (borrowed) */
typedef struct seen_ledger {
    const char *epochs;
    int64_t orders;
    const redisReply *lost; /* names and values of its lost orders (halt.h) */
    bool halted;            /* for them */
} seen_ledger;

/* Appends "<epoch> <place> " of the last marked move in each epoch. A ledger that has these moves
 * has all of them. */
void known_ledger_put_moves(const known_ledger *known, dlock_args *args);

/* The number up to which lost orders of this name were accepted; -1: none are noted. */
int64_t known_ledger_accepted(const redisReply *lost, const char *name);

/* How many marked orders are lost: they are neither in the ledger nor accepted as lost by the
 * admin, nor, in a halted sale, already noted as lost. With `ret`, appends the arguments of
 * halt.lua. */
int64_t known_ledger_lost(const known_ledger *known, const seen_ledger *seen, dlock_args *ret);

/* Adopts the epochs; from now on writes are made under the newest. With `all_seen` all its orders
 * count as known. Orders that were accepted as lost are no longer missed; if any were accepted
 * since the last call, neither are the marked moves. False: out of memory. */
bool known_ledger_adopt(known_ledger *known, const seen_ledger *seen, int64_t accepted,
                        bool all_seen);

#endif
