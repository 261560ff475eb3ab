/*
 * schema.c - one function for each keyword.
 *
 * "unevaluatedProperties" needs to know which members any part of the schema has looked at: each
 * part adds its own to a set of bits, by their order in the value.
 */
#include "tests/server/openapi/schema.h"

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS_MAX = 64 };

typedef struct look {
    const cJSON *document;
    const cJSON *value;
    uint64_t seen; /* members of the value, by their order */
    char *err;
    size_t err_len;
    void (*note)(const cJSON *part); /* NULL: nobody wants to know */
} look;

static bool accepts(look *at, const cJSON *schema);

static bool chosen(const look *at, const cJSON *part)
{
    if (at->note)
        at->note(part);
    return true;
}

static bool wrong(const look *at, const char *what, const char *which)
{
    char *text = cJSON_PrintUnformatted(at->value);
    snprintf(at->err, at->err_len, "%s %s: %.200s", what, which, text ? text : "nothing");
    cJSON_free(text);
    return false;
}

const cJSON *schema_follow(const cJSON *document, const cJSON *object)
{
    const cJSON *ref = cJSON_GetObjectItemCaseSensitive(object, "$ref");
    if (!ref)
        return object;
    const char *at = cJSON_GetStringValue(ref);
    if (!at || strncmp(at, "#/", 2) != 0)
        return NULL;
    const cJSON *found = document;
    for (at += 1; found && *at == '/';) {
        char name[128];
        size_t len = strcspn(++at, "/");
        snprintf(name, sizeof(name), "%.*s", (int)len, at);
        found = cJSON_GetObjectItemCaseSensitive(found, name);
        at += len;
    }
    return found;
}

/* ---- keywords -------------------------------------------------------------------------------- */

static bool keep_ref(look *at, const cJSON *schema, const cJSON *says)
{
    (void)says;
    const cJSON *target = schema_follow(at->document, schema);
    return target ? accepts(at, target) : wrong(at, "no such $ref", schema->child->valuestring);
}

static bool is_type(const cJSON *v, const char *type)
{
    const struct {
        const char *name;
        bool is;
    } types[] = {
        {"object", cJSON_IsObject(v)},
        {"array", cJSON_IsArray(v)},
        {"string", cJSON_IsString(v)},
        {"boolean", cJSON_IsBool(v)},
        {"null", cJSON_IsNull(v)},
        {"number", cJSON_IsNumber(v)},
        {"integer", cJSON_IsNumber(v) && v->valuedouble == (double)(int64_t)v->valuedouble},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].is && strcmp(types[i].name, type) == 0)
            return true;
    return false;
}

/* One type, or a list of them. */
static bool keep_type(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *each;
    (void)schema;
    if (cJSON_IsString(says))
        return is_type(at->value, says->valuestring) || wrong(at, "not of type", says->valuestring);
    cJSON_ArrayForEach(each, says) {
        if (is_type(at->value, each->valuestring))
            return chosen(at, each);
    }
    return wrong(at, "of none of the", "types");
}

static bool keep_const(look *at, const cJSON *schema, const cJSON *says)
{
    (void)schema;
    return cJSON_Compare(at->value, says, true) || wrong(at, "another value", "than const");
}

static bool keep_enum(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *each;
    (void)schema;
    cJSON_ArrayForEach(each, says) {
        if (cJSON_Compare(at->value, each, true))
            return chosen(at, each);
    }
    return wrong(at, "not in", "enum");
}

static bool keep_pattern(look *at, const cJSON *schema, const cJSON *says)
{
    regex_t regex;
    (void)schema;
    if (!cJSON_IsString(at->value))
        return true;
    if (regcomp(&regex, says->valuestring, REG_EXTENDED | REG_NOSUB) != 0)
        return wrong(at, "no regular expression:", says->valuestring);
    bool matches = regexec(&regex, at->value->valuestring, 0, NULL, 0) == 0;
    regfree(&regex);
    return matches || wrong(at, "does not match", says->valuestring);
}

static bool keep_minimum(look *at, const cJSON *schema, const cJSON *says)
{
    (void)schema;
    return !cJSON_IsNumber(at->value) || at->value->valuedouble >= says->valuedouble ||
           wrong(at, "below", "minimum");
}

static bool keep_maximum(look *at, const cJSON *schema, const cJSON *says)
{
    (void)schema;
    return !cJSON_IsNumber(at->value) || at->value->valuedouble <= says->valuedouble ||
           wrong(at, "above", "maximum");
}

static bool keep_min_items(look *at, const cJSON *schema, const cJSON *says)
{
    (void)schema;
    return !cJSON_IsArray(at->value) || cJSON_GetArraySize(at->value) >= says->valueint ||
           wrong(at, "fewer than", "minItems");
}

static bool keep_max_items(look *at, const cJSON *schema, const cJSON *says)
{
    (void)schema;
    return !cJSON_IsArray(at->value) || cJSON_GetArraySize(at->value) <= says->valueint ||
           wrong(at, "more than", "maxItems");
}

/* A member or an element, by a schema of its own. */
static bool accepts_part(const look *at, const cJSON *schema, const cJSON *part)
{
    look within = {at->document, part, 0, at->err, at->err_len, at->note};
    return accepts(&within, schema);
}

static bool keep_items(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *each;
    (void)schema;
    if (!cJSON_IsArray(at->value))
        return true;
    cJSON_ArrayForEach(each, at->value) {
        if (!accepts_part(at, says, each))
            return false;
    }
    return true;
}

static bool keep_required(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *each;
    (void)schema;
    if (!cJSON_IsObject(at->value))
        return true;
    cJSON_ArrayForEach(each, says) {
        if (!cJSON_GetObjectItemCaseSensitive(at->value, each->valuestring))
            return wrong(at, "has no", each->valuestring);
    }
    return true;
}

static bool keep_properties(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *member;
    int i = 0;
    (void)schema;
    if (!cJSON_IsObject(at->value))
        return true;
    cJSON_ArrayForEach(member, at->value) {
        const cJSON *known = cJSON_GetObjectItemCaseSensitive(says, member->string);
        if (known && !(accepts_part(at, known, member) && chosen(at, known)))
            return false;
        at->seen |= known && i < MEMBERS_MAX ? UINT64_C(1) << i : 0;
        i++;
    }
    return true;
}

/* Of what is no object there are none. */
static const cJSON *members(const cJSON *value)
{
    return cJSON_IsObject(value) ? value : NULL;
}

/* What holds for all members but those of "properties" beside it: they are forbidden ... */
static bool keep_additional(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *known = cJSON_GetObjectItemCaseSensitive(schema, "properties");
    const cJSON *member, *all = members(at->value);
    cJSON_ArrayForEach(member, all) {
        if (cJSON_GetObjectItemCaseSensitive(known, member->string))
            continue;
        if (cJSON_IsFalse(says))
            return wrong(at, "has an undocumented", member->string);
        if (!accepts_part(at, says, member))
            return false;
    }
    return true;
}

/* ... and so are here those that nothing before it has looked at: it comes last. */
static bool keep_unevaluated(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *member, *all = members(at->value);
    int i = 0;
    (void)schema;
    if (!cJSON_IsFalse(says))
        return wrong(at, "only false is known of", "unevaluatedProperties");
    cJSON_ArrayForEach(member, all) {
        if (i >= MEMBERS_MAX || !(at->seen >> i & 1))
            return wrong(at, "has an undocumented", member->string);
        i++;
    }
    return true;
}

static bool keep_all_of(look *at, const cJSON *schema, const cJSON *says)
{
    const cJSON *each;
    (void)schema;
    cJSON_ArrayForEach(each, says) {
        if (!accepts(at, each))
            return false;
    }
    return true;
}

static bool keep_one_of(look *at, const cJSON *schema, const cJSON *says)
{
    char all[1024] = "";
    uint64_t seen = 0;
    int accepted = 0;
    const cJSON *each, *one = NULL;
    (void)schema;
    cJSON_ArrayForEach(each, says) {
        char why[256] = "";
        look branch = {at->document, at->value, 0, why, sizeof(why), NULL};
        size_t len = strlen(all);
        if (accepts(&branch, each)) {
            accepted++;
            one = each;
            seen |= branch.seen;
        } else {
            snprintf(all + len, sizeof(all) - len, "%s; ", why);
        }
    }
    at->seen |= seen;
    if (accepted == 1 && at->note)
        return accepts_part(at, one, at->value) && chosen(at, one);
    return accepted == 1 || wrong(at, accepted > 1 ? "several" : "none", all);
}

static bool keep_nothing(look *at, const cJSON *schema, const cJSON *says)
{
    (void)at, (void)schema, (void)says;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* In the order in which they are looked at. */
static const struct {
    const char *name;
    bool (*keep)(look *at, const cJSON *schema, const cJSON *says);
} keywords[] = {
    {"$ref", keep_ref},
    {"type", keep_type},
    {"const", keep_const},
    {"enum", keep_enum},
    {"pattern", keep_pattern},
    {"minimum", keep_minimum},
    {"maximum", keep_maximum},
    {"minItems", keep_min_items},
    {"maxItems", keep_max_items},
    {"items", keep_items},
    {"required", keep_required},
    {"properties", keep_properties},
    {"additionalProperties", keep_additional},
    {"allOf", keep_all_of},
    {"oneOf", keep_one_of},
    {"unevaluatedProperties", keep_unevaluated},
    {"description", keep_nothing},
    {"default", keep_nothing},
    {"x-again", keep_nothing},
};
enum { KEYWORDS = sizeof(keywords) / sizeof(keywords[0]) };

static bool accepts(look *at, const cJSON *schema)
{
    for (size_t i = 0; i < KEYWORDS; i++) {
        const cJSON *says = cJSON_GetObjectItemCaseSensitive(schema, keywords[i].name);
        if (says && !keywords[i].keep(at, schema, says))
            return false;
    }
    return true;
}

bool schema_accepts(const cJSON *document, const cJSON *schema, const cJSON *value, char *err,
                    size_t err_len)
{
    look at = {document, value, 0, err, err_len, NULL};
    return schema_is_known(schema, err, err_len) && accepts(&at, schema);
}

void schema_note(const cJSON *document, const cJSON *schema, const cJSON *value,
                 void (*note)(const cJSON *part))
{
    char err[512];
    look at = {document, value, 0, err, sizeof(err), note};
    (void)accepts(&at, schema);
}

static bool is_keyword(const char *name)
{
    for (size_t i = 0; i < KEYWORDS; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return true;
    return false;
}

bool schema_is_known(const cJSON *schema, char *err, size_t err_len)
{
    const cJSON *keyword, *each;
    if (!cJSON_IsObject(schema)) {
        snprintf(err, err_len, "a schema that is no object");
        return false;
    }
    cJSON_ArrayForEach(keyword, schema) {
        const char *name = keyword->string;
        if (!is_keyword(name)) {
            snprintf(err, err_len, "the keyword '%s' is not known", name);
            return false;
        }
        bool one = strcmp(name, "items") == 0 ||
                   (strcmp(name, "additionalProperties") == 0 && !cJSON_IsFalse(keyword));
        if (one && !schema_is_known(keyword, err, err_len))
            return false;
        bool many = strcmp(name, "properties") == 0 || strcmp(name, "allOf") == 0 ||
                    strcmp(name, "oneOf") == 0;
        const cJSON *parts = many ? keyword : NULL;
        cJSON_ArrayForEach(each, parts) {
            if (!schema_is_known(each, err, err_len))
                return false;
        }
    }
    return true;
}
