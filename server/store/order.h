/*
 * order.h - an order, and its record in Redis.
 *
 * The record is one line of words under the request's id in the hash of orders. It holds
 * everything that the buyer was told, so that a retry is answered with the very same body:
 *
 *     <number> <user> <quantity> <remaining> <fence> <instance> <time_us>
 *
 * Two markers can stand in a record's place. ORDER_VOID: somebody was told that this request
 * never became an order, so now it must not. ORDER_PASSED: this segment of a sharded sale had
 * too little for the request, which went on to the next; it must not come back for less.
 */
#ifndef FLASHSALE_ORDER_H
#define FLASHSALE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identifiers (items, users, request ids, sale ids) are 1..64 of [A-Za-z0-9_-]. */
#define IDENT_MAX    64
#define RECORD_MAX   320
#define ORDER_VOID   "-"
#define ORDER_PASSED ">"

typedef struct fs_order {
    int64_t number; /* 1, 2, 3 ... in the order of the ledger of its shelf */
    char user[IDENT_MAX + 1];
    int64_t quantity;
    int64_t remaining; /* units left right after it */
    uint64_t fence;    /* of the lock it was sold under; 0 = none */
    char instance[IDENT_MAX + 1];
    int64_t time_us; /* Unix time by Redis's clock */
} fs_order;

/* Whether text[0..len) is an identifier. */
bool ident_ok(const char *text, size_t len);

/* Reads a record; false when it is none (a marker, or damaged). */
bool order_read(const char *record, size_t len, fs_order *ret);

#endif
