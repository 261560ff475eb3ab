/*
 * text.h - a growing text for replies and log lines; and the rules for identifiers.
 *
 * Short texts are kept in the struct, without an allocation. When memory runs out, the text is
 * truncated and `failed` is set.
 */
#ifndef FLASHSALE_TEXT_H
#define FLASHSALE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_INLINE 1024

typedef struct fs_text {
    char *bytes; /* `here` while that is large enough */
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

/* `words`, after a comma unless an object or array has just begun. */
void text_next(fs_text *text, const char *words);

/* A member of a JSON object: a string, raw JSON, or else a number. */
typedef struct text_member {
    const char *name, *string, *json;
    int64_t number;
} text_member;

#define STRING(name, words)  ((text_member){name, words, NULL, 0})
#define NUMBER(name, number) ((text_member){name, NULL, NULL, number})
#define FLAG(name, is)       ((text_member){name, NULL, (is) ? "true" : "false", 0})
#define AS_IS(name, json)    ((text_member){name, NULL, json, 0}) /* or the beginning of a value */

/* Members, with commas between them, and before the first if need be. */
#define text_put(text, ...) text_put_each(text, (const text_member[]){__VA_ARGS__, {0}})
void text_put_each(fs_text *text, const text_member *members);

/* Several words, where printf would cost too much. */
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

/* Takes the next word from a text of words separated by one blank, which ends at `end`; or the next
 * word as such a number. False: there is none, or it does not fit. */
bool text_take_word(const char **text, const char *end, char *ret, size_t ret_len);
bool text_take_number(const char **text, const char *end, int64_t *ret);

/* Finds the line "NAME:VALUE" in a text such as INFO's. False and "": no value, or too long. */
bool text_line_value(const char *lines, const char *name, char *ret, size_t ret_len);

/* FNV-1a of 32 and of 64 bits, the same in every version; chosen texts can be made to collide. */
uint32_t text_hash(const char *text);
uint64_t text_hash_64(const char *text);

/* Whether text[0..len) is an identifier (of an item, request or sale), [A-Za-z0-9_-]{1,64}. */
#define IDENT_MAX 64
bool ident_ok(const char *text, size_t len);

/* Whether it is a user, [A-Za-z0-9._%+@-]{1,128}: like e-mail addresses, but without blanks, quotes
 * and braces, because a user is a word of a record, a field of a hash and a part of a key. */
#define USER_MAX 128
bool user_ok(const char *text, size_t len);

#endif
