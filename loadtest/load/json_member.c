/*
 * A scan over the tokens of the outermost object: strings are skipped whole, so a name inside a
 * value is never taken for a member, and nesting is only counted.
 */
#include "loadtest/load/json_member.h"

#include <string.h>

/* The position after the string that starts at `at` (a quote), or `end`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at < end ? at + 1 : end;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool copy_value(const char *at, const char *end, char *value, size_t size)
{
    const char *stop;
    if (*at == '"') {
        at++;
        stop = memchr(at, '"', (size_t)(end - at));
    } else {
        for (stop = at; stop < end && in_number(*stop); stop++)
            ;
    }
    if (!stop || stop == at || (size_t)(stop - at) >= size || memchr(at, '\\', (size_t)(stop - at)))
        return false;
    memcpy(value, at, (size_t)(stop - at));
    value[stop - at] = '\0';
    return true;
}

bool json_member(const char *json, size_t length, const char *name, char *value, size_t size)
{
    const char *end = json + length;
    size_t name_length = strlen(name);
    int depth = 0;
    value[0] = '\0';
    for (const char *at = json; at < end;) {
        if (*at != '"') {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
            continue;
        }
        const char *text = at + 1;
        at = skip_string(at, end);
        const char *colon = skip_space(at, end);
        if (depth != 1 || colon == end || *colon != ':')
            continue;
        at = skip_space(colon + 1, end);
        if (text + name_length < end && memcmp(text, name, name_length) == 0 &&
            text[name_length] == '"')
            return at < end && copy_value(at, end, value, size);
    }
    return false;
}
