/* service_json.c - what programs and answers say as JSON; see service.h. */
#include "tests/support/service.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARGS_MAX = 48 };

cJSON *fx_json_file(const char *path)
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

static cJSON *run_loadtest(const char *const *argv, const char *result_path, int deadline_ms,
                           int *code)
{
    fx_process *load = fx_spawn(argv, true);
    *code = fx_process_wait(load, deadline_ms);
    cJSON *result = fx_json_file(result_path);
    if (result == NULL)
        fail_msg("loadtest: exit code %d, no result\n%s\n%s", *code, fx_process_stdout(load),
                 fx_process_stderr(load));
    if (*code == FX_LOADTEST_INVALID)
        print_message("%s", fx_process_stdout(load));
    fx_process_free(load);
    return result;
}

cJSON *fx_loadtest(const char *const *args, int deadline_ms, int *code)
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
        argv[n++] = fx_server_url(fx.server[i]);
    }
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/result.json", dir);
    argv[n++] = "--json";
    argv[n++] = path;

    cJSON *result = run_loadtest(argv, path, deadline_ms, code);
    for (int i = 1; i < FX_LOADTEST_TRIES && *code == FX_LOADTEST_INVALID; i++) {
        cJSON_Delete(result);
        result = run_loadtest(argv, path, deadline_ms, code);
    }
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

void fx_copy_member(const char *body, const char *name, char *buf, size_t len)
{
    cJSON *json = cJSON_Parse(body);
    if (!json)
        fail_msg("not JSON: %s", body);
    snprintf(buf, len, "%s", fx_json_text(json, name));
    cJSON_Delete(json);
}
