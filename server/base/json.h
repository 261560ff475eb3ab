/*
 * json.h - reading a flat JSON object strictly. Refused: anything behind the object, NUL bytes,
 * members that are not asked for or come twice, names in another case, numbers that are not digits
 * alone (1.0, 1e0) or out of range, values of another type, nesting.
 */
#ifndef FLASHSALE_JSON_H
#define FLASHSALE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest integer that every JSON program reads as it is written: 2^53 - 1. */
#define JSON_INT_MAX INT64_C(9007199254740991)

typedef struct json_field {
    const char *name;
    char *text;          /* a string goes here ... */
    size_t text_len;     /* ... with its NUL in so many bytes */
    int64_t *number;     /* or an integer here ... */
    int64_t least, most; /* ... within these */
    bool found;          /* set by json_read() */
} json_field;

typedef enum json_fault {
    JSON_FINE = 0,
    JSON_NOT_OBJECT, /* the body is not one flat object */
    JSON_UNKNOWN,    /* a member that is not asked for */
    JSON_REPEATED,   /* one that came before */
    JSON_BAD_VALUE   /* a value of another type, form or size */
} json_fault;

/* Reads body[0..len) into the fields, the last of which has no name. On a fault there is a sentence
 * in err that names the member; the targets may then have been written. */
json_fault json_read(const char *body, size_t len, json_field *fields, char *err, size_t err_len);

/* Called for each member in turn: a string, or a number as decimal digits; NULL for anything else,
 * and for every number where one in the object is not digits alone. False ends the reading. */
typedef bool json_member(void *arg, const char *name, const char *value, bool number);

/* Reads the object body[0..len) member by member. False: it is none, or `each` ended it. */
bool json_each(const char *body, size_t len, json_member *each, void *arg);

#endif
