/* walk.c - an answer held to the document, part by part, and noted by its key. */
#include "tests/server/openapi/walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/server/openapi/document.h"
#include "tests/server/openapi/parts.h"
#include "tests/server/openapi/schema.h"

static cJSON *had; /* an object with a member for the key of each answer that was noted */

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

void walk_begin(fx_server *server)
{
    document_read(server);
    had = cJSON_CreateObject();
    fx.saw = walk_saw;
}

void walk_end(void)
{
    fx.saw = NULL;
    cJSON_Delete(had);
    had = NULL;
    document_drop();
}

void walk_forget(void)
{
    parts_forget();
    cJSON_Delete(had);
    had = cJSON_CreateObject();
}

/* ---- holding --------------------------------------------------------------------------------- */

static bool header_is(const cJSON *header, const char *value, char *err, size_t err_len)
{
    cJSON *text = cJSON_CreateString(value);
    const cJSON *schema = get(schema_follow(document, header), "schema");
    bool ok = schema_accepts(document, schema, text, err, err_len);
    if (ok) {
        parts_note(header);
        schema_note(document, schema, text, parts_note);
    }
    cJSON_Delete(text);
    return ok;
}

/* A documented header, whatever its case; of this answer or of every one. */
static const cJSON *find_header(const cJSON *answer, const char *name)
{
    const cJSON *found = cJSON_GetObjectItem(get(answer, "headers"), name);
    return found ? found
                 : cJSON_GetObjectItem(get(get(document, "x-any-request"), "headers"), name);
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

/* Where a body ends: only a stream has none to tell. */
static bool length_is_sent(const fx_reply *reply, char *err, size_t err_len)
{
    char type[64], length[32];
    fx_reply_header(reply, "Content-Type", type, sizeof(type));
    fx_reply_header(reply, "Content-Length", length, sizeof(length));
    snprintf(err, err_len, "Content-Length is '%s' in an answer of type %s", length, type);
    return (strcmp(type, "text/event-stream") == 0) == (length[0] == '\0');
}

static bool documented_are_sent(const cJSON *headers, const fx_reply *reply, char *err,
                                size_t err_len)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, headers) {
        char value[512];
        if (cJSON_IsTrue(get(schema_follow(document, each), "required")) &&
            fx_reply_header(reply, each->string, value, sizeof(value))[0] == '\0') {
            snprintf(err, err_len, "the header %s is missing", each->string);
            return false;
        }
    }
    return true;
}

/* Whether the body is of a documented type and as its schema says; then the key is completed. */
static bool body_is_documented(const cJSON *answer, const fx_reply *reply,
                               char key[DOCUMENT_KEY_MAX], char *err, size_t err_len)
{
    char type[64];
    fx_reply_header(reply, "Content-Type", type, sizeof(type));
    type[strcspn(type, "; ")] = '\0';
    const cJSON *content = get(get(answer, "content"), type), *schema = get(content, "schema");
    if (!get(answer, "content") && reply->body[0] == '\0') {
        document_add_shape(key, reply->status, NULL, NULL);
        return true;
    }
    if (!schema) {
        snprintf(err, err_len, "the type %s is not documented", type);
        return false;
    }
    cJSON *body = strstr(type, "json") ? cJSON_ParseWithOpts(reply->body, NULL, true)
                                       : cJSON_CreateString(reply->body);
    bool problem = strcmp(type, "application/problem+json") == 0;
    bool ok = schema_accepts(document, schema, body, err, err_len);
    if (ok && problem && (int)cJSON_GetNumberValue(get(body, "status")) != reply->status) {
        snprintf(err, err_len, "the body has another status");
        ok = false;
    }
    if (ok) {
        document_add_shape(key, reply->status, schema, problem ? body : NULL);
        parts_note(content);
        schema_note(document, schema, body, parts_note);
    }
    cJSON_Delete(body);
    return ok;
}

bool walk_accepts(const char *method, const char *target, const fx_reply *reply, char *err,
                  size_t err_len)
{
    char key[DOCUMENT_KEY_MAX], status[16];
    const cJSON *every = get(get(document, "x-any-request"), "headers");
    const cJSON *answers = document_answers(method, target, key);
    snprintf(status, sizeof(status), "%d", reply->status);
    const cJSON *answer = schema_follow(document, get(answers, status));
    if (!answer) {
        snprintf(err, err_len, "this status is not documented");
        return false;
    }
    if (!sent_are_documented(answer, reply, err, err_len) || !length_is_sent(reply, err, err_len) ||
        !documented_are_sent(every, reply, err, err_len) ||
        !documented_are_sent(get(answer, "headers"), reply, err, err_len))
        return false;
    if (strcmp(method, "HEAD") == 0) {
        snprintf(err, err_len, "HEAD has a body");
        return reply->body[0] == '\0';
    }
    if (!body_is_documented(answer, reply, key, err, err_len))
        return false;
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

/* ---- what is missing --------------------------------------------------------------------------
 */

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
    cJSON *list = document_keys();
    int missing = 0, excused = 0, all = cJSON_GetArraySize(list);
    cJSON_ArrayForEach(each, list) {
        bool excuse = find_excuse(excuses, each->string) != NULL;
        if (get(had, each->string))
            continue;
        missing += !excuse;
        excused += excuse;
        if (!excuse)
            print_message("documented, and answered to nobody: %s\n", each->string);
    }
    cJSON_Delete(list);
    print_message("%d answers are documented, %d were given, %d are excused\n", all,
                  all - missing - excused, excused);
    missing += parts_missing(excuses);
    for (; excuses->code; excuses++)
        print_message("excused: %s: %s\n", excuses->code, excuses->why);
    return missing;
}
