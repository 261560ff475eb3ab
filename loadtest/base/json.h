/*
 * json.h - reads answers in JSON: any valid JSON is read, and each member is classified as absent,
 * of its form, or of another form.
 *
 * A whole number keeps all its digits: an order's id may have 64 bits, and ids that differ in the
 * last digit are different. 99.0 is 99.
 */
#ifndef LOADTEST_JSON_H
#define LOADTEST_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses one JSON value with nothing after it; free it with cJSON_Delete(). NULL when it is not
 * JSON, or a text contains a NUL. */
cJSON *json_parse(const char *text, size_t length);

typedef enum lt_form {
    FORM_ABSENT, /* not there, or null */
    FORM_GOOD,
    FORM_OTHER, /* of another type, too long, beyond 2^53 */
    FORM_TWICE  /* more than once in its object */
} lt_form;

typedef struct lt_text {
    lt_form form;
    char text[136]; /* "" unless FORM_GOOD */
} lt_text;

typedef struct lt_whole {
    lt_form form;
    int64_t value; /* 0 unless FORM_GOOD */
} lt_whole;

/* A member of an object (NULL: of none). */
lt_text json_read_text(const cJSON *object, const char *name);
lt_whole json_read_whole(const cJSON *object, const char *name);

/* A text, or a number by its digits: an identifier. */
lt_text json_read_id(const cJSON *object, const char *name);

/* Whether the member is there and true. */
bool json_is_true(const cJSON *object, const char *name);

#endif
