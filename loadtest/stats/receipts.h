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

enum receipt_kind {
    RECEIPT_NONE, /* refused, or never issued */
    RECEIPT_SOLD,
    RECEIPT_UNKNOWN
};

struct receipt {
    int64_t ticket;      /* number of the request within the run */
    uint64_t order_hash; /* of the order's id; 0 when unknown */
    int target;          /* that answered, or was asked last */
    enum receipt_kind kind;
};

struct receipts {
    struct receipt *items;
    size_t count, room;
};

/* False when memory is short. */
bool receipts_add(struct receipts *receipts, struct receipt receipt);
void receipts_release(struct receipts *receipts);

/* FNV-1a, for comparing ids without keeping them. */
uint64_t receipt_hash(const char *text);

#endif
