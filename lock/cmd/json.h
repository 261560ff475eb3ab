/*
 * json.h - writes JSON as it goes: commas, indentation and escapes are kept right here.
 *
 *     struct json json = {.file = stdout};
 *     json_open(&json, NULL, '{');
 *     json_text(&json, "kind", "fair");
 *     json_close(&json, '}');
 *
 * `key` is NULL for the document itself and for elements of arrays. Write errors show at the end,
 * in ferror(file).
 */
#ifndef DLOCK_CMD_JSON_H
#define DLOCK_CMD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *file;
    int depth;
    bool comma; /* a value stands before the next one on this level */
};

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

void json_text(struct json *json, const char *key, const char *text); /* bytes taken as UTF-8 */
void json_int(struct json *json, const char *key, int64_t number);
void json_bool(struct json *json, const char *key, bool value);

/* With so many decimals; null when it is not a finite number. */
void json_number(struct json *json, const char *key, double number, int decimals);

#endif
