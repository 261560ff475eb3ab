#include "tests/tools/stubserver/lies.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lies_add(struct lies *lies, const char *text)
{
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (lies->count == LIES_MAX || dot == NULL || equals == NULL || equals < dot)
        return false;
    int i = lies->count++;
    snprintf(lies->lies[i].place, sizeof(lies->lies[i].place), "%.*s", (int)(dot - text), text);
    snprintf(lies->lies[i].field, sizeof(lies->lies[i].field), "%.*s", (int)(equals - dot - 1),
             dot + 1);
    snprintf(lies->lies[i].value, sizeof(lies->lies[i].value), "%s", equals + 1);
    return true;
}

const char *lies_about(const struct lies *lies, const char *place, const char *field)
{
    for (int i = 0; i < lies->count; i++) {
        if (strcmp(lies->lies[i].place, place) == 0 && strcmp(lies->lies[i].field, field) == 0)
            return lies->lies[i].value;
    }
    return NULL;
}

int lies_status(const struct lies *lies, const char *place, int status)
{
    const char *lie = lies_about(lies, place, "status");
    return lie == NULL ? status : (int)strtol(lie, NULL, 10);
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->text + text->length, text->room - text->length, format, args);
    va_end(args);
    if (length > 0 && text->length + (size_t)length < text->room)
        text->length += (size_t)length;
}

void text_name(struct text *text, const char *field)
{
    bool first = text->length == 0 || text->text[text->length - 1] == '{';
    text_add(text, "%s\"%s\":", first ? "" : ",", field);
}

void text_word(struct text *text, const char *place, const char *field, const char *value)
{
    const char *lie = lies_about(text->lies, place, field);
    if (lie != NULL && lie[0] == '\0')
        return;
    text_name(text, field);
    if (lie == NULL)
        text_add(text, "\"%s\"", value);
    else
        text_add(text, "%s", lie);
}

void text_number(struct text *text, const char *place, const char *field, int64_t value)
{
    const char *lie = lies_about(text->lies, place, field);
    if (lie != NULL && lie[0] == '\0')
        return;
    text_name(text, field);
    if (lie == NULL)
        text_add(text, "%" PRId64, value);
    else if (lie[0] == '+')
        text_add(text, "%" PRId64, value + (int64_t)strtoll(lie + 1, NULL, 10));
    else
        text_add(text, "%s", lie);
}
