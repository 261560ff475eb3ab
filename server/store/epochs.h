/*
 * epochs.h - failover epochs: the history of a ledger (server/README.md, "When Redis has lost
 * data").
 *
 * The length of a ledger does not identify its history: after a split brain the surviving side may
 * be longer than what was lost. So a ledger consists of epochs. An epoch has a random name and
 * begins with an order number. Each run of a server that is written to begins an epoch, and so does
 * each resumption of a halted sale. A process that has seen order 1500 of an epoch which ends with
 * 900 in the surviving ledger knows that 600 orders are lost.
 *
 * Redis keeps the epochs in one string beside the ledger, newest first, followed by the run of the
 * server that began the newest:
 *
 *     <epoch> <first number> [<epoch> <first number> ...] <run>
 *
 * The scripts that sell compare the first word, and answer "epoch" to a writer under another one.
 * When an epoch begins, the one before is dropped if it has no orders.
 */
#ifndef FLASHSALE_EPOCHS_H
#define FLASHSALE_EPOCHS_H

#include "server/store/keys.h"
#include "server/store/store.h"

#define EPOCH_LEN      12
#define EPOCHS_NONE    "------------ 0 -" /* no write is made under it */
#define EPOCHS_DAMAGED "damaged epochs"   /* as the scripts say it */

typedef struct epoch_row {
    char name[EPOCH_LEN + 1];
    int64_t first; /* its first order number */
} epoch_row;

/* Reads the row at `at`: the text, or what this has returned. NULL: there are no more rows. */
const char *epochs_next(const char *at, epoch_row *ret);

/* Whether a text has this form and fits a ledger of so many orders. */
bool epochs_ok(const char *text, int64_t orders);

/* The last number of an epoch in a ledger of so many orders; -1: the ledger does not have it. */
int64_t epochs_last(const char *text, int64_t orders, const char *epoch);

/* Whether this run of the server (server_run_name()) began the newest epoch. */
bool epochs_are_of(const char *text, const char *run);

/* A random name. False: the system has no random bytes. */
bool epoch_make(char ret[EPOCH_LEN + 1]);

/* The text of a ledger without orders. False: as epoch_make(). */
#define EPOCHS_FIRST_MAX 64
bool epochs_first(fs_store *store, const char *key, char ret[EPOCHS_FIRST_MAX]);

/* Begins an epoch in the ledger of the sale in force, if its epochs are still `seen`. Returns the
 * text in Redis after that, which the caller frees. NULL: no answer, or no epoch can begin now. */
redisReply *epochs_begin(fs_store *store, const sale_keys *keys, const char *sale, const char *seen,
                         const char *run, dlock_time deadline);

#endif
