/*
 * words.h - what kinds of lines there are, and the structure that each goes into.
 */
#ifndef BUYCHECK_WORDS_H
#define BUYCHECK_WORDS_H

#include "tests/tools/buycheck/history.h"
#include "tests/tools/buycheck/line.h"

typedef enum bc_word {
    WORD_ASK,
    WORD_ORDER,
    WORD_LOOK,
    WORD_STOCK,
    WORD_LOCK,
    WORD_STRANGER,
    WORD_FAULT,
    WORD_HEAL,
    WORD_REST,
    WORD_LEFT,
    WORD_LANDED,
    WORD_SALE,
    WORDS
} bc_word;

typedef struct bc_landed {
    int64_t line, count;
} bc_landed;

/* The structure of any line. Each begins with the line's number in the file. */
typedef union bc_line {
    int64_t number;
    bc_ask ask;
    bc_order order;
    bc_look look;
    bc_stock stock;
    bc_lock lock;
    bc_stranger stranger;
    bc_turn turn;
    bc_rest rest;
    bc_left left;
    bc_landed landed;
    bc_sale sale;
} bc_line;

typedef struct bc_word_form {
    const char *name;
    size_t size; /* of the structure */
    size_t fields_len;
    const bc_field *fields;
} bc_word_form;

extern const bc_word_form word_forms[WORDS];

/* WORDS: there is none of this name. */
bc_word word_of(const char *name);

/* What can only be seen of all members together. NULL, or a sentence on why it makes no sense. */
const char *word_check(bc_word word, bc_line *line);

#endif
