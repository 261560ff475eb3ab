/*
 * history.h - one history in memory: its lines as format.h describes them.
 *
 * It is read as a stream, and each text is stored once. A request that was sent once and got an
 * order takes about 700 bytes: 168 its attempt, 112 its entry in the ledger, 184 what is known of
 * it, the rest its texts and what the checks sort.
 */
#ifndef LOADTEST_HISTORY_H
#define LOADTEST_HISTORY_H

#include <stdio.h>

#include "loadtest/history/format.h"
#include "loadtest/history/lines.h"
#include "loadtest/history/texts.h"

typedef struct lt_history {
    lt_texts texts;
    lt_sale_line sale;
    lt_ask *asks;
    lt_look *looks;
    lt_stock_line *stocks;
    lt_lock_line *locks;
    lt_stranger *strangers;
    lt_turn *turns;
    lt_order *orders;
    lt_audit_line *audits;
    lt_rest *rests;
    lt_left *lefts;
    lt_doubt *doubts;
    size_t asks_len, looks_len, stocks_len, locks_len, strangers_len, turns_len, orders_len,
        audits_len, rests_len, lefts_len, doubts_len;
    int64_t landed;
    char cut[128]; /* why it is incomplete; "" = it is whole */
} lt_history;

/* Each element of an array whose length is beside it: EACH(const lt_ask, ask, h->asks). */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a name can not stand in parentheses */
#define EACH(type, each, array)                                                                    \
    for (type *each = (array); each && each < (array) + array##_len; each++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Reads a history. False with a sentence in err that begins with the path; the history is to be
 * released in both cases. */
bool history_read(lt_history *ret, const char *path, char *err, size_t err_len);

/* The same for an open file. */
bool history_parse(lt_history *ret, const char *path, FILE *file, char *err, size_t err_len);

void history_release(lt_history *history);

/* The text of a number, "-" where there is none. */
const char *history_text(const lt_history *history, lt_text text);

/* Segments of the stock: 1 unless the sale is sharded. */
size_t history_segments(const lt_history *history);

#endif
