/*
 * epochs.h - the history of a ledger, by which it is compared (server/README.md, "When Redis has
 * lost data").
 *
 * A length does not tell one history from another: after a split brain the side that is left may be
 * longer than what was lost. So a ledger is written in epochs. An epoch has a random name and
 * begins with an order number. Each run of a server that is written to begins a new one, and so
 * does each resumption of a halted sale. Who knows order 1500 of an epoch that ends with 900 in the
 * ledger that is left knows that 600 orders are lost.
 *
 * In Redis they are one string beside the ledger, the newest first, then the run of the server that
 * began the newest:
 *
 *     <epoch> <first number> [<epoch> <first number> ...] <run>
 *
 * The scripts that sell compare the first word, and refuse ("epoch") whoever writes under another.
 * An epoch without orders is not kept when the next one begins.
 */
#ifndef FLASHSALE_EPOCHS_H
#define FLASHSALE_EPOCHS_H

#include "server/store/keys.h"
#include "server/store/store.h"

#define EPOCH_LEN      12
#define EPOCHS_NONE    "------------ 0 -" /* under which nothing is written */
#define EPOCHS_DAMAGED "damaged epochs"   /* as the scripts say it */

typedef struct epoch_row {
    char name[EPOCH_LEN + 1];
    int64_t first; /* the order number that it begins with */
} epoch_row;

/* The row at `at`, which is the whole text or what this has returned. NULL: there is no more. */
const char *epochs_next(const char *at, epoch_row *ret);

/* Whether a text has this form, for a ledger of so many orders. */
bool epochs_ok(const char *text, int64_t orders);

/* The last number of an epoch in a ledger of so many orders; -1: the ledger does not have it. */
int64_t epochs_last(const char *text, int64_t orders, const char *epoch);

/* Whether the newest epoch was begun by this run of the server (server_run_name()). */
bool epochs_are_of(const char *text, const char *run);

/* A random name. False: the system has no random bytes. */
bool epoch_make(char ret[EPOCH_LEN + 1]);

/* The text of a ledger without orders. False: as epoch_make(). */
#define EPOCHS_FIRST_MAX 64
bool epochs_first(fs_store *store, const char *key, char ret[EPOCHS_FIRST_MAX]);

/* Begins another epoch in the ledger of the sale in force, unless its epochs are not `seen` any
 * more. The text that stands there then, for the caller to free. NULL: not answered, or nothing can
 * be begun there now. */
redisReply *epochs_begin(fs_store *store, const sale_keys *keys, const char *sale, const char *seen,
                         const char *run, dlock_time deadline);

#endif
