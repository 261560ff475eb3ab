/* bench_file.h - what dlock bench --json has written. */
#ifndef TESTS_LOCK_CMD_BENCH_FILE_H
#define TESTS_LOCK_CMD_BENCH_FILE_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"

/* The file's content, to be deleted; NULL where there is none, or it is no JSON. */
static inline cJSON *bench_file_read(const char *path)
{
    char text[65536];
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return cJSON_Parse(text);
}

/* Fails the test where there is no such number. */
static inline double bench_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("no number \"%s\"", name);
    return item->valuedouble;
}

#endif
