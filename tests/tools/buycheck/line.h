/*
 * line.h - one line of a history: a word, and members NAME=VALUE that go into the fields of a
 * structure.
 */
#ifndef BUYCHECK_LINE_H
#define BUYCHECK_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum bc_kind {
    KIND_TEXT,   /* const char *: what "-" is not, and has no blank */
    KIND_TIME,   /* all others int64_t */
    KIND_UNITS,  /* 0 .. BUYS_UNITS_MAX */
    KIND_SIGNED, /* -BUYS_UNITS_MAX .. BUYS_UNITS_MAX */
    KIND_NUMBER, /* 0 .. BUYS_NUMBER_MAX */
    KIND_FLAG    /* 0, 1 */
} bc_kind;

typedef enum bc_need {
    NEED_NONE,   /* may be left out, or "-" */
    NEED_MEMBER, /* must stand there, perhaps as "-" */
    NEED_VALUE   /* and not as "-" */
} bc_need;

typedef struct bc_field {
    const char *name;
    bc_kind kind;
    bc_need need;
    size_t offset; /* in the structure */
} bc_field;

#define FIELDS_MAX 16

/* Reads the members behind the word into the structure, whose fields become UNKNOWN or NULL where
 * nothing is said. Changes the text, which texts then point into. False with a sentence. */
bool line_read(char *members, const bc_field *fields, size_t fields_len, void *ret, char *err,
               size_t err_len);

#endif
