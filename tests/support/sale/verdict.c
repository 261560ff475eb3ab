/* verdict.c - asks the judge. */
#include "tests/support/sale/verdict.h"

#include <stdio.h>

#include "tests/support/service.h"

enum { JUDGED_MS = 60000 };

cJSON *verdict_ask(const char *history, int recovery_ms)
{
    char program[512], recovery_us[24];
    snprintf(recovery_us, sizeof(recovery_us), "%d000", recovery_ms);
    const char *argv[] = {fx_build_path("loadtest", program, sizeof(program)),
                          "verify",
                          "--json",
                          history,
                          recovery_ms > 0 ? "--i7-us" : NULL,
                          recovery_us,
                          NULL};
    fx_process *process = fx_spawn(argv, true);
    int code = fx_process_wait(process, JUDGED_MS);
    cJSON *answer = cJSON_Parse(fx_process_stdout(process));
    if (!answer)
        fprintf(stderr, "%s: exit code %d: %s\n", history, code, fx_process_stderr(process));
    fx_process_free(process);
    return answer;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

/* A fault that ends the sale leaves units that nobody could buy any more. */
static bool is_of_whole_sales(const cJSON *guarantee)
{
    return strcmp(text_of(guarantee, "name"), "all-sold") == 0;
}

int verdict_count(const cJSON *answer, const char *id, const char *state)
{
    int count = 0;
    const cJSON *each;
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "guarantees")) {
        bool wanted = id ? strcmp(text_of(each, "id"), id) == 0 : !is_of_whole_sales(each);
        count += wanted && strcmp(text_of(each, "state"), state) == 0;
    }
    return count;
}

long long verdict_violations(const cJSON *answer, const char *name)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "guarantees")) {
        if (strcmp(text_of(each, "name"), name) == 0 &&
            strcmp(text_of(each, "state"), "violated") == 0)
            return (long long)cJSON_GetObjectItemCaseSensitive(each, "count")->valuedouble;
    }
    return 0;
}

long long verdict_figure(const cJSON *answer, const char *name)
{
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(answer, "figures");
    const cJSON *figure = cJSON_GetObjectItemCaseSensitive(figures, name);
    return cJSON_IsNumber(figure) ? (long long)figure->valuedouble : VERDICT_UNKNOWN;
}

void verdict_expect_safe(const char *history)
{
    cJSON *answer = verdict_ask(history, 0);
    assert_non_null(answer);
    if (strcmp(text_of(answer, "verdict"), "SAFE") != 0)
        fail_msg("%s: %s", history, cJSON_PrintUnformatted(answer));
    cJSON_Delete(answer);
}
