/* plain.c - decides which characters are shown as they are; all others become \xNN. */
#include "loadtest/base/plain.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes the first character of the text has; 0: it is not plain. */
static size_t plain_len(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t len = *c < 0x80 ? 1 : *c < 0xC2 ? 0 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : *c < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < len; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    bool control = *c < 0x20 || *c == 0x7F || (*c == 0xC2 && c[1] < 0xA0);
    bool invalid = (*c == 0xE0 && c[1] < 0xA0) || (*c == 0xED && c[1] > 0x9F) ||
                   (*c == 0xF0 && c[1] < 0x90) || (*c == 0xF4 && c[1] > 0x8F);
    return control || invalid ? 0 : len;
}

/* The caller frees it. NULL: no memory. */
static char *plain_text(const char *text)
{
    char *copy = malloc(4 * strlen(text) + 1);
    if (!copy)
        return NULL;
    char *at = copy;
    for (size_t len; *text != '\0'; text += len) {
        len = plain_len(text);
        if (len > 0) {
            memcpy(at, text, len);
            at += len;
        } else {
            len = 1;
            at += snprintf(at, 5, "\\x%02x", (unsigned char)*text);
        }
    }
    *at = '\0';
    return copy;
}

/* Frees the text and returns its plain form, which the caller frees. */
static void make_plain(char **text)
{
    char *plain = plain_text(*text);
    if (!plain) {
        (*text)[0] = '\0';
        return;
    }
    cJSON_free(*text);
    *text = plain;
}

void plain_json(cJSON *document)
{
    for (cJSON *item = document; item; item = item->next) {
        if (item->string && !(item->type & cJSON_StringIsConst))
            make_plain(&item->string);
        if (cJSON_IsString(item) && !(item->type & cJSON_IsReference))
            make_plain(&item->valuestring);
        plain_json(item->child);
    }
}

void plain_complain(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    char *plain = plain_text(text);
    fprintf(stderr, "loadtest: %s\n", plain ? plain : "out of memory");
    free(plain);
}
