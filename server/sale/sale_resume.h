/*
 * sale_resume.h - the admin lets a halted sale go on, knowing how many orders it has lost.
 *
 * The orders that are left stay, and so does the stock that is left; the numbers of the lost orders
 * are given again. Every instance takes the sale up anew: what it remembered of it is void.
 */
#ifndef FLASHSALE_SALE_RESUME_H
#define FLASHSALE_SALE_RESUME_H

#include "server/store/terms.h"

/* By the deadline lets the item's halted sale go on, if it has this id and has lost so many orders.
 * *halt is what stood there, with RESUME_OK and RESUME_OTHER. */
resume_status sale_resume(fs_store *store, const char *item, const char *sale, int64_t lost_orders,
                          dlock_time deadline, sale_halt *halt);

#endif
