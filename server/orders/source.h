/*
 * source.h - asks the instances for orders, by HTTP as the admin; if one does not answer, the next.
 *
 * For one thread.
 */
#ifndef FLASHSALE_ORDERS_SOURCE_H
#define FLASHSALE_ORDERS_SOURCE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct source source;

/* `urls`: of instances, separated by commas (copied); `token` "" = none. NULL and a sentence in
 * err. */
source *source_new(const char *urls, const char *token, char *err, size_t err_len);
void source_free(source *from);

/* What an instance has answered. */
typedef struct answer {
    long status;
    char *body;  /* (borrowed) until the next question; no NUL is in it */
    cJSON *json; /* an object; to be deleted */
} answer;

/* Asks for this path, with its query. If an instance does not answer, answers 5xx, 401, 403 or 429,
 * or does not know the path, the next one is asked, each once. False: no other answer came, and
 * source_error() describes the last one. */
bool source_get(source *from, const char *path, answer *ret);

/* (borrowed) */
const char *source_error(const source *from);

/* A member's text or number; NULL and 0 if there is none. */
const char *answer_text(const answer *from, const char *name);
double answer_number(const answer *from, const char *name);
bool answer_is(const answer *from, const char *name);

#endif
