/*
 * halt.h - a halted sale: Redis has lost acknowledged data, so the sale must not sell until the
 * admin decides.
 *
 * A halt needs no key of its own. The pointer `fs:{tag}:sale` holds the id of the current sale;
 * when that is halted, the pointer holds
 *
 *     <sale> <why> <known> <found> <instance> <time_us>
 *
 * No selling script accepts this as its sale's id, so each answers "closed" and writes nothing. In
 * a sharded sale every segment's pointer is replaced, the item's own last.
 *
 * <known> is <found> plus the lost orders. Each process adds what it knows, so lost orders are
 * counted by epoch, in the hash `fs:{tag}:<sale>:lost`:
 *
 *     <epoch> -> <last number left, or accepted by the admin to be lost> <last number seen>
 *
 * Under a sharded item's own tag, field "#k" counts the lost orders of segment k. If this sale does
 * not descend from an earlier one, a field with that one's id counts its orders. After a resumption
 * the hash holds what was accepted: a process that comes later and knows no more halts nothing.
 */
#ifndef FLASHSALE_HALT_H
#define FLASHSALE_HALT_H

#include "server/store/keys.h"
#include "server/store/store.h"

/* The longest value of a pointer: a sale's id, or a halt. */
#define POINTER_MAX      255

#define HALT_ROLLED_BACK "rolled_back" /* orders are missing, or the sale itself */
#define HALT_LOST        "lost"        /* the pointer is missing, but a sale has left keys */

typedef struct sale_halt {
    char sale[IDENT_MAX + 1]; /* "" = not halted */
    char why[16];
    int64_t known;                /* acknowledged orders, as far as the instances remember */
    int64_t found;                /* orders that are left */
    char instance[IDENT_MAX + 1]; /* that noticed the loss */
    int64_t time_us;              /* Unix time by Redis's clock */
} sale_halt;

/* Reads a pointer's value. False: it is not a halt. */
bool halt_read(const char *pointer, sale_halt *ret);

int64_t halt_lost_orders(const sale_halt *halt);

/* What was seen under a tag, and is the reason to halt it. */
typedef struct halt_reason {
    const char *pointer;    /* its value, "" = none */
    const char *epochs;     /* of the sale's ledger, "" = none; NULL = whatever they are */
    const dlock_args *lost; /* for each epoch: name, last number left, last number seen;
                               NULL = none */
} halt_reason;

/* Writes the halt under the tag if that is still as it was seen: otherwise a process that was
 * paused would halt a sale which the admin has resumed. The script adds the orders in the tag's own
 * ledger to halt->found, which counts other tags, and computes the other numbers. The keys of an
 * older sale under the tag expire. `pointer` gets the new value, or a word that says that something
 * has changed. False: no answer, or the halt can not be written. */
bool halt_write(dlock_redis *redis, const char *item, int segment, const halt_reason *seen,
                const sale_halt *halt, char pointer[POINTER_MAX + 1]);

typedef enum resume_status {
    RESUME_OK = 0,
    RESUME_NOT_HALTED, /* the item's sale is not halted, or has none */
    RESUME_OTHER,      /* another sale is halted, or another number of orders is lost */
    RESUME_GONE,       /* Redis lacks keys of the sale, so it can not go on */
    RESUME_UNAVAILABLE /* Redis did not answer, or another process changed the halt; perhaps partly
                          resumed: ask again */
} resume_status;

/* Replaces the halt by the sale's id if the pointer is `expected`. RESUME_OK, _GONE (the terms are
 * missing), _UNAVAILABLE. */
resume_status halt_lift(fs_store *store, const char *item, int segment, const char *expected,
                        const char *sale, dlock_time deadline);

/* The latest sale that was started under the item's own tag. Sale ids only rise, and this key
 * survives the loss of the pointer. False: none, or no answer. */
bool halt_latest(fs_store *store, const char *item, dlock_time deadline, char ret[IDENT_MAX + 1]);

#endif
