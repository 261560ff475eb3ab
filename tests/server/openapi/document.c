/* document.c - finding an operation's answers, and listing all of them. */
#include "tests/server/openapi/document.h"

#include <ctype.h>
#include <stdio.h>

#include "tests/server/openapi/schema.h"

enum { OPERATIONS_MAX = 64 };

cJSON *document;

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

void document_read(fx_server *server)
{
    document = cJSON_Parse(fx_expect(server, 200, "GET /openapi.json"));
    assert_non_null(document);
}

void document_drop(void)
{
    cJSON_Delete(document);
    document = NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Whether a path is of this template, "/orders/{request}/confirm" for one. */
static bool matches(const char *template, const char *path, size_t len)
{
    size_t plain = strcspn(template, "{");
    if (template[plain] == '\0')
        return len == plain && strncmp(template, path, len) == 0;
    const char *end = template + strcspn(template, "}") + 1;
    size_t end_len = strlen(end);
    return len > plain + end_len && strncmp(template, path, plain) == 0 &&
           strncmp(end, path + len - end_len, end_len) == 0;
}

/* Of several the longest, which says most of it. */
static const cJSON *find_path(const char *target)
{
    const cJSON *each, *found = NULL;
    size_t len = strcspn(target, "?");
    cJSON_ArrayForEach(each, get(document, "paths")) {
        if (matches(each->string, target, len) &&
            (!found || strlen(each->string) > strlen(found->string)))
            found = each;
    }
    return found;
}

const cJSON *document_answers(const char *method, const char *target, char key[DOCUMENT_KEY_MAX])
{
    char name[16];
    bool head = strcmp(method, "HEAD") == 0;
    const cJSON *path = find_path(target);
    snprintf(name, sizeof(name), "%s", head ? "get" : method);
    for (char *c = name; *c; c++)
        *c = (char)tolower(*c);
    const cJSON *operation = !head || get(path, "head") ? get(path, name) : NULL;
    snprintf(key, DOCUMENT_KEY_MAX, "%s %s", operation ? method : "-",
             operation ? path->string : "-");
    return get(operation ? operation : get(document, "x-any-request"), "responses");
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Replaces "{name}" by a part of a path. */
static void put_part(char *target, size_t len, const char *part)
{
    char rest[64];
    size_t plain = strcspn(target, "{");
    snprintf(rest, sizeof(rest), "%s", target + strcspn(target, "}") + 1);
    snprintf(target + plain, len - plain, "%s%s", part, rest);
}

/* Puts an example of a parameter, "k1" in a path or "item=P0001" in a query, if it is required. */
static void put_example(document_operation *to, const cJSON *parameter)
{
    parameter = schema_follow(document, parameter);
    const char *example = cJSON_GetStringValue(get(parameter, "example"));
    const char *name = cJSON_GetStringValue(get(parameter, "name"));
    size_t len = strlen(to->target);
    if (!cJSON_IsTrue(get(parameter, "required")))
        return;
    if (!name || !example)
        fail_msg("%s: a required parameter without an example", to->path);
    else if (strcmp(get(parameter, "in")->valuestring, "path") == 0)
        put_part(to->target, sizeof(to->target), example);
    else
        snprintf(to->target + len, sizeof(to->target) - len, "%c%s=%s",
                 strchr(to->target, '?') ? '&' : '?', name, example);
}

static void read_operation(const cJSON *path, const cJSON *operation, document_operation *ret)
{
    const cJSON *each;
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; operation->string[i] && i + 1 < sizeof(ret->method); i++)
        ret->method[i] = (char)toupper(operation->string[i]);
    snprintf(ret->path, sizeof(ret->path), "%s", path->string);
    snprintf(ret->target, sizeof(ret->target), "%s", path->string);
    ret->json = operation;
    cJSON_ArrayForEach(each, get(operation, "parameters"))
        put_example(ret, each);
}

const document_operation *document_operations(void)
{
    static document_operation all[OPERATIONS_MAX + 1];
    int count = 0;
    const cJSON *path, *operation;
    cJSON_ArrayForEach(path, get(document, "paths")) {
        cJSON_ArrayForEach(operation, path) {
            assert_true(count < OPERATIONS_MAX);
            if (strcmp(operation->string, "head") != 0)
                read_operation(path, operation, &all[count++]);
        }
    }
    all[count].method[0] = '\0';
    return all;
}

static void add_name(cJSON *list, const char *name)
{
    if (!get(list, name))
        cJSON_AddTrueToObject(list, name);
}

static void add_names(cJSON *list, const document_operation *operation)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, get(operation->json, "parameters")) {
        const cJSON *parameter = schema_follow(document, each);
        if (strcmp(get(parameter, "in")->valuestring, "query") == 0)
            add_name(list, get(parameter, "name")->valuestring);
    }
    const cJSON *content = get(get(operation->json, "requestBody"), "content");
    const cJSON *schema = get(get(content, "application/json"), "schema");
    cJSON_ArrayForEach(each, get(schema_follow(document, schema), "properties"))
        add_name(list, each->string);
}

bool document_takes(const document_operation *operation, const char *name)
{
    cJSON *list = cJSON_CreateObject();
    add_names(list, operation);
    bool takes = get(list, name) != NULL;
    cJSON_Delete(list);
    return takes;
}

cJSON *document_names(void)
{
    cJSON *list = cJSON_CreateObject();
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++)
        add_names(list, o);
    return list;
}

/* The last part of what a schema refers to, "HaltProblem" for one; "" of one that does not. */
static const char *name_of(const cJSON *schema)
{
    const char *ref = cJSON_GetStringValue(get(schema, "$ref"));
    return ref ? strrchr(ref, '/') + 1 : "";
}

static void add_words(char key[DOCUMENT_KEY_MAX], const char *shape, const char *code)
{
    size_t len = strlen(key);
    snprintf(key + len, DOCUMENT_KEY_MAX - len, " %s %s", shape, code);
}

void document_add_shape(char key[DOCUMENT_KEY_MAX], int status, const cJSON *schema,
                        const cJSON *body)
{
    char err[1536];
    size_t len = strlen(key);
    const cJSON *each, *shape = schema;
    const char *code = cJSON_GetStringValue(get(body, "code"));
    snprintf(key + len, DOCUMENT_KEY_MAX - len, " %d", status);
    if (!code)
        return;
    cJSON_ArrayForEach(each, get(schema, "oneOf")) {
        if (schema_accepts(document, each, body, err, sizeof(err)))
            shape = each;
    }
    add_words(key, name_of(shape), code);
}

/* Adds a key for each code that a schema allows, or the schemas of which it is to be one. */
static void add_codes(cJSON *list, const char *name, const cJSON *schema)
{
    const cJSON *each, *code = get(get(schema, "properties"), "code");
    char key[DOCUMENT_KEY_MAX];
    cJSON_ArrayForEach(each, get(code, "enum")) {
        snprintf(key, sizeof(key), "%s", name);
        add_words(key, name_of(schema), each->valuestring);
        cJSON_AddTrueToObject(list, key);
    }
    if (get(code, "const")) {
        snprintf(key, sizeof(key), "%s", name);
        add_words(key, name_of(schema), get(code, "const")->valuestring);
        cJSON_AddTrueToObject(list, key);
    }
    cJSON_ArrayForEach(each, get(schema, "oneOf"))
        add_codes(list, name, each);
}

static void add_answers(cJSON *list, const char *name, const cJSON *answers)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, answers) {
        char key[DOCUMENT_KEY_MAX];
        const cJSON *content = get(schema_follow(document, each), "content");
        const cJSON *problem = get(get(content, "application/problem+json"), "schema");
        snprintf(key, sizeof(key), "%s %s", name, each->string);
        if (problem)
            add_codes(list, key, problem);
        else
            cJSON_AddTrueToObject(list, key);
    }
}

static void add_operation(cJSON *list, const document_operation *operation)
{
    char name[DOCUMENT_KEY_MAX];
    snprintf(name, sizeof(name), "%s %s", operation->method, operation->path);
    add_answers(list, name, get(operation->json, "responses"));
}

bool document_has(const document_operation *operation, const char *code)
{
    const cJSON *each;
    bool found = false;
    cJSON *list = cJSON_CreateObject();
    add_operation(list, operation);
    cJSON_ArrayForEach(each, list)
        found = found || strcmp(strrchr(each->string, ' ') + 1, code) == 0;
    cJSON_Delete(list);
    return found;
}

cJSON *document_keys(void)
{
    cJSON *list = cJSON_CreateObject();
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++)
        add_operation(list, o);
    add_answers(list, "- -", get(get(document, "x-any-request"), "responses"));
    return list;
}
