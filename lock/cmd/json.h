/*
 * Writes JSON as it goes: commas, indentation and escapes are kept right here.
 *
 *     json_writer json = {.file = stdout};
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

typedef struct json_writer {
    FILE *file;
    int depth;
    bool comma; /* a value stands before the next one on this level */
} json_writer;

void json_open(json_writer *json, const char *key, char bracket);
void json_close(json_writer *json, char bracket);

void json_text(json_writer *json, const char *key, const char *text); /* bytes taken as UTF-8 */
void json_int(json_writer *json, const char *key, int64_t number);
void json_bool(json_writer *json, const char *key, bool value);

/* With so many decimals; null when it is not a finite number. */
void json_number(json_writer *json, const char *key, double number, int decimals);

#endif
