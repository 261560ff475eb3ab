/* json.c - the only file of the service that uses cJSON, which is too lenient by itself. */
#include "server/base/json.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether at[0..len) begins with an escape at which cJSON would end the string: that of a NUL, and
 * any "\u" without its four digits, which it takes for that of a NUL. */
static bool ends_string(const char *at, size_t len)
{
    size_t digits = 0;
    if (len < 2 || memcmp(at, "\\u", 2) != 0)
        return false;
    while (digits < 4 && 2 + digits < len && isxdigit((unsigned char)at[2 + digits]))
        digits++;
    return digits < 4 || memcmp(at + 2, "0000", 4) == 0;
}

/* Finds in the text what cJSON would accept: it ends strings at some escapes, reads "01" as 1, and
 * recurses for every bracket, up to a thousand deep, on a thread's small stack. *integers: whether
 * all numbers are written as integers, because cJSON reads "1.0" and "1e0" as 1. */
static bool has_traps(const char *body, size_t len, bool *integers)
{
    bool in_string = false;
    int objects = 0;
    *integers = true;
    for (size_t i = 0; i < len; i++) {
        char c = body[i];
        bool behind_digit = i > 0 && is_digit(body[i - 1]);
        if (c == '\0' || ends_string(body + i, len - i))
            return true;
        if (c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (in_string)
            continue;
        else if (c == '[' || (c == '{' && ++objects > 1) ||
                 (c == '0' && i + 1 < len && is_digit(body[i + 1]) &&
                  (i == 0 || !strchr("0123456789.eE+-", body[i - 1]))))
            return true;
        else if (behind_digit && strchr(".eE", c))
            *integers = false;
    }
    return false;
}

/* Whether nothing but blanks follows. */
static bool is_end(const char *rest, const char *end)
{
    while (rest && rest < end && strchr(" \t\r\n", *rest) && *rest != '\0')
        rest++;
    return rest == end;
}

/* The flat object that body[0..len) is, and nothing else; NULL: it is not. */
static cJSON *parse(const char *body, size_t len, bool *integers)
{
    const char *end = NULL;
    cJSON *object =
        has_traps(body, len, integers) ? NULL : cJSON_ParseWithLengthOpts(body, len, &end, 0);
    if (cJSON_IsObject(object) && end && is_end(end, body + len))
        return object;
    cJSON_Delete(object);
    return NULL;
}

bool json_each(const char *body, size_t len, json_member *each, void *arg)
{
    bool integers;
    cJSON *object = parse(body, len, &integers);
    const cJSON *member;
    bool good = object != NULL;
    cJSON_ArrayForEach(member, object) {
        char digits[24];
        const char *value = cJSON_IsString(member) ? member->valuestring : NULL;
        if (cJSON_IsNumber(member) && integers && fabs(member->valuedouble) < 0x1p53 &&
            member->valuedouble == floor(member->valuedouble)) {
            snprintf(digits, sizeof(digits), "%.0f", member->valuedouble);
            value = digits;
        }
        good = good && each(arg, member->string, value, cJSON_IsNumber(member));
    }
    cJSON_Delete(object);
    return good;
}

typedef struct json_target {
    json_field *fields;
    json_fault fault;
    char *err;
    size_t err_len;
} json_target;

static bool read_member(void *arg, const char *name, const char *value, bool number)
{
    json_target *to = arg;
    json_field *field = to->fields;
    while (field->name && strcmp(field->name, name) != 0)
        field++;
    if (!field->name || field->found) {
        to->fault = field->name ? JSON_REPEATED : JSON_UNKNOWN;
        snprintf(to->err, to->err_len, "'%.64s' %s", name,
                 field->name ? "comes twice" : "is not known here");
        return false;
    }
    field->found = true;
    size_t len = value ? strlen(value) : 0;
    long long digits = value && number ? strtoll(value, NULL, 10) : -1;
    if (field->text && value && !number && len < field->text_len) {
        memcpy(field->text, value, len + 1);
        return true;
    }
    if (field->number && digits >= field->least && digits <= field->most) {
        *field->number = digits;
        return true;
    }
    to->fault = JSON_BAD_VALUE;
    if (field->text)
        snprintf(to->err, to->err_len, "'%s' must be a string of at most %zu characters", name,
                 field->text_len - 1);
    else
        snprintf(to->err, to->err_len, "'%s' must be an integer from %lld to %lld, in digits alone",
                 name, (long long)field->least, (long long)field->most);
    return false;
}

json_fault json_read(const char *body, size_t len, json_field *fields, char *err, size_t err_len)
{
    json_target to = {.fields = fields, .fault = JSON_FINE, .err = err, .err_len = err_len};
    for (json_field *field = fields; field->name; field++)
        field->found = false;
    if (json_each(body, len, read_member, &to) || to.fault != JSON_FINE)
        return to.fault;
    snprintf(err, err_len, "the body must be one flat JSON object");
    return JSON_NOT_OBJECT;
}
