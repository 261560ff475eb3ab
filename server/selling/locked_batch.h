/*
 * locked_batch.h - selling one shelf as `combined` does: whoever leads here takes the shelf's fair
 * lock, sells for everybody waiting in this process with one guarded write, and the same call
 * gives the lock to the next process in the queue.
 *
 * `combined` has one of these, `sharded` one a segment.
 */
#ifndef FLASHSALE_LOCKED_BATCH_H
#define FLASHSALE_LOCKED_BATCH_H

#include "server/selling/strategy.h"

typedef struct fs_combine fs_combine;

/* NULL and a sentence in err. `terms` and `shelf` are borrowed. */
fs_combine *combine_open(const sale_terms *terms, const fs_shelf *shelf, char *err, size_t err_len);
void combine_close(fs_combine *combine); /* NULL is allowed */
void combine_buy(fs_combine *combine, const buy_request *request, buy_result *result);

#endif
