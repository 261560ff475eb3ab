/* text.c - growing, formatting, escaping. */
#include "server/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_init(fs_text *text)
{
    text->bytes = text->here;
    text->len = 0;
    text->cap = TEXT_INLINE;
    text->failed = false;
    text->here[0] = '\0';
}

void text_free(fs_text *text)
{
    if (text->bytes != text->here)
        free(text->bytes);
    text_init(text);
}

void text_clear(fs_text *text)
{
    text->len = 0;
    text->failed = false;
    text->bytes[0] = '\0';
}

const char *text_bytes(const fs_text *text)
{
    return text->bytes;
}

/* Makes room for `need` characters. */
static bool grow(fs_text *text, size_t need)
{
    size_t cap = text->cap * 2 > need ? text->cap * 2 : need;
    char *grown = realloc(text->bytes == text->here ? NULL : text->bytes, cap);
    if (!grown) {
        text->failed = true;
        return false;
    }
    if (text->bytes == text->here)
        memcpy(grown, text->here, text->len + 1);
    text->bytes = grown;
    text->cap = cap;
    return true;
}

void text_add_bytes(fs_text *text, const void *bytes, size_t len)
{
    size_t need = text->len + len + 1;
    if (need > text->cap && !grow(text, need))
        return;
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}

void text_add(fs_text *text, const char *words)
{
    text_add_bytes(text, words, strlen(words));
}

void text_add_each(fs_text *text, const char *const *words)
{
    for (; *words; words++)
        text_add(text, *words);
}

void text_add_int(fs_text *text, int64_t number)
{
    char digits[24];
    char *first = digits + sizeof(digits);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--first = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--first = '-';
    text_add_bytes(text, first, (size_t)(digits + sizeof(digits) - first));
}

void text_printf(fs_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text->bytes + text->len, text->cap - text->len, format, args);
    va_end(args);
    if (len < 0)
        return;
    size_t need = text->len + (size_t)len + 1;
    if (need > text->cap) {
        text->bytes[text->len] = '\0';
        if (!grow(text, need))
            return;
        va_start(args, format);
        vsnprintf(text->bytes + text->len, text->cap - text->len, format, args);
        va_end(args);
    }
    text->len += (size_t)len;
}

/* The length of the UTF-8 character at s, or 0 when there is none. */
static size_t utf8_len(const unsigned char *s)
{
    size_t len = s[0] < 0x80                    ? 1
                 : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
                 : (s[0] & 0xf0) == 0xe0        ? 3
                 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                : 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f;
    bool beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return len > 1 && (overlong || surrogate || beyond) ? 0 : len;
}

void text_json(fs_text *text, const char *words)
{
    const unsigned char *s = (const unsigned char *)words;
    text_add(text, "\"");
    while (*s != '\0') {
        size_t len = utf8_len(s);
        if (len == 0)
            text_add(text, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            text_printf(text, "\\%c", *s);
        else if (*s < 0x20)
            text_printf(text, "\\u%04x", *s);
        else
            text_add_bytes(text, s, len);
        s += len > 0 ? len : 1;
    }
    text_add(text, "\"");
}

void text_next(fs_text *text, const char *words)
{
    if (text->len > 0 && !strchr("{[", text->bytes[text->len - 1]))
        text_add(text, ",");
    text_add(text, words);
}

void text_put_each(fs_text *text, const text_member *members)
{
    for (; members->name; members++) {
        text_next(text, "\"");
        text_add_all(text, members->name, "\":", members->json ? members->json : "");
        if (members->string)
            text_json(text, members->string);
        else if (!members->json)
            text_add_int(text, members->number);
    }
}

void text_hex(const unsigned char *bytes, size_t len, char *ret)
{
    for (size_t i = 0; i < 2 * len; i++)
        ret[i] = "0123456789abcdef"[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15];
    ret[2 * len] = '\0';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool text_percent_decode(const char *from, size_t len, bool plus_is_blank, char *ret,
                         size_t ret_len)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++) {
        char c = plus_is_blank && from[i] == '+' ? ' ' : from[i];
        if (c == '%') {
            if (len - i < 3 || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0)
                return false;
            c = (char)(hex(from[i + 1]) * 16 + hex(from[i + 2]));
            i += 2;
        }
        if (c == '\0' || out + 1 >= ret_len)
            return false;
        ret[out++] = c;
    }
    ret[out] = '\0';
    return true;
}

bool decimal_read(const char *text, size_t len, int64_t *ret)
{
    int64_t value = 0;
    if (len == 0 || len > 18 || (len > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret = value;
    return true;
}

bool text_take_word(const char **text, const char *end, char *ret, size_t ret_len)
{
    const char *from = *text;
    const char *to = memchr(from, ' ', (size_t)(end - from));
    if (!to)
        to = end;
    size_t len = (size_t)(to - from);
    if (len == 0 || len >= ret_len || memchr(from, '\0', len))
        return false;
    memcpy(ret, from, len);
    ret[len] = '\0';
    *text = to < end ? to + 1 : end;
    return true;
}

bool text_take_number(const char **text, const char *end, int64_t *ret)
{
    char word[24];
    return text_take_word(text, end, word, sizeof(word)) && decimal_read(word, strlen(word), ret);
}

bool text_line_value(const char *lines, const char *name, char *ret, size_t ret_len)
{
    size_t name_len = strlen(name), len = 0;
    for (const char *line = lines; line && len == 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_len) != 0 || line[name_len] != ':')
            continue;
        line += name_len + 1;
        len = strcspn(line, "\r\n");
        snprintf(ret, ret_len, "%.*s", len < ret_len ? (int)len : 0, line);
    }
    if (len == 0)
        ret[0] = '\0';
    return ret[0] != '\0';
}

uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

uint64_t text_hash_64(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* Whether text[0..len) is 1..most letters, digits and characters of `more`. */
static bool consists_of(const char *text, size_t len, size_t most, const char *more)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && (c == '\0' || !strchr(more, c)))
            return false;
    }
    return len > 0 && len <= most;
}

bool ident_ok(const char *text, size_t len)
{
    return consists_of(text, len, IDENT_MAX, "_-");
}

bool user_ok(const char *text, size_t len)
{
    return consists_of(text, len, USER_MAX, "._%+@-");
}
