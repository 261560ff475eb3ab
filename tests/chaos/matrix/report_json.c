/* report_json.c - matrix.json: what the other reports show, for programs. */
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tests/chaos/matrix/matrix.h"

static void add_environment(cJSON *json)
{
    char date[32];
    struct utsname system;
    struct tm utc;
    time_t now = time(NULL);
    cJSON *environment = cJSON_AddObjectToObject(json, "environment");
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    cJSON_AddStringToObject(environment, "date", date);
    cJSON_AddStringToObject(environment, "flashsale", FLASHSALE_VERSION);
    cJSON_AddNumberToObject(environment, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) != 0)
        return;
    cJSON_AddStringToObject(environment, "system", system.sysname);
    cJSON_AddStringToObject(environment, "kernel", system.release);
    cJSON_AddStringToObject(environment, "machine", system.machine);
}

static cJSON *cell_json(const matrix_cell *c)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "strategy", c->row.name);
    cJSON_AddStringToObject(json, "fault", c->fault->name);
    cJSON_AddNumberToObject(json, "runs", c->runs);
    cJSON_AddNumberToObject(json, "tries", c->tries);
    cJSON_AddNumberToObject(json, "landed", (double)c->landed);
    for (int i = 0; i < FIGURES; i++)
        cJSON_AddItemToObject(json, figure_names[i],
                              c->untold[i] ? cJSON_CreateNull()
                                           : cJSON_CreateNumber((double)c->figures[i]));
    cJSON_AddStringToObject(json, "verdict", verdict_word(c->verdict));
    cJSON_AddStringToObject(json, "violated", c->violated);
    cJSON_AddStringToObject(json, "why", c->why);
    cJSON_AddBoolToObject(json, "as_expected", c->as_expected);
    cJSON_AddStringToObject(json, "command", matrix_command(c));
    return json;
}

bool matrix_json(const matrix *m, FILE *out)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "schema", 1);
    add_environment(json);
    cJSON_AddNumberToObject(json, "seed", (double)m->seed);
    cJSON *cells = cJSON_AddArrayToObject(json, "cells");
    for (int i = 0; i < m->len; i++)
        cJSON_AddItemToArray(cells, cell_json(&m->cells[i]));
    cJSON *planted = cJSON_AddObjectToObject(json, "planted");
    cJSON_AddNumberToObject(planted, "total", m->planted);
    cJSON_AddNumberToObject(planted, "caught", m->caught);
    char *text = cJSON_Print(json);
    bool written = text && fputs(text, out) >= 0 && fputc('\n', out) != EOF;
    free(text);
    cJSON_Delete(json);
    return written;
}
