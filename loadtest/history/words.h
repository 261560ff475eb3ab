/*
 * words.h - the kinds of lines, and the structure that each kind fills.
 */
#ifndef LOADTEST_WORDS_H
#define LOADTEST_WORDS_H

#include "loadtest/history/lines.h"

typedef enum lt_word {
    WORD_ASK,
    WORD_ORDER,
    WORD_LOOK, /* and what ends an order, as lt_ending has it */
    WORD_CONFIRM,
    WORD_CANCEL,
    WORD_STOCK,
    WORD_LOCK,
    WORD_STRANGER,
    WORD_FAULT,
    WORD_HEAL,
    WORD_AUDIT,
    WORD_REST,
    WORD_LEFT,
    WORD_DOUBT,
    WORD_LANDED,
    WORD_SALE,
    WORD_END,
    WORDS
} lt_word;

typedef struct lt_landed {
    int64_t line, count;
} lt_landed;

typedef struct lt_end {
    int64_t line;
    lt_text truncated;
} lt_end;

/* The structure of any line. Each begins with the line's number in the file. */
typedef union lt_line {
    int64_t number;
    lt_ask ask;
    lt_order order;
    lt_look look;
    lt_stock_line stock;
    lt_lock_line lock;
    lt_stranger stranger;
    lt_turn turn;
    lt_audit_line audit;
    lt_rest rest;
    lt_left left;
    lt_doubt doubt;
    lt_landed landed;
    lt_sale_line sale;
    lt_end end;
} lt_line;

typedef struct lt_word_form {
    const char *name;
    size_t size; /* of the structure */
    size_t fields_len;
    const lt_field *fields;
} lt_word_form;

extern const lt_word_form word_forms[WORDS];

/* WORDS: no such word. */
lt_word word_of(const char *name);

/* Checks what only all members together show. NULL, or a sentence on why the line makes no
 * sense. */
const char *word_check(lt_word word, lt_line *line);

#endif
