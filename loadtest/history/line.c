/* line.c - reads a line strictly: anything that is not described makes it unreadable, because a
 * misspelt member would otherwise look like something that was never seen. */
#include "loadtest/history/line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadtest/history/format.h"

static bool read_number(lt_kind kind, const char *text, int64_t *ret)
{
    static const int64_t most[] = {[KIND_TIME] = HISTORY_TIME_MAX,
                                   [KIND_UNITS] = HISTORY_UNITS_MAX,
                                   [KIND_SIGNED] = HISTORY_UNITS_MAX,
                                   [KIND_NUMBER] = HISTORY_NUMBER_MAX,
                                   [KIND_FLAG] = 1};
    const char *digits = text + (kind == KIND_SIGNED && text[0] == '-');
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || digits[len] != '\0')
        return false;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (errno != 0 || number > most[kind] || number < -most[kind])
        return false;
    *ret = number;
    return true;
}

/* 0 to 15; -1. */
static int hex(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Undoes %HH in place. */
static bool unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; text++, to++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c == 127)
            return false;
        *to = *text;
        if (c != '%')
            continue;
        int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to = (char)(high * 16 + low);
        text += 2;
    }
    *to = '\0';
    return true;
}

static bool put_value(const lt_field *field, char *value, lt_texts *texts, void *ret)
{
    char *at = (char *)ret + field->offset;
    bool unfit = strcmp(value, "?") == 0;
    if (unfit && field->need != NEED_TOLD && field->need != NEED_BOOK)
        return false;
    if (field->kind != KIND_TEXT && unfit)
        *(int64_t *)at = UNFIT;
    else if (field->kind != KIND_TEXT)
        return read_number(field->kind, value, (int64_t *)at);
    else if (unfit)
        *(lt_text *)at = TEXT_UNFIT;
    else if (!unescape(value))
        return false;
    else
        *(lt_text *)at = texts_add(texts, value);
    return true;
}

/* The field's number, `fields_len` if there is none. Most lines have their members in the same
 * order, so the search begins after the last one found. */
static size_t field_of(const char *name, const lt_field *fields, size_t fields_len, size_t from)
{
    for (size_t i = 0; i < fields_len; i++) {
        size_t at = from + i < fields_len ? from + i : from + i - fields_len;
        if (strcmp(fields[at].name, name) == 0)
            return at;
    }
    return fields_len;
}

typedef struct lt_members {
    const lt_field *fields;
    size_t fields_len, last;
    uint32_t seen;
    lt_texts *texts;
} lt_members;

static bool read_member(lt_members *m, char *member, void *ret, char *err, size_t err_len)
{
    char *value = strchr(member, '=');
    if (!value) {
        snprintf(err, err_len, "'%.40s' is no NAME=VALUE", member);
        return false;
    }
    *value++ = '\0';
    size_t i = field_of(member, m->fields, m->fields_len, m->last);
    const lt_field *field = &m->fields[i];
    const char *wrong = NULL;
    if (i == m->fields_len)
        wrong = "not known here";
    else if (m->seen & (UINT32_C(1) << i))
        wrong = "there twice";
    else if (strcmp(value, "-") == 0)
        wrong = field->need >= NEED_BOOK ? "not to be left open" : NULL;
    else if (!put_value(field, value, m->texts, ret))
        wrong = "none, or out of range";
    if (wrong) {
        snprintf(err, err_len, "%.40s='%.40s' is %s", member, value, wrong);
        return false;
    }
    m->seen |= UINT32_C(1) << i;
    m->last = i + 1;
    return true;
}

bool line_read(char *members, const lt_field *fields, size_t fields_len, lt_texts *texts, void *ret,
               char *err, size_t err_len)
{
    lt_members m = {.fields = fields, .fields_len = fields_len, .texts = texts};
    for (size_t i = 0; i < fields_len; i++) {
        if (fields[i].kind != KIND_TEXT)
            *(int64_t *)((char *)ret + fields[i].offset) = UNKNOWN;
    }
    while (members) {
        char *member = members;
        members = strchr(member, ' ');
        if (members)
            *members++ = '\0';
        if (!read_member(&m, member, ret, err, err_len))
            return false;
    }
    for (size_t i = 0; i < fields_len; i++) {
        if (fields[i].need >= NEED_MEMBER && !(m.seen & (UINT32_C(1) << i))) {
            snprintf(err, err_len, "%s is missing", fields[i].name);
            return false;
        }
    }
    return true;
}
