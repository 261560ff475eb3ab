/*
 * lines.h - the structures of a history's lines in memory; format.h says what they mean.
 */
#ifndef LOADTEST_LINES_H
#define LOADTEST_LINES_H

#include "loadtest/history/line.h"

#define NEVER INT64_MAX /* of a time */

/* Numbers are UNKNOWN and texts TEXT_NONE where the line has "-" or nothing. `line` is the
 * line's number in the file and always the first member. */
typedef struct lt_sale_line {
    int64_t line;
    lt_text id, item, strategy, durability;
    int64_t stock, limit, segments, lease_us;
    int64_t reserve_us;
    int64_t wait_us, guarded, fences, failovers, wall_us, at_us; /* guarded, fences: by the
                                                                    strategy if left out */
} lt_sale_line;

/* What an answer, or the ledger, says of an order. */
typedef struct lt_told {
    lt_text order, request, item, user, sale, instance, state;
    int64_t quantity, remaining, fence, time_us, expires_us;
} lt_told;

typedef struct lt_ask {
    int64_t line;
    int64_t from_us, to_us; /* to: NEVER = it did not end */
    lt_text request_name, user, target, asked, code, location, body, unread;
    int64_t quantity, status, sent, replayed, keyed, not_after_us;
    int64_t reserve_us; /* the sale's, if it does not say one */
    lt_told told;
    uint32_t request, answer; /* found out by the judge */
} lt_ask;

/* What ends a reserved order; the answer is recorded like a lookup. */
typedef enum lt_ending { ENDING_NONE, ENDING_CONFIRM, ENDING_CANCEL, ENDINGS } lt_ending;

typedef struct lt_look {
    int64_t line;
    int64_t from_us, to_us;
    lt_text request_name, target, asked, code, body, unread;
    int64_t status, final, not_after_us;
    lt_told told;
    uint32_t request; /* found out by the judge */
    lt_ending ending; /* by the line's word */
} lt_look;

typedef struct lt_stock_line {
    int64_t line;
    int64_t at_us, from_us, to_us; /* at becomes from and to */
    int64_t segment, status, remaining, units, orders, initial;
    int64_t oversold, lost_updates, unordered, lost_orders, reserved, sold, time_us;
    lt_text target, source, strategy, sale, halted;
} lt_stock_line;

typedef struct lt_lock_line {
    int64_t line;
    int64_t at_us, fence;
    lt_text key, owner; /* owner NONE: nobody */
} lt_lock_line;

typedef struct lt_stranger {
    int64_t line;
    int64_t from_us, to_us, kept;
} lt_stranger;

/* A fault, or a heal. */
typedef struct lt_turn {
    int64_t line;
    int64_t at_us, clocks;
    lt_text name;
    bool heal;
} lt_turn;

typedef struct lt_order {
    int64_t line;
    int64_t number, segment, audit;
    lt_told told;
    uint32_t request, next; /* found out by the judge: of the same request and audit */
} lt_order;

typedef struct lt_audit_line {
    int64_t line;
    int64_t n, from_us, to_us, status;
    lt_text target, why;
} lt_audit_line;

typedef struct lt_rest {
    int64_t line;
    int64_t remaining, segment;
} lt_rest;

typedef struct lt_left {
    int64_t line;
    int64_t locks, waiters, threads, descriptors;
} lt_left;

typedef struct lt_doubt {
    int64_t line;
    lt_text why;
} lt_doubt;

#endif
