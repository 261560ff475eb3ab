/* query.c - finding and decoding one parameter at a time; what can be read in two ways is refused.
 */
#include "server/api/query.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"

/* The raw value behind "name=", up to '&' or the end; NULL when there is none. */
static const char *find(const char *query, const char *name, size_t *len)
{
    size_t name_len = strlen(name);
    for (const char *at = query; *at != '\0';) {
        size_t part = strcspn(at, "&");
        if (part > name_len && at[name_len] == '=' && memcmp(at, name, name_len) == 0) {
            *len = part - name_len - 1;
            return at + name_len + 1;
        }
        at += part + (at[part] == '&');
    }
    return NULL;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool decode(const char *from, size_t len, char *ret, size_t ret_len)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++) {
        char c = from[i] == '+' ? ' ' : from[i];
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

query_status query_text(const char *query, const char *name, char *ret, size_t ret_len)
{
    size_t len, again;
    const char *value = find(query, name, &len);
    if (!value)
        return QUERY_ABSENT;
    if (find(value, name, &again) || !decode(value, len, ret, ret_len))
        return QUERY_BAD;
    return QUERY_OK;
}

query_status query_ident(const char *query, const char *name, char *ret)
{
    query_status status = query_text(query, name, ret, IDENT_MAX + 1);
    if (status == QUERY_OK && !ident_ok(ret, strlen(ret)))
        return QUERY_BAD;
    return status;
}

query_status query_int(const char *query, const char *name, int64_t least, int64_t most,
                       int64_t *ret)
{
    char word[24], *end;
    query_status status = query_text(query, name, word, sizeof(word));
    if (status != QUERY_OK)
        return status;
    if (word[0] < '0' || word[0] > '9')
        return QUERY_BAD;
    long long value = strtoll(word, &end, 10);
    if (*end != '\0' || strlen(word) > 18 || value < least || value > most)
        return QUERY_BAD;
    *ret = value;
    return QUERY_OK;
}
