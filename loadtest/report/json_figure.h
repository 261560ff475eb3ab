/*
 * json_figure.h - numbers of the result file.
 */
#ifndef LOADTEST_JSON_FIGURE_H
#define LOADTEST_JSON_FIGURE_H

#include <cjson/cJSON.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Adds a number with six significant digits (the others were not measured), or null for what is
 * none: NAN, or a division by nothing. */
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

#endif
