/* parts.c - a list of the nodes that were used, and a walk over those that could have been. */
#include "tests/server/openapi/parts.h"

#include <string.h>

#include "tests/server/openapi/document.h"
#include "tests/server/openapi/schema.h"

typedef struct nodes {
    const cJSON *node[4096];
    int count;
} nodes;

static nodes used;

static bool has(const nodes *list, const cJSON *node)
{
    for (int i = 0; i < list->count; i++)
        if (list->node[i] == node)
            return true;
    return false;
}

static void add(nodes *list, const cJSON *node)
{
    assert_in_range(list->count, 0, COUNT(list->node) - 1);
    list->node[list->count++] = node;
}

void parts_note(const cJSON *part)
{
    if (!has(&used, part))
        add(&used, part);
}

void parts_forget(void)
{
    used.count = 0;
}

/* ---- what was not used ----------------------------------------------------------------------- */

typedef struct search {
    nodes seen; /* schemas */
    const walk_excuse *excuses;
    int missing;
} search;

typedef struct place {
    const struct place *within; /* NULL: outermost */
    const char *name;
} place;

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void print_place(const place *at)
{
    if (at->within)
        print_place(at->within);
    print_message(" %s", at->name);
}

/* Whether it was used; says so if not. */
static bool look(search *s, const place *at, const char *name, const cJSON *part)
{
    const char *value = cJSON_GetStringValue(part);
    if (!value)
        value = cJSON_GetStringValue(get(part, "const"));
    for (const walk_excuse *e = s->excuses; e->code; e++)
        if (value && strcmp(e->code, value) == 0)
            return true;
    if (has(&used, part))
        return true;
    s->missing++;
    print_message("documented, and in no answer:");
    print_place(&(place){at, name});
    print_message("%s%s\n", value ? " " : "", value ? value : "");
    return false;
}

static void search_schema(search *s, const place *at, const cJSON *schema);

/* The parts of a keyword: each must have been used, and is searched if it is a schema itself. */
static void search_choice(search *s, const place *at, const cJSON *schema, const char *keyword)
{
    const cJSON *each, *choice = get(schema, keyword);
    if (cJSON_IsString(choice)) /* one type */
        return;
    cJSON_ArrayForEach(each, choice) {
        const char *name = each->string ? each->string : keyword;
        if (look(s, at, name, each) && cJSON_IsObject(each))
            search_schema(s, &(place){at, name}, each);
    }
}

static void search_schema(search *s, const place *at, const cJSON *schema)
{
    const cJSON *each;
    if (!cJSON_IsObject(schema) || has(&s->seen, schema))
        return;
    add(&s->seen, schema);
    const char *ref = cJSON_GetStringValue(get(schema, "$ref"));
    if (ref)
        search_schema(s, &(place){at, strrchr(ref, '/') + 1}, schema_follow(document, schema));
    search_choice(s, at, schema, "type");
    search_choice(s, at, schema, "enum");
    search_choice(s, at, schema, "oneOf");
    search_choice(s, at, schema, "properties");
    search_schema(s, at, get(schema, "items"));
    search_schema(s, at, get(schema, "additionalProperties"));
    cJSON_ArrayForEach(each, get(schema, "allOf"))
        search_schema(s, at, each);
}

/* Headers, or the types of a body, with their schemas. */
static void search_named(search *s, const place *at, const cJSON *named)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, named) {
        if (look(s, at, each->string, each))
            search_schema(s, &(place){at, each->string},
                          get(schema_follow(document, each), "schema"));
    }
}

static void search_answers(search *s, const place *at, const cJSON *answers)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, answers) {
        const cJSON *answer = schema_follow(document, each);
        place within = {at, each->string};
        search_named(s, &within, get(answer, "headers"));
        search_named(s, &within, get(answer, "content"));
    }
}

int parts_missing(const walk_excuse *excuses)
{
    static search s;
    const cJSON *any = get(document, "x-any-request");
    place every = {NULL, "x-any-request"};
    s = (search){.excuses = excuses};
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++) {
        place path = {NULL, o->path}, operation = {&path, o->method};
        search_answers(&s, &operation, get(o->json, "responses"));
    }
    search_named(&s, &every, get(any, "headers"));
    search_answers(&s, &every, get(any, "responses"));
    return s.missing;
}
