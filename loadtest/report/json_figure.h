/*
 * json_figure.h - members of the result file: adding numbers, and reading members back.
 */
#ifndef LOADTEST_JSON_FIGURE_H
#define LOADTEST_JSON_FIGURE_H

#include <cjson/cJSON.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a number with six significant digits (more were not measured), or null for NAN and
 * infinity. */
static inline void add_figure(cJSON *json, const char *name, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        cJSON_AddNullToObject(json, name);
        return;
    }
    snprintf(text, sizeof(text), fabs(value) < 1e6 ? "%.6g" : "%.0f", value);
    cJSON_AddRawToObject(json, name, text);
}

static inline void add_count(cJSON *json, const char *name, int64_t value)
{
    cJSON_AddNumberToObject(json, name, (double)value);
}

/* The text of a member; "" = there is none. */
static inline const char *json_text(const cJSON *json, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    return !text ? "" : text;
}

/* The number at a path of members, as "range.throughput_rps.low"; NAN = there is none. */
static inline double json_number(const cJSON *json, const char *path)
{
    char name[64];
    for (size_t len; json && *path != '\0'; path += len + (path[len] == '.')) {
        len = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)len, path);
        json = cJSON_GetObjectItemCaseSensitive(json, name);
    }
    if (!json)
        return NAN;
    if (cJSON_IsRaw(json)) /* as add_figure() left it */
        return strtod(json->valuestring, NULL);
    return cJSON_IsNumber(json) ? json->valuedouble : NAN;
}

static inline bool json_true(const cJSON *json, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, name));
}

static inline const cJSON *json_member(const cJSON *json, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(json, name);
}

#endif
