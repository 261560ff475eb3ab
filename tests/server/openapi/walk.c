/*
 * walk.c - which part of the document an answer belongs to, and which parts had one.
 *
 * An answer is noted as "GET /stock 503 sale_damaged", as the document's own are listed. Requests
 * for no path or method of the document belong to its x-any-request, noted as "- -".
 */
#include "tests/server/openapi/walk.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "tests/server/openapi/schema.h"

enum { OPERATIONS_MAX = 64, KEY_MAX = 192 };

cJSON *walk_document;
static cJSON *had; /* an object with a member for each answer that was noted */

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

void walk_begin(fx_server *server)
{
    walk_document = cJSON_Parse(fx_expect(server, 200, "GET /openapi.json"));
    had = cJSON_CreateObject();
    assert_non_null(walk_document);
    fx.saw = walk_saw;
}

void walk_end(void)
{
    fx.saw = NULL;
    cJSON_Delete(walk_document);
    cJSON_Delete(had);
    walk_document = had = NULL;
}

void walk_forget(void)
{
    cJSON_Delete(had);
    had = cJSON_CreateObject();
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Whether a path is of this template, "/orders/{request}" for one. */
static bool matches(const char *template, const char *path, size_t len)
{
    size_t plain = strcspn(template, "{");
    if (template[plain] == '\0')
        return len == plain && strncmp(template, path, len) == 0;
    return len > plain && strncmp(template, path, plain) == 0;
}

static const cJSON *find_path(const char *target)
{
    const cJSON *each;
    size_t len = strcspn(target, "?");
    cJSON_ArrayForEach(each, get(walk_document, "paths"))
    {
        if (matches(each->string, target, len))
            return each;
    }
    return NULL;
}

/* The answers to this request, by status; HEAD has those of GET. Its name goes into key. */
static const cJSON *find_answers(const char *method, const char *target, char key[KEY_MAX])
{
    char name[16];
    const char *asked = strcmp(method, "HEAD") == 0 ? "get" : method;
    const cJSON *path = find_path(target);
    snprintf(name, sizeof(name), "%s", asked);
    for (char *c = name; *c; c++)
        *c = (char)tolower(*c);
    const cJSON *operation = get(path, name);
    bool head = operation && asked != method && get(path, "head");
    snprintf(key, KEY_MAX, "%s %s", operation ? method : "-", operation ? path->string : "-");
    if (!operation || (asked != method && !head))
        return get(get(walk_document, "x-any-request"), "responses");
    return get(operation, "responses");
}

/* ---- holding --------------------------------------------------------------------------------- */

static bool header_is(const cJSON *header, const char *value, char *err, size_t err_len)
{
    cJSON *text = cJSON_CreateString(value);
    header = schema_follow(walk_document, header);
    bool ok = schema_accepts(walk_document, get(header, "schema"), text, err, err_len);
    cJSON_Delete(text);
    return ok;
}

/* A documented header, whatever its case; of this answer or of every one. */
static const cJSON *find_header(const cJSON *answer, const char *name)
{
    const cJSON *found = cJSON_GetObjectItem(get(answer, "headers"), name);
    return found ? found
                 : cJSON_GetObjectItem(get(get(walk_document, "x-any-request"), "headers"), name);
}

static bool sent_are_documented(const cJSON *answer, const fx_reply *reply, char *err,
                                size_t err_len)
{
    const char *line = strchr(reply->headers, '\n');
    for (; line && line[1] != '\r' && line[1] != '\0'; line = strchr(line + 1, '\n')) {
        char name[64], value[512];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(line + 1, ":\r\n"), line + 1);
        const cJSON *header = find_header(answer, name);
        if (!header) {
            snprintf(err, err_len, "the header %s is not documented", name);
            return false;
        }
        if (!header_is(header, fx_reply_header(reply, name, value, sizeof(value)), err, err_len))
            return false;
    }
    return true;
}

static bool documented_are_sent(const cJSON *headers, const fx_reply *reply, char *err,
                                size_t err_len)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, headers)
    {
        char value[512];
        if (cJSON_IsTrue(get(schema_follow(walk_document, each), "required")) &&
            fx_reply_header(reply, each->string, value, sizeof(value))[0] == '\0') {
            snprintf(err, err_len, "the header %s is missing", each->string);
            return false;
        }
    }
    return true;
}

/* The code of a problem; "" of anything else. False: the problem tells another status. */
static bool read_code(const cJSON *body, const fx_reply *reply, char ret[64])
{
    const char *code = cJSON_GetStringValue(get(body, "code"));
    char type[64];
    fx_reply_header(reply, "Content-Type", type, sizeof(type));
    bool problem = strcmp(type, "application/problem+json") == 0 && code;
    snprintf(ret, 64, "%s", problem ? code : "");
    return !problem || (int)cJSON_GetNumberValue(get(body, "status")) == reply->status;
}

static bool body_is_documented(const cJSON *answer, const fx_reply *reply, char code[64], char *err,
                               size_t err_len)
{
    char type[64];
    fx_reply_header(reply, "Content-Type", type, sizeof(type));
    type[strcspn(type, "; ")] = '\0';
    const cJSON *content = get(get(answer, "content"), type);
    code[0] = '\0';
    if (!get(answer, "content") && reply->body[0] == '\0')
        return true;
    if (!content) {
        snprintf(err, err_len, "the type %s is not documented", type);
        return false;
    }
    bool json = strstr(type, "json") != NULL;
    cJSON *body =
        json ? cJSON_ParseWithOpts(reply->body, NULL, true) : cJSON_CreateString(reply->body);
    bool ok = body != NULL;
    if (!ok)
        snprintf(err, err_len, "no JSON");
    ok = ok && schema_accepts(walk_document, get(content, "schema"), body, err, err_len);
    if (!read_code(body, reply, code)) {
        snprintf(err, err_len, "the body has another status");
        ok = false;
    }
    cJSON_Delete(body);
    return ok;
}

bool walk_accepts(const char *method, const char *target, const fx_reply *reply, char *err,
                  size_t err_len)
{
    char key[KEY_MAX], status[16], code[64] = "";
    const cJSON *every = get(get(walk_document, "x-any-request"), "headers");
    const cJSON *answers = find_answers(method, target, key);
    snprintf(status, sizeof(status), "%d", reply->status);
    const cJSON *answer = schema_follow(walk_document, get(answers, status));
    if (!answer) {
        snprintf(err, err_len, "this status is not documented");
        return false;
    }
    if (!sent_are_documented(answer, reply, err, err_len) ||
        !documented_are_sent(every, reply, err, err_len) ||
        !documented_are_sent(get(answer, "headers"), reply, err, err_len))
        return false;
    if (strcmp(method, "HEAD") == 0) {
        snprintf(err, err_len, "HEAD has a body");
        return reply->body[0] == '\0';
    }
    if (!body_is_documented(answer, reply, code, err, err_len))
        return false;
    size_t len = strlen(key);
    snprintf(key + len, sizeof(key) - len, " %s%s%s", status, code[0] ? " " : "", code);
    if (!get(had, key))
        cJSON_AddTrueToObject(had, key);
    return true;
}

void walk_saw(const char *method, const char *target, const fx_reply *reply)
{
    char err[1536];
    if (!walk_accepts(method, target, reply, err, sizeof(err)))
        fail_msg("%s %s: %d %s\n%s%s", method, target, reply->status, err, reply->headers,
                 reply->body);
}

void walk_saw_refusal(const char *method, const char *target, const char *bytes, const char *code)
{
    const char *body = strstr(bytes, "\r\n\r\n"), *status = strchr(bytes, ' ');
    if (!body || !status)
        fail_msg("%s %s: expected %s, got %s", method, target, code, bytes);
    fx_reply reply = {.status = (int)strtol(status, NULL, 10),
                      .headers = strndup(bytes, (size_t)(body + 4 - bytes)),
                      .body = strdup(body + 4)};
    fx_assert_problem(target, &reply, reply.status, code);
    walk_saw(method, target, &reply);
    fx_reply_free(&reply);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Puts an example of a parameter, "k1" in a path or "item=P0001" in a query, if it is required. */
static void put_example(walk_operation *to, const cJSON *parameter)
{
    parameter = schema_follow(walk_document, parameter);
    const char *example = cJSON_GetStringValue(get(parameter, "example"));
    const char *name = cJSON_GetStringValue(get(parameter, "name"));
    size_t len = strlen(to->target);
    if (!cJSON_IsTrue(get(parameter, "required")))
        return;
    if (!name || !example)
        fail_msg("%s: a required parameter without an example", to->path);
    else if (strcmp(get(parameter, "in")->valuestring, "path") == 0)
        snprintf(to->target + strcspn(to->target, "{"),
                 sizeof(to->target) - strcspn(to->target, "{"), "%s", example);
    else
        snprintf(to->target + len, sizeof(to->target) - len, "%c%s=%s",
                 strchr(to->target, '?') ? '&' : '?', name, example);
}

static void read_operation(const cJSON *path, const cJSON *operation, walk_operation *ret)
{
    const cJSON *each;
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; operation->string[i] && i + 1 < sizeof(ret->method); i++)
        ret->method[i] = (char)toupper(operation->string[i]);
    snprintf(ret->path, sizeof(ret->path), "%s", path->string);
    snprintf(ret->target, sizeof(ret->target), "%s", path->string);
    cJSON_ArrayForEach(each, get(operation, "parameters"))
    {
        put_example(ret, each);
    }
}

const walk_operation *walk_operations(void)
{
    static walk_operation all[OPERATIONS_MAX + 1];
    int count = 0;
    const cJSON *path, *operation;
    cJSON_ArrayForEach(path, get(walk_document, "paths"))
    {
        cJSON_ArrayForEach(operation, path)
        {
            assert_true(count < OPERATIONS_MAX);
            if (strcmp(operation->string, "head") != 0)
                read_operation(path, operation, &all[count++]);
        }
    }
    all[count].method[0] = '\0';
    return all;
}

/* Adds the codes that a schema allows, or its text alone, to the list under `key`. */
static void add_codes(cJSON *list, const char *key, const cJSON *within)
{
    const cJSON *each, *code = get(get(within, "properties"), "code");
    char whole[KEY_MAX];
    cJSON_ArrayForEach(each, get(code, "enum"))
    {
        snprintf(whole, sizeof(whole), "%s %s", key, each->valuestring);
        cJSON_AddTrueToObject(list, whole);
    }
    if (get(code, "const")) {
        snprintf(whole, sizeof(whole), "%s %s", key, get(code, "const")->valuestring);
        cJSON_AddTrueToObject(list, whole);
    }
    cJSON_ArrayForEach(each, get(within, "oneOf"))
    {
        add_codes(list, key, each);
    }
}

static void add_answers(cJSON *list, const char *name, const cJSON *answers)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, answers)
    {
        char key[KEY_MAX];
        const cJSON *content = get(schema_follow(walk_document, each), "content");
        const cJSON *problem = get(get(content, "application/problem+json"), "schema");
        snprintf(key, sizeof(key), "%s %s", name, each->string);
        if (problem)
            add_codes(list, key, problem);
        else
            cJSON_AddTrueToObject(list, key);
    }
}

static void add_operation(cJSON *list, const walk_operation *operation)
{
    char key[KEY_MAX], name[KEY_MAX];
    snprintf(name, sizeof(name), "%s %s", operation->method, operation->path);
    add_answers(list, name, find_answers(operation->method, operation->path, key));
}

bool walk_documents(const walk_operation *operation, const char *code)
{
    const cJSON *each;
    bool found = false;
    cJSON *list = cJSON_CreateObject();
    add_operation(list, operation);
    cJSON_ArrayForEach(each, list)
    {
        found = found || strcmp(strrchr(each->string, ' ') + 1, code) == 0;
    }
    cJSON_Delete(list);
    return found;
}

static const walk_excuse *find_excuse(const walk_excuse *excuses, const char *key)
{
    for (; excuses->code; excuses++)
        if (strcmp(strrchr(key, ' ') + 1, excuses->code) == 0)
            return excuses;
    return NULL;
}

int walk_missing(const walk_excuse *excuses)
{
    const cJSON *each;
    int missing = 0, excused = 0, all;
    cJSON *list = cJSON_CreateObject();
    for (const walk_operation *o = walk_operations(); o->method[0] != '\0'; o++)
        add_operation(list, o);
    add_answers(list, "- -", get(get(walk_document, "x-any-request"), "responses"));
    all = cJSON_GetArraySize(list);
    cJSON_ArrayForEach(each, list)
    {
        bool excuse = find_excuse(excuses, each->string) != NULL;
        if (get(had, each->string))
            continue;
        missing += !excuse;
        excused += excuse;
        if (!excuse)
            print_message("documented, and answered to nobody: %s\n", each->string);
    }
    cJSON_Delete(list);
    print_message("%d answers are documented, %d were had, %d are excused\n", all,
                  all - missing - excused, excused);
    for (; excuses->code; excuses++)
        print_message("excused: %s: %s\n", excuses->code, excuses->why);
    return missing;
}
