/* What may be shown as it is, and the escapes for all else. */
#include "cmd/plain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t plain_len(const char *text)
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

char *plain_text(const char *text)
{
    char *copy = malloc(4 * strlen(text) + 1);
    if (!copy)
        return NULL;
    char *at = copy;
    for (size_t len; *text; text += len) {
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

void plain_put(FILE *to, const char *text)
{
    char *plain = plain_text(text);
    fputs(plain ? plain : "?", to);
    free(plain);
}
