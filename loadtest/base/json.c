/*
 * Reads JSON with cJSON, which keeps numbers as doubles and so loses digits beyond 2^53. Longer
 * whole numbers are therefore quoted before cJSON sees them, behind a mark that no text of an
 * answer can contain: a control character, which JSON does not allow in a text.
 */
#include "loadtest/base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK        '\x01'
#define DIGITS_SAFE 15 /* a double holds any number of so many digits exactly */
#define WHOLE_MAX   0x1p53

/* The end of the text that begins at `at`; 0: it has a control character or a NUL in it. */
static size_t text_end(const char *text, size_t length, size_t at)
{
    for (at++; at < length && text[at] != '"'; at++) {
        if ((unsigned char)text[at] < ' ' ||
            (text[at] == '\\' && length - at > 5 && memcmp(text + at, "\\u0000", 6) == 0))
            return 0;
        at += text[at] == '\\';
    }
    return at < length ? at + 1 : length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The end of the number that begins here; `ret` says whether it is a whole number that is too
 * long. */
static size_t number_end(const char *text, size_t length, size_t at, bool *ret_long)
{
    size_t from = at + (text[at] == '-');
    for (at = from; at < length && is_digit(text[at]); at++)
        ;
    *ret_long = at - from > DIGITS_SAFE && at < length && !strchr(".eE", text[at]);
    while (at < length && text[at] != '\0' && strchr("+-.eE0123456789", text[at]))
        at++;
    return at;
}

/* Copies the text with long numbers in quotes; the copy's length, 0: it is no JSON. */
static size_t quote_long_numbers(const char *text, size_t length, char *copy)
{
    size_t written = 0;
    for (size_t at = 0, end; at < length; at = end) {
        bool is_long = false;
        end = at + 1;
        if (text[at] == '"')
            end = text_end(text, length, at);
        else if (text[at] == '-' || is_digit(text[at]))
            end = number_end(text, length, at, &is_long);
        if (end == 0)
            return 0;
        if (is_long) {
            copy[written++] = '"';
            copy[written++] = MARK;
        }
        memcpy(copy + written, text + at, end - at);
        written += end - at;
        if (is_long)
            copy[written++] = '"';
    }
    return written;
}

cJSON *json_parse(const char *text, size_t length)
{
    char small[2048];
    size_t room = length + length / 4 + 4; /* three more for each number of 16 digits */
    char *copy = room <= sizeof(small) ? small : malloc(room);
    const char *end = NULL;
    if (!copy)
        return NULL;
    size_t copied = quote_long_numbers(text, length, copy);
    cJSON *json = copied == 0 ? NULL : cJSON_ParseWithLengthOpts(copy, copied, &end, 0);
    while (json && end < copy + copied && *end != '\0' && strchr(" \t\r\n", *end))
        end++;
    if (json && end != copy + copied) {
        cJSON_Delete(json);
        json = NULL;
    }
    if (copy != small)
        free(copy);
    return json;
}

/* The member; NULL: absent, or twice, as `ret_form` says. */
static const cJSON *member_of(const cJSON *object, const char *name, lt_form *ret_form)
{
    const cJSON *found = NULL;
    *ret_form = FORM_ABSENT;
    for (const cJSON *at = object ? object->child : NULL; at; at = at->next) {
        if (!at->string || strcmp(at->string, name) != 0)
            continue;
        if (found) {
            *ret_form = FORM_TWICE;
            return NULL;
        }
        found = at;
    }
    return cJSON_IsNull(found) ? NULL : found;
}

static bool copy_text(lt_text *ret, const char *text)
{
    size_t length = strlen(text);
    if (length >= sizeof(ret->text))
        return false;
    memcpy(ret->text, text, length + 1);
    ret->form = FORM_GOOD;
    return true;
}

lt_text json_read_text(const cJSON *object, const char *name)
{
    lt_text ret;
    const cJSON *member = member_of(object, name, &ret.form);
    ret.text[0] = '\0';
    if (!member)
        return ret;
    ret.form = FORM_OTHER;
    if (cJSON_IsString(member) && member->valuestring[0] != MARK)
        copy_text(&ret, member->valuestring);
    return ret;
}

lt_text json_read_id(const cJSON *object, const char *name)
{
    lt_text ret = json_read_text(object, name);
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    char digits[32];
    if (ret.form != FORM_OTHER)
        return ret;
    if (cJSON_IsString(member) && member->valuestring[0] == MARK) {
        copy_text(&ret, member->valuestring + 1);
    } else if (cJSON_IsNumber(member) && member->valuedouble == floor(member->valuedouble) &&
               fabs(member->valuedouble) <= WHOLE_MAX) {
        snprintf(digits, sizeof(digits), "%.0f", member->valuedouble);
        copy_text(&ret, digits);
    }
    return ret;
}

lt_whole json_read_whole(const cJSON *object, const char *name)
{
    lt_whole ret = {.value = 0};
    const cJSON *member = member_of(object, name, &ret.form);
    if (!member)
        return ret;
    ret.form = FORM_OTHER;
    bool marked = cJSON_IsString(member) && member->valuestring[0] == MARK;
    double value = marked ? strtod(member->valuestring + 1, NULL) : member->valuedouble;
    if ((marked || cJSON_IsNumber(member)) && value == floor(value) && fabs(value) < WHOLE_MAX)
        ret = (lt_whole){FORM_GOOD, (int64_t)value};
    return ret;
}

bool json_is_true(const cJSON *object, const char *name)
{
    lt_form form;
    return cJSON_IsTrue(member_of(object, name, &form));
}
