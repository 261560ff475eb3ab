/*
 * One pass over the text, however many members are wanted.
 */
#include "loadtest/load/json_scan.h"

#include <stdint.h>
#include <string.h>

#define SPACE  " \t\r\n"
#define NUMBER "0123456789-+.eE"
#define AFTER  SPACE ",}]" /* a number */

/* The position after the string that starts at `at` (a quote), or `end`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at < end ? at + 1 : end;
}

/* The first character from `at` on that is none of `set`, or `end`. */
static const char *skip(const char *at, const char *end, const char *set)
{
    while (at < end && memchr(set, *at, strlen(set)))
        at++;
    return at;
}

/* Leaves the value as it is when it can not be copied. */
static void copy_value(const char *at, const char *end, const lt_json_member *member)
{
    char *value = member->value;
    size_t size = member->size;
    bool quoted = *at == '"';
    if (quoted && member->number)
        return;
    at += quoted;
    const char *stop = quoted ? memchr(at, '"', (size_t)(end - at)) : skip(at, end, NUMBER);
    if (!quoted && stop < end && !memchr(AFTER, *stop, strlen(AFTER)))
        return;
    if (!stop || stop == at || (size_t)(stop - at) >= size || memchr(at, '\\', (size_t)(stop - at)))
        return;
    memcpy(value, at, (size_t)(stop - at));
    value[stop - at] = '\0';
}

/* Whether the name between these quotes is the member's. */
static bool is_named(const lt_json_member *member, const char *name, const char *end)
{
    size_t length = strlen(member->name);
    return name + length < end && memcmp(name, member->name, length) == 0 && name[length] == '"';
}

/*
 * A scan over the tokens of the outermost object: strings are skipped whole, so a name inside a
 * value is never taken for a member, and nesting is only counted.
 */
bool json_members(const char *json, size_t length, const lt_json_member *members, size_t count)
{
    const char *end = json + length;
    int depth = 0, objects = 0;
    bool twice = false, outside = false;
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++)
        members[i].value[0] = '\0';
    for (const char *at = json; at < end;) {
        outside = outside || (depth <= 0 && *at != '{' && !memchr(SPACE, *at, strlen(SPACE)));
        if (*at != '"') {
            objects += depth == 0 && *at == '{';
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
            continue;
        }
        const char *name = at + 1;
        at = skip_string(at, end);
        const char *colon = skip(at, end, SPACE);
        if (depth != 1 || colon == end || *colon != ':')
            continue;
        at = skip(colon + 1, end, SPACE);
        for (size_t i = 0; i < count && at < end; i++) {
            if (!is_named(&members[i], name, end))
                continue;
            twice = twice || (seen >> i & 1);
            seen |= UINT32_C(1) << i;
            if (members[i].value[0] == '\0')
                copy_value(at, end, &members[i]);
        }
        if (at < end && *at == '"')
            at = skip_string(at, end);
    }
    return objects == 1 && depth == 0 && !outside && !twice;
}

bool json_member(const char *json, size_t length, const char *name, char *value, size_t size)
{
    const lt_json_member member = {name, value, size, false};
    json_members(json, length, &member, 1);
    return value[0] != '\0';
}
