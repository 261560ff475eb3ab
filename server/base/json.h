/*
 * json.h - reads a flat JSON object strictly. It refuses anything after the object, NUL bytes,
 * unknown or repeated members, names in another case, numbers with more than digits (1.0, 1e0) or
 * out of range, values of another type, and nesting.
 */
#ifndef FLASHSALE_JSON_H
#define FLASHSALE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest integer that every JSON program reads exactly: 2^53 - 1. */
#define JSON_INT_MAX INT64_C(9007199254740991)

typedef struct json_field {
    const char *name;
    char *text;          /* a string goes here ... */
    size_t text_len;     /* ... of so many bytes, with its NUL */
    int64_t *number;     /* or an integer here ... */
    int64_t least, most; /* ... within these */
    bool found;          /* set by json_read() */
} json_field;

typedef enum json_fault {
    JSON_FINE = 0,
    JSON_NOT_OBJECT, /* the body is not one flat object */
    JSON_UNKNOWN,    /* an unknown member */
    JSON_REPEATED,   /* a repeated member */
    JSON_BAD_VALUE   /* a value of another type, form or size */
} json_fault;

/* Reads body[0..len) into the fields; the last one has no name. On a fault err gets a sentence that
 * names the member; the targets may have been written. */
json_fault json_read(const char *body, size_t len, json_field *fields, char *err, size_t err_len);

/* Called for each member in turn, with a string, or a number as decimal digits. NULL stands for any
 * other value; also for every number, if one in the object has more than digits. False ends the
 * reading. */
typedef bool json_member(void *arg, const char *name, const char *value, bool number);

/* Reads the object body[0..len) member by member. False: not an object, or `each` ended it. */
bool json_each(const char *body, size_t len, json_member *each, void *arg);

#endif
