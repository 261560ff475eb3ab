/* query.c - parses parameters, returns their values, and refuses malformed ones. */
#include "server/api/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- taking in ------------------------------------------------------------------------------- */

void query_init(fs_query *query, const char *const *names)
{
    query->count = 0;
    query->fault = JSON_FINE;
    for (; names && names[query->count]; query->count++) {
        query_param *param = &query->params[query->count];
        param->name = names[query->count];
        param->status = QUERY_ABSENT;
    }
}

static query_param *find(fs_query *query, const char *name)
{
    for (int i = 0; i < query->count; i++)
        if (strcmp(query->params[i].name, name) == 0)
            return &query->params[i];
    return NULL;
}

/* Makes room for a parameter's value; NULL and a fault: it must not be here. */
static query_param *take(fs_query *query, const char *name)
{
    query_param *param = find(query, name);
    if (param && param->status == QUERY_ABSENT)
        return param;
    query->fault = param ? JSON_REPEATED : JSON_UNKNOWN;
    snprintf(query->why, sizeof(query->why), param ? "%s= came twice" : "'%s' is not known here",
             name);
    return NULL;
}

json_fault query_add_words(fs_query *query, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *at = text; at < end && query->fault == JSON_FINE;) {
        const char *and = memchr(at, '&', (size_t)(end - at)), *stop = and? and : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        const char *name_end = equals ? equals : stop, *value = equals ? equals + 1 : stop;
        char name[IDENT_MAX + 1];
        if (!text_percent_decode(at, (size_t)(name_end - at), true, name, sizeof(name)))
            snprintf(name, sizeof(name), "%s", "(misspelt)");
        query_param *param = stop > at ? take(query, name) : NULL;
        if (param) {
            param->kind = QUERY_WORD;
            param->status = text_percent_decode(value, (size_t)(stop - value), true, param->value,
                                                sizeof(param->value))
                                ? QUERY_OK
                                : QUERY_BAD;
        }
        at = stop + 1;
    }
    return query->fault;
}

static bool take_member(void *query, const char *name, const char *value, bool number)
{
    query_param *param = take(query, name);
    if (!param)
        return false;
    param->kind = number ? QUERY_JSON_NUMBER : QUERY_JSON_TEXT;
    param->status = value && strlen(value) < sizeof(param->value) ? QUERY_OK : QUERY_BAD;
    if (param->status == QUERY_OK)
        memcpy(param->value, value, strlen(value) + 1);
    return true;
}

json_fault query_add_json(fs_query *query, const char *text, size_t len)
{
    if (!json_each(text, len, take_member, query) && query->fault == JSON_FINE) {
        query->fault = JSON_NOT_OBJECT;
        snprintf(query->why, sizeof(query->why), "the body must be one flat JSON object");
    }
    return query->fault;
}

/* ---- giving out ------------------------------------------------------------------------------ */

/* The parameter's value. JSON must not have sent it as `wrong`, and it must be `ok`; NULL = any. */
static query_status look_up(const fs_query *query, const char *name, query_kind wrong,
                            bool (*ok)(const char *text, size_t len), const char **ret)
{
    const query_param *param = find((fs_query *)query, name);
    if (!param || param->status != QUERY_OK)
        return param ? param->status : QUERY_ABSENT;
    *ret = param->value;
    return param->kind != wrong && (!ok || ok(*ret, strlen(*ret))) ? QUERY_OK : QUERY_BAD;
}

query_status query_word(const fs_query *query, const char *name,
                        bool (*ok)(const char *text, size_t len), char *ret)
{
    const char *value;
    query_status status = look_up(query, name, QUERY_JSON_NUMBER, ok, &value);
    if (status == QUERY_OK)
        memcpy(ret, value, strlen(value) + 1);
    return status;
}

static bool is_number(const char *text, size_t len)
{
    return len > 0 && len <= 18 && strspn(text, "0123456789") == len;
}

query_status query_int(const fs_query *query, const char *name, int64_t least, int64_t most,
                       int64_t *ret)
{
    const char *digits;
    query_status status = look_up(query, name, QUERY_JSON_TEXT, is_number, &digits);
    if (status != QUERY_OK)
        return status;
    int64_t value = strtoll(digits, NULL, 10);
    if (value < least || value > most)
        return QUERY_BAD;
    *ret = value;
    return QUERY_OK;
}

bool query_read_key(const char *header, char ret[IDENT_MAX + 1])
{
    size_t len = strlen(header);
    bool quoted = len >= 2 && header[0] == '"' && header[len - 1] == '"';
    const char *key = quoted ? header + 1 : header;
    size_t key_len = quoted ? len - 2 : len;
    if (!ident_ok(key, key_len))
        return false;
    memcpy(ret, key, key_len);
    ret[key_len] = '\0';
    return true;
}

/* ---- refusing -------------------------------------------------------------------------------- */

bool api_param_ok(query_status status, const char *code, const char *name, const char *form,
                  api_reply *reply)
{
    char detail[160];
    if (status == QUERY_OK)
        return true;
    snprintf(detail, sizeof(detail), "%s= %s %s", name,
             status == QUERY_ABSENT ? "is missing; it must be" : "must be", form);
    problem(reply, 400, code, detail);
    return false;
}

bool api_read_ident(const fs_query *query, const char *name, const char *code, bool needed,
                    char ret[IDENT_MAX + 1], api_reply *reply)
{
    query_status status = query_word(query, name, ident_ok, ret);
    if (status != QUERY_ABSENT || needed)
        return api_param_ok(status, code, name, IDENT_FORM, reply);
    ret[0] = '\0';
    return true;
}

/* From 2001 to 2255: any other unit of time has another number of digits, but for 2^53 and beyond,
 * which not every JSON keeps. */
#define NOT_AFTER_LEAST 1000000000000000
#define NOT_AFTER_MOST  9007199254740991

bool api_read_not_after(const fs_query *query, int64_t *ret, api_reply *reply)
{
    query_status status = query_int(query, "not_after", NOT_AFTER_LEAST, NOT_AFTER_MOST, ret);
    if (status == QUERY_ABSENT)
        *ret = 0;
    return status == QUERY_ABSENT ||
           api_param_ok(status, "bad_not_after", "not_after",
                        "microseconds since 1970, a number of 16 digits", reply);
}
