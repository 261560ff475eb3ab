/* service.c - the service around a test program's cases, and requests that name what came instead
 * of what was expected. */
#include "tests/support/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/patience.h"

enum { ANSWER_MS = 30000, IN_FORCE_MS = 10000, STRATEGIES_MAX = 64 };

fx_service fx;

int fx_service_start(void **state)
{
    (void)state;
    fx.redis = fx.plan.one_server ? fx_redis_start_single(fx.plan.redis_args)
                                  : fx_redis_start(fx.plan.redis_args);
    for (int i = 0; i < fx.plan.instances; i++)
        fx.server[i] = fx_server_start(fx_redis_url(fx.redis), fx.plan.args);
    return 0;
}

int fx_service_stop(void **state)
{
    (void)state;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_kill(fx.server[i]);
    fx_redis_stop(fx.redis);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static char *print(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        abort();
    return text;
}

/* Sends "METHOD PATH BODY". */
static int ask(fx_server *server, const char *request, fx_reply *ret)
{
    static const char *const json[] = {"Content-Type: application/json", NULL};
    char *url, *method = strdup(request), *path = method ? strchr(method, ' ') : NULL;
    if (!path)
        abort();
    *path++ = '\0';
    char *body = strchr(path, ' ');
    if (body)
        *body++ = '\0';
    for (char *c = body; c && *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (asprintf(&url, "%s%s", fx_server_url(server), path) < 0)
        abort();
    fx_http(method, url, body ? json : NULL, body, ANSWER_MS, ret);
    if (fx.saw && ret->status != 0)
        fx.saw(method, path, ret);
    free(url);
    free(method);
    return ret->status;
}

int fx_ask(fx_server *server, fx_reply *ret, const char *request, ...)
{
    va_list args;
    va_start(args, request);
    char *text = print(request, args);
    va_end(args);
    int status = ask(server, text, ret);
    free(text);
    return status;
}

int fx_status(fx_server *server, const char *request, ...)
{
    va_list args;
    fx_reply reply;
    va_start(args, request);
    char *text = print(request, args);
    va_end(args);
    int status = ask(server, text, &reply);
    free(text);
    fx_reply_free(&reply);
    return status;
}

/* Keeps the reply's body until the next call, and frees all the rest. */
static const char *keep_body(fx_reply *reply)
{
    static char *kept;
    free(kept);
    kept = reply->body;
    reply->body = NULL;
    fx_reply_free(reply);
    return kept;
}

/* Redis has not answered the service, or a replica has not acknowledged a sale, and nothing was
 * done. */
static bool came_too_late(const fx_reply *reply)
{
    return (reply->status == 503 && strstr(reply->body, "\"redis\":\"no_answer\"")) ||
           (reply->status == 409 && strstr(reply->body, "\"durability_unavailable\"") &&
            strstr(reply->body, "acknowledged within"));
}

/* That may be for want of time on a crowded machine: where something else is expected, it is asked
 * for again. */
static void ask_in_time(fx_server *server, const char *request, const char *wanted, fx_reply *ret)
{
    enum { TIMES = 20 };
    ask(server, request, ret);
    for (int i = 0;
         i < TIMES && came_too_late(ret) && !strstr(ret->body, wanted) && fx_is_crowded(); i++) {
        fx_reply_free(ret);
        ask(server, request, ret);
    }
}

static const char *expect(fx_server *server, int status, char *request)
{
    fx_reply reply;
    const char *wanted = status == 503 ? "" : status == 409 ? "durability_unavailable" : "no code";
    ask_in_time(server, request, wanted, &reply);
    if (reply.status != status)
        fail_msg("%s: expected %d, got %d %s%s", request, status, reply.status, reply.body,
                 reply.error);
    free(request);
    return keep_body(&reply);
}

const char *fx_expect(fx_server *server, int status, const char *request, ...)
{
    va_list args;
    va_start(args, request);
    char *text = print(request, args);
    va_end(args);
    return expect(server, status, text);
}

typedef struct wanted {
    fx_server *server;
    const char *request, *part;
    int status;
    char last[1024]; /* answer */
} wanted;

static bool is_answered(void *arg)
{
    wanted *w = arg;
    fx_reply reply;
    bool good = fx_ask(w->server, &reply, "%s", w->request) == w->status &&
                strstr(reply.body, w->part) != NULL;
    snprintf(w->last, sizeof(w->last), "%d %s", reply.status, reply.body);
    fx_reply_free(&reply);
    return good;
}

void fx_await(fx_server *server, const char *request, int status, const char *part, int wait_ms)
{
    wanted w = {.server = server, .request = request, .part = part, .status = status};
    if (!fx_wait_until(is_answered, &w, wait_ms))
        fail_msg("%s: expected %d %s, got %s", request, status, part, w.last);
}

void fx_has(const char *body, const char *part)
{
    if (strstr(body, part) == NULL)
        fail_msg("expected %s in %s", part, body);
}

void fx_assert_problem(const char *what, const fx_reply *reply, int status, const char *code)
{
    char type[128];
    fx_reply_header(reply, "Content-Type", type, sizeof(type));
    if (reply->status != status || strncmp(type, "application/problem+json", 24) != 0)
        fail_msg("%s: expected %d, got %d %s: %s%s", what, status, reply->status, type, reply->body,
                 reply->error);
    cJSON *problem = fx_reply_json(reply);
    const char *found = fx_json_text(problem, "code");
    if (found[0] == '\0' || (code && strcmp(found, code) != 0))
        fail_msg("%s: expected the code %s, got %s", what, code ? code : "", reply->body);
    assert_int_equal((int)fx_json_number(problem, "status"), status);
    cJSON_Delete(problem);
    if ((status == 503 || status == 429) &&
        fx_reply_header(reply, "Retry-After", type, sizeof(type))[0] == '\0')
        fail_msg("%s: no Retry-After: %s", what, reply->headers);
}

const char *fx_refused(fx_server *server, int status, const char *code, const char *request, ...)
{
    va_list args;
    fx_reply reply;
    va_start(args, request);
    char *text = print(request, args);
    va_end(args);
    ask_in_time(server, text, code ? code : "", &reply);
    fx_assert_problem(text, &reply, status, code);
    free(text);
    return keep_body(&reply);
}

/* ---- sales ----------------------------------------------------------------------------------- */

typedef struct start {
    fx_server *server;
    const char *request;
    fx_reply reply; /* the last */
} start;

/* While Redis is slow, as on a busy machine, "nothing was started" is a right answer, and so is
 * that its replicas have not acknowledged for seconds. */
static bool is_decided(void *arg)
{
    start *s = arg;
    fx_reply_free(&s->reply);
    int status = ask(s->server, s->request, &s->reply);
    return (status != 503 || !strstr(s->reply.body, "nothing was started")) &&
           (status != 409 || !strstr(s->reply.body, "that acknowledged within"));
}

static const char *start_sale(fx_server *server, const char *item, const char *format, va_list args)
{
    static char id[64];
    char *request, *terms = print(format, args);
    if (asprintf(&request, "POST /sales {'item':'%s',%s}", item, terms) < 0)
        abort();
    free(terms);
    start s = {.server = server, .request = request};
    if (!fx_wait_until(is_decided, &s, IN_FORCE_MS) || s.reply.status != 201)
        fail_msg("%s: expected 201, got %d %s", request, s.reply.status, s.reply.body);
    free(request);
    fx_copy_member(keep_body(&s.reply), "sale", id, sizeof(id));
    return id;
}

const char *fx_start_sale(fx_server *server, const char *item, const char *terms, ...)
{
    va_list args;
    va_start(args, terms);
    const char *id = start_sale(server, item, terms, args);
    va_end(args);
    return id;
}

typedef struct current {
    const char *item, *id;
} current;

static bool is_in_force(void *arg)
{
    const current *sale = arg;
    bool all = true;
    for (int i = 0; i < FX_INSTANCES && fx.server[i]; i++) {
        fx_reply reply;
        fx_ask(fx.server[i], &reply, "GET /stock?item=%s", sale->item);
        all = all && strstr(reply.body, sale->id);
        fx_reply_free(&reply);
    }
    return all;
}

void fx_wait_in_force(const char *item, const char *id)
{
    current sale = {item, id};
    if (!fx_wait_until(is_in_force, &sale, IN_FORCE_MS))
        fail_msg("the sale %s of %s is not in force on every instance", id, item);
}

const char *fx_sell(const char *terms, ...)
{
    va_list args;
    va_start(args, terms);
    const char *id = start_sale(fx.server[0], "P0001", terms, args);
    va_end(args);
    fx_wait_in_force("P0001", id);
    return id;
}

const char *fx_current_sale(const char *item)
{
    static char id[64];
    if (!fx_redis_text(fx.redis, id, sizeof(id), "GET fs:{%s}:sale", item))
        fail_msg("%s has no sale", item);
    return id;
}

int fx_stock(const char *field)
{
    cJSON *stock = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /stock?item=P0001"));
    int value = (int)fx_json_number(stock, field);
    cJSON_Delete(stock);
    return value;
}

/* ---- strategies ------------------------------------------------------------------------------ */

static bool json_bool(const cJSON *object, const char *name)
{
    const cJSON *field = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsBool(field))
        fail_msg("no boolean \"%s\"", name);
    return cJSON_IsTrue(field);
}

const fx_strategy *fx_strategies(void)
{
    static fx_strategy all[STRATEGIES_MAX + 1];
    size_t count = 0;
    const cJSON *each;
    cJSON *answer = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /strategies"));
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "strategies")) {
        assert_true(count < STRATEGIES_MAX);
        fx_strategy *s = &all[count++];
        *s = (fx_strategy){.locked = json_bool(each, "locked"),
                           .replayable = json_bool(each, "replayable"),
                           .renews = json_bool(each, "renews"),
                           .guarded = json_bool(each, "guarded"),
                           .sharded = json_bool(each, "sharded"),
                           .reserves = json_bool(each, "reserves")};
        snprintf(s->name, sizeof(s->name), "%s", fx_json_text(each, "name"));
    }
    assert_true(count > 0);
    all[count].name[0] = '\0';
    cJSON_Delete(answer);
    return all;
}
