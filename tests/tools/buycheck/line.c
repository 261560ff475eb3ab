/* line.c - strict: what is not described makes the line unreadable, or a slip of the pen would pass
 * for something that was never seen. */
#include "tests/tools/buycheck/line.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/buycheck/history.h"

static bool read_number(bc_kind kind, const char *text, int64_t *ret)
{
    static const int64_t most[] = {[KIND_TIME] = BUYS_TIME_MAX,
                                   [KIND_UNITS] = BUYS_UNITS_MAX,
                                   [KIND_SIGNED] = BUYS_UNITS_MAX,
                                   [KIND_NUMBER] = BUYS_NUMBER_MAX,
                                   [KIND_FLAG] = 1};
    bool negative = kind == KIND_SIGNED && text[0] == '-';
    const char *digits = text + negative;
    char *end;
    if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || number > most[kind] || number < -most[kind])
        return false;
    *ret = number;
    return true;
}

static void put_nothing(const bc_field *field, void *ret)
{
    char *at = (char *)ret + field->offset;
    if (field->kind == KIND_TEXT)
        *(const char **)at = NULL;
    else
        *(int64_t *)at = UNKNOWN;
}

static bool put_value(const bc_field *field, const char *value, void *ret)
{
    char *at = (char *)ret + field->offset;
    if (field->kind != KIND_TEXT)
        return read_number(field->kind, value, (int64_t *)at);
    *(const char **)at = value;
    return value[0] != '\0';
}

/* The field's number, `fields_len` if there is none. */
static size_t field_of(const char *name, const bc_field *fields, size_t fields_len)
{
    size_t i = 0;
    while (i < fields_len && strcmp(fields[i].name, name) != 0)
        i++;
    return i;
}

static bool read_member(char *member, const bc_field *fields, size_t fields_len, unsigned *seen,
                        void *ret, char *err, size_t err_len)
{
    char *value = strchr(member, '=');
    if (!value) {
        snprintf(err, err_len, "'%.40s' is no NAME=VALUE", member);
        return false;
    }
    *value++ = '\0';
    size_t i = field_of(member, fields, fields_len);
    const char *wrong = NULL;
    if (i == fields_len)
        wrong = "not known here";
    else if (*seen & (1u << i))
        wrong = "there twice";
    else if (strcmp(value, "-") == 0)
        wrong = fields[i].need == NEED_VALUE ? "not to be left open" : NULL;
    else if (!put_value(&fields[i], value, ret))
        wrong = "none, or out of range";
    if (wrong)
        snprintf(err, err_len, "%.40s='%.40s' is %s", member, value, wrong);
    else
        *seen |= 1u << i;
    return !wrong;
}

bool line_read(char *members, const bc_field *fields, size_t fields_len, void *ret, char *err,
               size_t err_len)
{
    unsigned seen = 0;
    for (size_t i = 0; i < fields_len; i++)
        put_nothing(&fields[i], ret);
    while (members) {
        char *member = members;
        members = strchr(member, ' ');
        if (members)
            *members++ = '\0';
        if (!read_member(member, fields, fields_len, &seen, ret, err, err_len))
            return false;
    }
    for (size_t i = 0; i < fields_len; i++) {
        if (fields[i].need != NEED_NONE && !(seen & (1u << i))) {
            snprintf(err, err_len, "%s is missing", fields[i].name);
            return false;
        }
    }
    return true;
}
