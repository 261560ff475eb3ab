/*
 * receipts.h - what the buyers were told, kept to be compared with the service's ledger afterwards.
 *
 * Kept for sales and for requests whose outcome is unknown; every other request was refused for
 * certain and must have no order at all. One thread adds to a list, nobody reads it meanwhile.
 */
#ifndef LOADTEST_RECEIPTS_H
#define LOADTEST_RECEIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lt_receipt_kind {
    RECEIPT_NONE, /* refused, or never issued */
    RECEIPT_SOLD,
    RECEIPT_UNKNOWN
} lt_receipt_kind;

typedef struct lt_receipt {
    int64_t ticket;      /* number of the request within the run */
    uint64_t order_hash; /* of the order's id; 0 when unknown */
    int target;          /* that answered, or was asked last */
    lt_receipt_kind kind;
} lt_receipt;

typedef struct lt_receipts {
    lt_receipt *items;
    size_t count, room;
} lt_receipts;

/* False when memory is short. */
bool receipts_add(lt_receipts *receipts, lt_receipt receipt);
void receipts_release(lt_receipts *receipts);

/* FNV-1a, for comparing ids without keeping them. */
uint64_t receipt_hash(const char *text);

#endif
