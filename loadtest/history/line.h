/*
 * line.h - one line of a history: a word, and members NAME=VALUE that fill the fields of a
 * structure.
 */
#ifndef LOADTEST_LINE_H
#define LOADTEST_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loadtest/history/texts.h"

#define UNKNOWN INT64_MIN       /* a number that was left out */
#define UNFIT   (INT64_MIN + 1) /* told, but not as a number */

typedef enum lt_kind {
    KIND_TEXT,   /* lt_text */
    KIND_TIME,   /* all others int64_t */
    KIND_UNITS,  /* 0 .. HISTORY_UNITS_MAX */
    KIND_SIGNED, /* -HISTORY_UNITS_MAX .. HISTORY_UNITS_MAX */
    KIND_NUMBER, /* 0 .. HISTORY_NUMBER_MAX */
    KIND_FLAG    /* 0, 1 */
} lt_kind;

typedef enum lt_need {
    NEED_NONE,   /* may be left out, or "-" */
    NEED_TOLD,   /* and may be "?" */
    NEED_MEMBER, /* must stand there, perhaps as "-" */
    NEED_BOOK,   /* must stand there, perhaps as "?" */
    NEED_VALUE   /* must stand there, and not as either */
} lt_need;

typedef struct lt_field {
    const char *name;
    lt_kind kind;
    lt_need need;
    size_t offset; /* in the structure */
} lt_field;

#define FIELDS_MAX 32

/* Whether a number was told. */
static inline bool known(int64_t number)
{
    return number > UNFIT;
}

/* Reads the members after the word into the structure; fields without a member become UNKNOWN or
 * TEXT_NONE. Changes `members`. False, with a sentence. */
bool line_read(char *members, const lt_field *fields, size_t fields_len, lt_texts *texts, void *ret,
               char *err, size_t err_len);

#endif
