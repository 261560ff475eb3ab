/*
 * sale_start.h - starts a sale in Redis, and resumes a halted one.
 *
 * One script makes a sale its item's current one and ends the sale before. If several instances
 * start one at the same time, one wins and the others join.
 */
#ifndef FLASHSALE_SALE_START_H
#define FLASHSALE_SALE_START_H

#include "server/store/terms.h"

/* The time limit of each read and write of a start; a later write has no effect. */
#define START_MS 2000

typedef enum start_status {
    START_OK = 0,
    START_JOINED,      /* the item has a sale already; nothing was started */
    START_HALTED,      /* the item's sale is halted, or its pointer is lost; nothing was started */
    START_NOT_HALTED,  /* `replaces` names a sale that is not halted; likewise */
    START_DAMAGED,     /* the pointer to the current sale is damaged; likewise */
    START_REFUSED,     /* the server does not offer the durability; see err */
    START_PAUSED,      /* the server does not accept writes now; nothing was started */
    START_MAY_EVICT,   /* the server may evict keys; see err */
    START_UNAVAILABLE, /* Redis did not answer in time; nothing was started */
    START_UNKNOWN      /* perhaps started within START_MS, but not later */
} start_status;

/* Starts a sale on these terms by the deadline; it replaces the current one. Writes its id and the
 * previous sale into the terms. With `only_if_none`, an item with a sale gives START_JOINED, and
 * terms->id gets that sale's id. A halted sale is replaced only if `replaces` names it. */
start_status sale_start(fs_store *store, sale_terms *terms, bool only_if_none, dlock_time deadline,
                        char *err, size_t err_len);

/* Completes the start of a sale whose terms were read: starts it in each segment where it is not
 * started, and closes other sales there. Call it before selling. SALE_OK; SALE_HALTED, a segment
 * has lost its pointer; SALE_DAMAGED; SALE_UNAVAILABLE (also at the deadline). */
sale_status sale_start_segments(fs_store *store, const sale_terms *terms, dlock_time deadline);

/* Resumes the item's halted sale, if it has this id and has lost so many orders: the admin accepts
 * that loss. The remaining orders and stock stay; lost order numbers are given again, in another
 * epoch. Every instance opens the sale anew, and drops what it remembered.
 *
 * With RESUME_OK and RESUME_OTHER *halt is the halt that was found. */
resume_status sale_resume(fs_store *store, const char *item, const char *sale, int64_t lost_orders,
                          dlock_time deadline, sale_halt *halt);

#endif
