/*
 * sale_start.h - starting a sale in Redis, and letting a halted one go on.
 *
 * A sale is the current one of its item from the moment one script has said so; the same script
 * ends the sale before. Of several instances that start at once one wins and the others join.
 */
#ifndef FLASHSALE_SALE_START_H
#define FLASHSALE_SALE_START_H

#include "server/store/terms.h"

/* One question or one write of a start has so long; a write that comes later writes nothing. */
#define START_MS 2000

typedef enum start_status {
    START_OK = 0,
    START_JOINED,      /* the item has a sale already; nothing was started */
    START_HALTED,      /* the item's sale is halted, or its pointer is lost; nothing was started */
    START_NOT_HALTED,  /* a sale that is halted was to be replaced, and it is not; likewise */
    START_DAMAGED,     /* what stands in the current sale's place is no sale; likewise */
    START_REFUSED,     /* the server does not keep the durability that was asked; see err */
    START_PAUSED,      /* the server takes no writes at present; nothing was started */
    START_MAY_EVICT,   /* the server may throw keys away; see err */
    START_UNAVAILABLE, /* Redis did not answer, or too late; nothing was started */
    START_UNKNOWN      /* perhaps started; but if not within START_MS, then never */
} start_status;

/* By the deadline starts a sale on these terms in place of the current one, and writes its id and
 * the previous sale into them. With `only_if_none`: START_JOINED, and the current sale's id in
 * terms->id, when the item has a sale already. A halted one is only replaced by terms that name it
 * (`replaces`). */
start_status sale_start(fs_store *store, sale_terms *terms, bool only_if_none, dlock_time deadline,
                        char *err, size_t err_len);

/* Starts the sale of these terms, which were read, in each of its segments where it is not yet
 * started, and closes what other sales have there: SALE_OK; SALE_HALTED, a segment has lost the
 * pointer to its sale; SALE_DAMAGED; SALE_UNAVAILABLE (also at the deadline). To be called before
 * selling in it. */
sale_status sale_start_segments(fs_store *store, const sale_terms *terms, dlock_time deadline);

/* The admin lets a halted sale go on, knowing how many orders it has lost: those that are left
 * stay, and so does the stock that is left; the numbers of the lost ones are given again. Every
 * instance takes the sale up anew: what it remembered of it is void.
 *
 * By the deadline lets the item's halted sale go on, if it has this id and has lost so many orders.
 * *halt is what stood there, with RESUME_OK and RESUME_OTHER. */
resume_status sale_resume(fs_store *store, const char *item, const char *sale, int64_t lost_orders,
                          dlock_time deadline, sale_halt *halt);

#endif
