/*
 * history.h - one history of buys in memory: its lines as event.h describes them, and what they
 * say together of each request.
 */
#ifndef BUYCHECK_HISTORY_H
#define BUYCHECK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/buycheck/event.h"
#include "tests/tools/buycheck/names.h"

#define UNKNOWN    INT64_MIN /* of a number that was left out */
#define NEVER      INT64_MAX /* of a time */
#define NO_ELEMENT SIZE_MAX

/* Numbers are UNKNOWN, texts are NULL, where the line has "-" or nothing. `line` is its number in
 * the file, and comes first in all. */
typedef struct bc_sale {
    int64_t line;
    const char *id, *item, *strategy, *durability;
    int64_t stock, limit, segments, lease_us, fences;
} bc_sale;

typedef enum bc_answer {
    ANSWER_YES,
    ANSWER_NEVER, /* no, for good */
    ANSWER_NO,    /* no, of this attempt */
    ANSWER_UNKNOWN,
    ANSWER_ELSEWHERE /* of another sale */
} bc_answer;

typedef struct bc_ask {
    int64_t line;
    int64_t from_us, to_us; /* to: NEVER = it did not end */
    const char *request_name, *user_name, *code, *order, *sale, *instance;
    int64_t quantity, status, remaining, fence;
    /* found out: */
    bc_answer answer;
    size_t request, user;
    int64_t segment, number; /* of `order`; UNKNOWN: not told; number -1: it makes no sense */
} bc_ask;

typedef struct bc_look {
    int64_t line;
    int64_t from_us, to_us;
    const char *request_name, *order, *user_name;
    int64_t status, found, final, quantity;
    size_t request;
    int64_t segment, number;
} bc_look;

typedef struct bc_stock {
    int64_t line;
    int64_t at_us, from_us, to_us; /* at becomes from and to */
    int64_t remaining, units, segment, oversold;
    const char *source;
} bc_stock;

typedef struct bc_lock {
    int64_t line;
    int64_t at_us, fence;
    const char *key, *owner; /* owner NULL: nobody */
} bc_lock;

typedef struct bc_stranger {
    int64_t line;
    int64_t from_us, to_us, kept;
} bc_stranger;

/* A fault, or a heal. */
typedef struct bc_turn {
    int64_t line;
    int64_t at_us;
    const char *name;
    bool heal;
} bc_turn;

typedef struct bc_order {
    int64_t line;
    int64_t number, quantity, fence, segment, remaining;
    const char *request_name, *user_name, *instance;
    size_t request, user;
    size_t next; /* of the same request; NO_ELEMENT */
} bc_order;

typedef struct bc_rest {
    int64_t line;
    int64_t remaining, segment;
} bc_rest;

typedef struct bc_left {
    int64_t line;
    int64_t locks, waiters, threads, descriptors;
} bc_left;

typedef enum bc_verdict { BOUGHT_UNRESOLVED, BOUGHT_YES, BOUGHT_NO, BOUGHT_ELSEWHERE } bc_verdict;

/* What all attempts, looks and orders of one request id come to. Elements: NO_ELEMENT = none. */
typedef struct bc_request {
    bc_verdict verdict;
    size_t attempts;     /* to buy in this sale */
    size_t unknown;      /* of these: nobody knows */
    size_t ask;          /* the first */
    size_t yes, never;   /* the first ask that was told so */
    size_t found, final; /* the first look that said so */
    size_t order;        /* its first in the ledger */
    size_t orders;
    int64_t first_us;   /* its first attempt began */
    int64_t known_us;   /* the first yes was there, by an ask or a look; NEVER */
    int64_t looked_us;  /* the first look began; NEVER */
    int64_t not_yet_us; /* the last look that said "not yet" began; UNKNOWN */
    int64_t quantity;   /* of the yes, else of the first ask */
    bool refused;       /* an attempt failed, or there were too few units, or the lock was busy */
} bc_request;

typedef struct bc_history {
    const char *path; /* (borrowed) */
    char *text;       /* that all texts point into */
    bc_sale sale;
    bc_ask *asks;
    bc_look *looks;
    bc_stock *stocks;
    bc_lock *locks;
    bc_stranger *strangers;
    bc_turn *turns;
    bc_order *orders;
    bc_rest *rests;
    bc_left *lefts;
    size_t asks_len, looks_len, stocks_len, locks_len, strangers_len, turns_len, orders_len,
        rests_len, lefts_len;
    int64_t landed;
    bc_names request_names, user_names;
    bc_request *requests; /* by the number of their names */
    bool has_ledger;      /* the orders and the rest of all segments are there */
} bc_history;

/* Reads a history from `text`, which it takes over and changes: malloc()ed, `len` bytes and a NUL.
 * False with a sentence in err; the history is to be freed in both cases. */
bool history_parse(bc_history *ret, const char *path, char *text, size_t len, char *err,
                   size_t err_len);

/* The same from a file. */
bool history_read(bc_history *ret, const char *path, char *err, size_t err_len);

void history_free(bc_history *history);

/* What is known of each request. The last step of reading. */
void history_collect(bc_history *history);

/* Segments of the ledger: 1 unless the sale is sharded. */
size_t history_segments(const bc_history *history);

#endif
