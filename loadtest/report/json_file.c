/*
 * The file is read whole. cJSON treats zero bytes as space and ignores what follows the document;
 * this file refuses both.
 */
#include "loadtest/report/json_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT (256L * 1024 * 1024)

static char *read_all(const char *path, size_t *ret_len)
{
    FILE *in = fopen(path, "r");
    char *text = NULL;
    if (!in)
        return NULL;
    if (fseek(in, 0, SEEK_END) == 0) {
        long length = ftell(in);
        rewind(in);
        text = length < 0 || length > FILE_LIMIT ? NULL : calloc(1, (size_t)length + 1);
        if (text && fread(text, 1, (size_t)length, in) != (size_t)length) {
            free(text);
            text = NULL;
        }
        *ret_len = (size_t)length;
    }
    fclose(in);
    return text;
}

/* Strictly; NULL, with the place of the first fault, when it is not JSON. */
static cJSON *parse(const char *text, size_t length, size_t *ret_fault)
{
    const char *end = text, *zero = memchr(text, '\0', length);
    cJSON *json = zero ? NULL : cJSON_ParseWithLengthOpts(text, length + 1, &end, true);
    *ret_fault = (size_t)((zero ? zero : end) - text) + 1;
    return json;
}

/* Whether there is at least one, and all of them are 1. */
static bool has_schema(const cJSON *json)
{
    bool found = false;
    const cJSON *member;
    cJSON_ArrayForEach(member, json) {
        if (!member->string || strcmp(member->string, "schema") != 0)
            continue;
        if (!cJSON_IsNumber(member) || member->valuedouble != 1.0)
            return false;
        found = true;
    }
    return found;
}

cJSON *json_file_read(const char *path, const char *kind, char *err, size_t err_len)
{
    size_t length = 0, fault = 0;
    char *text = read_all(path, &length);
    cJSON *json = !text ? NULL : parse(text, length, &fault);
    bool good = cJSON_IsObject(json) && has_schema(json);
    if (!text)
        snprintf(err, err_len, "%s can not be read", path);
    else if (!json)
        snprintf(err, err_len, "%s is not %s: no JSON from byte %zu on", path, kind, fault);
    else if (!good)
        snprintf(err, err_len, "%s is not %s: its \"schema\" is not 1", path, kind);
    free(text);
    if (good)
        return json;
    cJSON_Delete(json);
    return NULL;
}
