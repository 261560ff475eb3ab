/*
 * halt.h - a halted sale: one that must not sell until the admin says so in so many words, because
 * Redis has forgotten something that was acknowledged.
 *
 * It needs no key of its own. Under `fs:{tag}:sale` stands a sale's id; of a halted sale there
 * stands
 *
 *     <sale> <why> <known> <found> <instance> <time_us>
 *
 * which no selling script takes for the id of its sale, so each of them answers "closed" with
 * nothing written. Of a sharded sale every segment's pointer says so, the item's own last.
 *
 * <known> is <found> and the lost orders. Each process adds what it knows, so these are counted by
 * epoch, in the hash `fs:{tag}:<sale>:lost`:
 *
 *     <epoch> -> <last number left, or accepted by the admin to be lost> <last number seen>
 *
 * Under a sharded item's own tag a field "#k" counts those of segment k; and the id of a sale that
 * is gone, where this one does not descend from it, counts that one's. After a resumption the hash
 * says what has been accepted: who comes later and knows no more than that halts nothing.
 */
#ifndef FLASHSALE_HALT_H
#define FLASHSALE_HALT_H

#include "server/store/keys.h"
#include "server/store/store.h"

/* The most characters of what stands under a pointer: a sale's id or the words of a halt. */
#define POINTER_MAX      255

#define HALT_ROLLED_BACK "rolled_back" /* orders are missing, or the sale itself */
#define HALT_LOST        "lost"        /* the pointer was, beside the remains of a sale */

typedef struct sale_halt {
    char sale[IDENT_MAX + 1]; /* "" = not halted */
    char why[16];
    int64_t known;                /* orders that were acknowledged, as far as anybody remembers */
    int64_t found;                /* orders that are left */
    char instance[IDENT_MAX + 1]; /* that noticed */
    int64_t time_us;              /* Unix time by Redis's clock */
} sale_halt;

/* Reads what stands under a pointer. False: not the words of a halt. */
bool halt_read(const char *pointer, sale_halt *ret);

int64_t halt_lost_orders(const sale_halt *halt);

/* What was seen under a tag, by which it is to be halted. */
typedef struct halt_reason {
    const char *pointer;    /* what stood there, "" = nothing */
    const char *epochs;     /* of the sale's ledger, "" = none; NULL = whatever they are */
    const dlock_args *lost; /* of each epoch: its name, the last number left, the last one seen;
                               NULL = none */
} halt_reason;

/* Writes the words under the tag, provided that it is as it was seen: else who stood still
 * meanwhile would halt a sale that the admin has let go on. The orders in the tag's own ledger are
 * added to halt->found, which are in other tags; the rest of the numbers is Redis's. The keys of an
 * older sale that stood there expire then. The words go into `pointer`, or others that say that
 * something has changed. False: not answered, or not to be written. */
bool halt_write(dlock_redis *redis, const char *item, int segment, const halt_reason *seen,
                const sale_halt *halt, char pointer[POINTER_MAX + 1]);

typedef enum resume_status {
    RESUME_OK = 0,
    RESUME_NOT_HALTED, /* the item's sale is not halted, or has none */
    RESUME_OTHER,      /* another sale is halted, or another number of orders is lost */
    RESUME_GONE,       /* something of the sale is missing in Redis, so that it can not go on */
    RESUME_UNAVAILABLE /* Redis did not answer, or another has changed the halt; perhaps resumed in
                          part: ask again */
} resume_status;

/* Puts the sale in the halt's place, provided that `expected` stands there. RESUME_OK, _GONE (its
 * terms are not there), _UNAVAILABLE. */
resume_status halt_lift(fs_store *store, const char *item, int segment, const char *expected,
                        const char *sale, dlock_time deadline);

/* The latest sale ever started under the item's own tag, as Redis has it. Sale ids only rise, and
 * this one stays when the pointer is lost. False: none, or not answered. */
bool halt_latest(fs_store *store, const char *item, dlock_time deadline, char ret[IDENT_MAX + 1]);

#endif
