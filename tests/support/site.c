/* site.c - see site.h. */
#include "tests/support/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 15000, ARGS_MAX = 48 };

fx_site *fx_site_start(const char *const *redis_args, const char *const *extra_args)
{
    fx_site *site = calloc(1, sizeof(*site));
    assert_non_null(site);
    site->redis = fx_redis_start(redis_args);

    const char *args[ARGS_MAX] = {"--item", "P0001", "--stock", "1000", NULL};
    for (size_t i = 0; extra_args && extra_args[i]; i++) {
        assert_true(i + 5 < ARGS_MAX);
        args[i + 4] = extra_args[i];
    }
    for (int i = 0; i < FX_INSTANCES; i++)
        site->server[i] = fx_server_start(fx_redis_url(site->redis), args);
    return site;
}

void fx_site_stop(fx_site *site)
{
    if (site == NULL)
        return;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_kill(site->server[i]);
    fx_redis_stop(site->redis);
    free(site);
}

int fx_site_ask(fx_site *site, int at, const char *method, const char *path, const char *body,
                fx_reply *ret)
{
    size_t len = strlen(path) + 64;
    char *url = malloc(len);
    assert_non_null(url);
    snprintf(url, len, "%s%s", fx_server_url(site->server[at]), path);
    const char *const json[] = {"Content-Type: application/json", NULL};
    fx_http(method, url, body ? json : NULL, body, ANSWER_MS, ret);
    free(url);
    return ret->status;
}

void fx_site_sell(fx_site *site, int stock, const char *strategy)
{
    char body[256];
    fx_reply reply;
    snprintf(body, sizeof(body), "{\"item\":\"P0001\",\"stock\":%d,\"strategy\":\"%s\"}", stock,
             strategy);
    if (fx_site_ask(site, 0, "POST", "/sales", body, &reply) != 201)
        fail_msg("POST /sales %s: %d %s%s", body, reply.status, reply.body, reply.error);
    fx_reply_free(&reply);
}

int fx_site_stock(fx_site *site, const char *field)
{
    fx_reply reply;
    if (fx_site_ask(site, 0, "GET", "/stock?item=P0001", NULL, &reply) != 200)
        fail_msg("GET /stock: %d %s%s", reply.status, reply.body, reply.error);
    cJSON *stock = fx_reply_json(&reply);
    int value = (int)fx_json_number(stock, field);
    cJSON_Delete(stock);
    fx_reply_free(&reply);
    return value;
}

static cJSON *read_json_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    size_t size = 0;
    ssize_t len = getdelim(&text, &size, '\0', file); /* JSON holds no NUL: the whole file */
    cJSON *json = len > 0 ? cJSON_Parse(text) : NULL;
    free(text);
    fclose(file);
    return json;
}

cJSON *fx_site_load(fx_site *site, const char *const *args, int deadline_ms, int *code)
{
    char program[512], dir[256], path[300];
    const char *argv[ARGS_MAX] = {fx_build_path("loadtest", program, sizeof(program))};
    size_t n = 1;
    for (; args[n - 1]; n++) {
        assert_true(n + 2 * FX_INSTANCES + 3 < ARGS_MAX);
        argv[n] = args[n - 1];
    }
    for (int i = 0; i < FX_INSTANCES; i++) {
        argv[n++] = "--target";
        argv[n++] = fx_server_url(site->server[i]);
    }
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/result.json", dir);
    argv[n++] = "--json";
    argv[n++] = path;

    fx_process *load = fx_spawn(argv, true);
    *code = fx_process_wait(load, deadline_ms);
    cJSON *result = read_json_file(path);
    if (result == NULL)
        fail_msg("loadtest: exit code %d, no result\n%s\n%s", *code, fx_process_stdout(load),
                 fx_process_stderr(load));
    fx_process_free(load);
    fx_dir_remove(dir);
    return result;
}

cJSON *fx_reply_json(const fx_reply *reply)
{
    cJSON *json = cJSON_Parse(reply->body);
    if (json == NULL)
        fail_msg("not JSON: %d %s", reply->status, reply->body);
    return json;
}

double fx_json_number(const cJSON *object, const char *name)
{
    const cJSON *field = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(field))
        fail_msg("no number \"%s\"", name);
    return field->valuedouble;
}

const char *fx_json_text(const cJSON *object, const char *name)
{
    const cJSON *field = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(field))
        fail_msg("no text \"%s\"", name);
    return field->valuestring;
}
