/* query.c - taking parameters in, each once; and giving them out in the form that is asked for. */
#include "server/api/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/json.h"

/* ---- taking in ------------------------------------------------------------------------------- */

void query_init(fs_query *query, const char *const *names)
{
    query->count = 0;
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
static query_param *take(fs_query *query, const char *name, query_fault *fault, char *err,
                         size_t err_len)
{
    query_param *param = find(query, name);
    *fault = !param ? QUERY_UNKNOWN : param->status != QUERY_ABSENT ? QUERY_REPEATED : QUERY_FINE;
    if (*fault == QUERY_UNKNOWN)
        snprintf(err, err_len, "'%s' is not known here", name);
    else if (*fault == QUERY_REPEATED)
        snprintf(err, err_len, "%s= came twice", name);
    return *fault == QUERY_FINE ? param : NULL;
}

query_fault query_add_words(fs_query *query, const char *text, size_t len, char *err,
                            size_t err_len)
{
    query_fault fault = QUERY_FINE;
    const char *end = text + len;
    for (const char *at = text; at < end && fault == QUERY_FINE;) {
        const char *and = memchr(at, '&', (size_t)(end - at)), *stop = and? and : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        const char *name_end = equals ? equals : stop, *value = equals ? equals + 1 : stop;
        char name[IDENT_MAX + 1];
        if (!text_percent_decode(at, (size_t)(name_end - at), true, name, sizeof(name)))
            snprintf(name, sizeof(name), "%s", "(misspelt)");
        query_param *param = stop > at ? take(query, name, &fault, err, err_len) : NULL;
        if (param) {
            param->kind = QUERY_WORD;
            param->status = text_percent_decode(value, (size_t)(stop - value), true, param->value,
                                                sizeof(param->value))
                                ? QUERY_OK
                                : QUERY_BAD;
        }
        at = stop + 1;
    }
    return fault;
}

typedef struct json_target {
    fs_query *query;
    query_fault fault;
    char *err;
    size_t err_len;
} json_target;

static bool take_member(void *arg, const char *name, const char *value, bool number)
{
    json_target *to = arg;
    query_param *param = take(to->query, name, &to->fault, to->err, to->err_len);
    if (!param)
        return false;
    param->kind = number ? QUERY_JSON_NUMBER : QUERY_JSON_TEXT;
    param->status = value && strlen(value) < sizeof(param->value) ? QUERY_OK : QUERY_BAD;
    if (param->status == QUERY_OK)
        memcpy(param->value, value, strlen(value) + 1);
    return true;
}

query_fault query_add_json(fs_query *query, const char *text, size_t len, char *err, size_t err_len)
{
    json_target to = {.query = query, .fault = QUERY_FINE, .err = err, .err_len = err_len};
    if (json_each(text, len, take_member, &to) || to.fault != QUERY_FINE)
        return to.fault;
    snprintf(err, err_len, "the body must be one flat JSON object");
    return QUERY_NOT_OBJECT;
}

/* ---- giving out ------------------------------------------------------------------------------ */

/* `wrong`: what JSON must not have sent it as. */
static query_status get(const fs_query *query, const char *name, query_kind wrong,
                        const query_param **ret)
{
    *ret = find((fs_query *)query, name);
    if (!*ret)
        return QUERY_ABSENT;
    return (*ret)->status == QUERY_OK && (*ret)->kind == wrong ? QUERY_BAD : (*ret)->status;
}

query_status query_text(const fs_query *query, const char *name, char *ret)
{
    const query_param *param;
    query_status status = get(query, name, QUERY_JSON_NUMBER, &param);
    if (status == QUERY_OK)
        memcpy(ret, param->value, strlen(param->value) + 1);
    return status;
}

/* The value, if it is of the form that `ok` asks for. */
static query_status get_word(const fs_query *query, const char *name,
                             bool (*ok)(const char *text, size_t len), char *ret)
{
    char value[QUERY_VALUE_MAX + 1];
    query_status status = query_text(query, name, value);
    if (status == QUERY_OK && !ok(value, strlen(value)))
        return QUERY_BAD;
    if (status == QUERY_OK)
        memcpy(ret, value, strlen(value) + 1);
    return status;
}

query_status query_ident(const fs_query *query, const char *name, char *ret)
{
    return get_word(query, name, ident_ok, ret);
}

query_status query_user(const fs_query *query, const char *name, char *ret)
{
    return get_word(query, name, user_ok, ret);
}

query_status query_int(const fs_query *query, const char *name, int64_t least, int64_t most,
                       int64_t *ret)
{
    const query_param *param;
    query_status status = get(query, name, QUERY_JSON_TEXT, &param);
    if (status != QUERY_OK)
        return status;
    size_t digits = strspn(param->value, "0123456789");
    if (digits == 0 || digits > 18 || param->value[digits] != '\0')
        return QUERY_BAD;
    int64_t value = strtoll(param->value, NULL, 10);
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
