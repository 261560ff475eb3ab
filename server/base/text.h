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
#include <stdint.h>

#define TEXT_INLINE 1024

typedef struct fs_text {
    char *bytes; /* `here`, as long as that is enough */
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
void text_add_int(fs_text *text, int64_t number);
void text_add_bytes(fs_text *text, const void *bytes, size_t len);
void text_printf(fs_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `words` as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void text_json(fs_text *text, const char *words);

/* `words`, with a comma before them unless an object or array has just begun. */
void text_next(fs_text *text, const char *words);

/* A member of a JSON object: a string, what stands in JSON as it is, or else a number. */
typedef struct text_member {
    const char *name, *string, *json;
    int64_t number;
} text_member;

#define STRING(name, words)                                                                        \
    {                                                                                              \
        name, words, NULL, 0                                                                       \
    }
#define NUMBER(name, number)                                                                       \
    {                                                                                              \
        name, NULL, NULL, number                                                                   \
    }
#define FLAG(name, is)                                                                             \
    {                                                                                              \
        name, NULL, (is) ? "true" : "false", 0                                                     \
    }
#define AS_IS(name, json)                                                                          \
    {                                                                                              \
        name, NULL, json, 0                                                                        \
    } /* or the beginning of a value */

/* Members, with the commas between them and before the first. */
#define text_put(text, ...) text_put_each(text, (const text_member[]){__VA_ARGS__, {0}})
void text_put_each(fs_text *text, const text_member *members);

/* Several words one after the other: for what is written for every buyer, where printf would cost
 * more than all the rest. */
#define text_add_all(text, ...) text_add_each(text, (const char *const[]){__VA_ARGS__, NULL})
void text_add_each(fs_text *text, const char *const *words);

/* bytes[0..len) as lower-case hexadecimal digits, and a NUL. */
void text_hex(const unsigned char *bytes, size_t len, char *ret);

/* Decodes from[0..len), percent-encoded, with `plus_is_blank` as in a query. False: a malformed
 * %XX, a NUL, or more than ret_len - 1 characters. */
bool text_percent_decode(const char *from, size_t len, bool plus_is_blank, char *ret,
                         size_t ret_len);

/* Reads text[0..len) if it is a number from 0 to 10^18 - 1 as Redis writes it: no sign, blank,
 * leading zero or point. */
bool decimal_read(const char *text, size_t len, int64_t *ret);

/* Finds the line "NAME:VALUE" in a text such as INFO's. False, and "": there is none, or its value
 * does not fit, or is empty. */
bool text_line_value(const char *lines, const char *name, char *ret, size_t ret_len);

/* FNV-1a, of 32 and of 64 bits: the same in every process and version. Who picks the texts can make
 * their hashes agree. */
uint32_t text_hash(const char *text);
uint64_t text_hash_64(const char *text);

/* Identifiers (items, request ids, sale ids) are 1..64 of [A-Za-z0-9_-]. */
#define IDENT_MAX 64

/* Whether text[0..len) is an identifier. */
bool ident_ok(const char *text, size_t len);

/* Users are 1..128 of what e-mail addresses have: [A-Za-z0-9._%+@-]. No blank, quote or brace, for
 * a user is a word of a record, a field of a hash and a part of a key. */
#define USER_MAX 128

bool user_ok(const char *text, size_t len);

#endif
