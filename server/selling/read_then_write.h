/*
 * read_then_write.h - the section that the articles' locks protect: read the stock, check it, SET
 * the new one, then record the order in a step of its own.
 *
 * Right only while nobody else does the same at the same time. Without a lock, or with one whose
 * lease ended on the way, two buyers read the same stock, and one sale is lost or sold twice. So
 * it is when the SET of a connection that was reset reaches Redis seconds after its lock was given
 * back: nobody has to have been stopped for that.
 * And without a failure in between: stock that was taken is put back when the order is refused, but
 * lost when nothing comes of the order at all.
 */
#ifndef FLASHSALE_READ_THEN_WRITE_H
#define FLASHSALE_READ_THEN_WRITE_H

#include "server/selling/open_sale.h"

#include <stdatomic.h>

typedef struct fs_section {
    uint64_t fence;               /* goes into the order; 0 = none */
    bool locked;                  /* then the section lasts the sale's hold_ms */
    dlock_hold *last;             /* NULL, or what the step that records the order gives back too;
                                     dlock_release() is due still */
    const atomic_bool *cancelled; /* NULL, or tells that the lock is known to be lost */
} fs_section;

/* Sells to one buyer from the sale's only stock. Answers `result` in every case, by the request's
 * deadline. */
void read_then_write(const open_sale *sale, const purchase *request, fs_section section,
                     purchase_result *result);

/* Its two scripts, for strategies that take the units in another way. The first looks whether the
 * order could be recorded, and how many units would be left after it. False: answered. */
bool order_look(const open_sale *sale, const purchase *request, uint64_t fence, int64_t *left,
                purchase_result *result);

/* The second records the order once its units are taken, so that `left` are left; otherwise it puts
 * them back. Its keys are STATE_KEYS, its reply is for sale_answer(). The caller frees the words.
 */
extern dlock_script order_record;
void order_put_words(dlock_args *args, const open_sale *sale, const purchase *request,
                     uint64_t fence, int64_t left);

#endif
