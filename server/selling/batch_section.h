/*
 * batch_section.h - the frame of the strategies with group commit: one call sells to all buyers who
 * wait in this process.
 *
 * The leader of a segment's batch acquires the segment's lock, if the strategy's descriptor has
 * one, and sells with one script. Under a lock the script is guarded, and the same call hands the
 * lock to the next process in the queue.
 */
#ifndef FLASHSALE_BATCH_SECTION_H
#define FLASHSALE_BATCH_SECTION_H

#include "server/selling/strategy.h"

/* A strategy's open(), buy() and close(). */
int batch_section_open(const open_sale *sale, void **ret, char *err, size_t err_len);
void batch_section_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result);
void batch_section_close(void *state);

/* As batch_section_buy(), from one segment of a sharded sale. */
void batch_section_buy_in(const open_sale *sale, void *state, int segment, const purchase *request,
                          purchase_result *result);

#endif
