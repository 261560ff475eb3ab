/*
 * read_then_write.h - the critical section of the articles: read the stock, check it, SET the new
 * value, then record the order in a separate step.
 *
 * It is correct only under mutual exclusion. Without a lock, or after the lease has ended, two
 * buyers read the same stock, and one update is lost: the unit is sold twice. A late write does the
 * same although no process was paused: the SET of a connection that was reset can reach Redis
 * seconds after the lock was released.
 *
 * It is not atomic either. If the order is refused, its units are put back. If the process fails
 * between the two steps, they are lost.
 */
#ifndef FLASHSALE_READ_THEN_WRITE_H
#define FLASHSALE_READ_THEN_WRITE_H

#include "server/selling/open_sale.h"

#include <stdatomic.h>

typedef struct fs_section {
    uint64_t fence;               /* stored in the order; 0 = none */
    bool locked;                  /* the section lasts for the sale's hold_ms */
    dlock_hold *last;             /* NULL, or a hold that the last step releases as well;
                                     dlock_release() is still due */
    const atomic_bool *cancelled; /* NULL, or true once the lock is known to be lost */
} fs_section;

/* Sells to one buyer from the sale's only stock. Answers `result` in every case, by the request's
 * deadline. */
void read_then_write(const open_sale *sale, const purchase *request, fs_section section,
                     purchase_result *result);

/* The two scripts, for strategies that take the units in another way. The first one checks whether
 * the order can be recorded, and returns the units that would be left. False: `result` is the
 * answer. */
bool order_look(const open_sale *sale, const purchase *request, uint64_t fence, int64_t *left,
                purchase_result *result);

/* The second one records the order after its units were taken and `left` are left; if it refuses,
 * it puts them back. It has STATE_KEYS keys; pass its reply to sale_answer(). The caller frees the
 * words. */
extern dlock_script order_record;
void order_put_words(dlock_args *args, const open_sale *sale, const purchase *request,
                     uint64_t fence, int64_t left);

#endif
