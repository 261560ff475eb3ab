/*
 * text.h - a growing text for replies and log lines; and what an identifier is.
 *
 * Short texts live in the struct and cost no allocation. Running out of memory truncates and is
 * remembered in `failed`.
 */
#ifndef FLASHSALE_TEXT_H
#define FLASHSALE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_INLINE 1024

typedef struct fs_text {
    char *grown; /* NULL while `here` is enough */
    size_t len, cap;
    bool failed;
    char here[TEXT_INLINE];
} fs_text;

void text_init(fs_text *text);
void text_free(fs_text *text);
void text_clear(fs_text *text); /* empties it and keeps the memory */

/* The characters, NUL-terminated. (borrowed) Moves when the text grows. */
const char *text_bytes(const fs_text *text);

void text_add(fs_text *text, const char *words);
void text_add_bytes(fs_text *text, const void *bytes, size_t len);
void text_printf(fs_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `words` as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void text_json(fs_text *text, const char *words);

/* Identifiers (items, users, request ids, sale ids) are 1..64 of [A-Za-z0-9_-]. */
#define IDENT_MAX 64

/* Whether text[0..len) is an identifier. */
bool ident_ok(const char *text, size_t len);

#endif
