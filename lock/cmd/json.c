/* Writing JSON: what stands before a value, and escapes. */
#include "cmd/json.h"
#include "cmd/plain.h"

#include <inttypes.h>
#include <math.h>

/* What is no UTF-8 is told as U+FFFD, a replacement for each byte. */
static void escape(FILE *file, const char *text)
{
    fputc('"', file);
    for (size_t len; *text; text += len) {
        const unsigned char *c = (const unsigned char *)text;
        len = plain_len(text);
        bool control = len == 0 && (*c < 0x80 || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0));
        if (*c == '"' || *c == '\\')
            fputc('\\', file);
        if (len > 0)
            fwrite(text, 1, len, file);
        else
            fprintf(file, "\\u%04x", !control ? 0xFFFDu : *c < 0x80 ? *c : c[1]);
        len = len > 0 ? len : control && *c >= 0x80 ? 2 : 1;
    }
    fputc('"', file);
}

/* What stands before a value: the comma, a new line, the key. */
static void lead(json_writer *json, const char *key)
{
    if (json->comma)
        fputc(',', json->file);
    if (json->depth > 0)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    if (key) {
        escape(json->file, key);
        fputs(": ", json->file);
    }
    json->comma = true;
}

void json_open(json_writer *json, const char *key, char bracket)
{
    lead(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->comma = false;
}

void json_close(json_writer *json, char bracket)
{
    json->depth--;
    if (json->comma)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->file);
    json->comma = true;
    if (json->depth == 0)
        fputc('\n', json->file);
}

void json_text(json_writer *json, const char *key, const char *text)
{
    lead(json, key);
    escape(json->file, text);
}

void json_int(json_writer *json, const char *key, int64_t number)
{
    lead(json, key);
    fprintf(json->file, "%" PRId64, number);
}

void json_bool(json_writer *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->file);
}

void json_number(json_writer *json, const char *key, double number, int decimals)
{
    lead(json, key);
    if (isfinite(number))
        fprintf(json->file, "%.*f", decimals, number);
    else
        fputs("null", json->file);
}
