/*
 * ledger.h - reading what was sold: the numbers, one order, all orders.
 *
 * When is "no such order" final? A buy that timed out may still be on its way to Redis, so the
 * first answer about an unknown request is "not yet". Whoever asks again once every request that
 * was under way at the first question has run out gets the final answer; by then a marker stands
 * in the order's place, which every selling script meets before it sells. So the answer stays
 * true: should the same request id come again, it is refused (BUY_VOID).
 */
#ifndef FLASHSALE_LEDGER_H
#define FLASHSALE_LEDGER_H

#include "server/terms.h"

typedef struct ledger_numbers {
    int64_t remaining; /* units left */
    int64_t units;     /* units ordered */
    int64_t orders;    /* orders */
} ledger_numbers;

/* The sum over the sale's shelves; one moment for each shelf. False: Redis did not answer, or
 * something of the sale is missing there. */
bool ledger_count(const sale_terms *terms, ledger_numbers *ret);

typedef enum ledger_status {
    LEDGER_FOUND = 0,
    LEDGER_NOT_YET,    /* no order, but there could still be one */
    LEDGER_NEVER,      /* no order, and there will be none */
    LEDGER_UNAVAILABLE /* Redis did not answer */
} ledger_status;

/* An order of the sale, by its request id. */
ledger_status ledger_find(const sale_terms *terms, const char *request, fs_order *ret,
                          int *segment);

/* An order of the closed sale `previous`, in which nothing can change any more. */
ledger_status ledger_find_previous(const sale_terms *terms, const char *request, fs_order *ret,
                                   int *segment);

#define LEDGER_PAGE 100

/* One entry of a page. */
typedef void ledger_each(void *arg, int segment, const char *request, const fs_order *order);

/* Up to LEDGER_PAGE orders of shelf `segment` from the `first` on (counted from 0). The number of
 * entries of the page, -1 = Redis did not answer. */
int ledger_read_page(const sale_terms *terms, int segment, int64_t first, ledger_each *each,
                     void *arg);

#endif
