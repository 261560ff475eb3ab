/*
 * fuzz_query.c - parameters, from a query or form and from JSON: whatever is taken has the form
 * that the route asks for, says the same when it is sent once more in either spelling, and is
 * taken once.
 *
 * The first byte chooses the spelling: '{' is JSON, anything else a query.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/query.h"
#include "server/base/json.h"

enum { QUANTITY_MAX = 1000 };

static const char *const names[] = {"item", "user", "quantity", "sale", "request", NULL};

static json_fault take(fs_query *query, bool json, const char *text, size_t len)
{
    query_init(query, names);
    query->why[0] = '\0';
    json_fault fault = json ? query_add_json(query, text, len) : query_add_words(query, text, len);
    FUZZ_HOLDS((fault == JSON_FINE) == (query->why[0] == '\0'),
               "a fault, and only that, has a sentence");
    return fault;
}

/* ---- writing once more ----------------------------------------------------------------------- */

static void add_escaped(fs_text *out, const char *words)
{
    for (; *words != '\0'; words++)
        text_printf(out, "%%%02x", (unsigned char)*words);
}

/* The values that were taken, as a query or as JSON. */
static void write_again(const fs_query *query, bool json, fs_text *out)
{
    const char *comma = "";
    text_add(out, json ? "{" : "");
    for (int i = 0; i < query->count; i++) {
        const query_param *param = &query->params[i];
        if (param->status != QUERY_OK)
            continue;
        text_add(out, comma);
        if (!json) {
            add_escaped(out, param->name);
            text_add(out, "=");
            add_escaped(out, param->value);
        } else if (param->kind == QUERY_JSON_NUMBER) {
            text_printf(out, "\"%s\":%s", param->name, param->value);
        } else {
            text_printf(out, "\"%s\":", param->name);
            text_json(out, param->value);
        }
        comma = json ? "," : "&";
    }
    text_add(out, json ? "}" : "");
}

static bool is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text < 0x80)
        text++;
    return *text == '\0';
}

/* What JSON can not say, it may not have been sent as. */
static void hold_again(const fs_query *query, bool json)
{
    fs_query again;
    fs_text text;
    text_init(&text);
    write_again(query, json, &text);
    FUZZ_HOLDS(take(&again, json, text_bytes(&text), text.len) == JSON_FINE,
               "what was taken is taken once more");
    for (int i = 0; i < query->count; i++) {
        const query_param *param = &query->params[i];
        if (param->status == QUERY_OK && (!json || is_ascii(param->value)))
            FUZZ_HOLDS(again.params[i].status == QUERY_OK &&
                           strcmp(again.params[i].value, param->value) == 0,
                       "with the same value");
    }
    text_free(&text);
}

/* ---- what was taken -------------------------------------------------------------------------- */

static bool consists_of(const char *text, size_t most, const char *more)
{
    char allowed[80];
    snprintf(allowed, sizeof(allowed), "%s%s",
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", more);
    size_t len = strlen(text);
    return len >= 1 && len <= most && strspn(text, allowed) == len;
}

static void hold_forms(const fs_query *query, bool json)
{
    char ident[IDENT_MAX + 1], user[USER_MAX + 1];
    int64_t number;
    if (query_word(query, "item", ident_ok, ident) == QUERY_OK)
        FUZZ_HOLDS(consists_of(ident, 64, "_-"), "an item is an identifier");
    if (query_word(query, "user", user_ok, user) == QUERY_OK)
        FUZZ_HOLDS(consists_of(user, 128, "._%+@-"), "a user is one");
    if (query_int(query, "quantity", 1, QUANTITY_MAX, &number) == QUERY_OK) {
        FUZZ_HOLDS(number >= 1 && number <= QUANTITY_MAX, "a number is within its limits");
        FUZZ_HOLDS(!json || query_word(query, "quantity", NULL, user) == QUERY_BAD,
                   "a number in JSON is no text");
    }
    FUZZ_HOLDS(query_word(query, "price", NULL, user) == QUERY_ABSENT, "nobody asked for a price");
}

/* A parameter that is there comes twice when it comes again, however it is spelt. */
static void hold_once(const fs_query *query, const char *text, size_t len, bool json)
{
    fs_query copy;
    for (int i = 0; i < query->count && !json; i++) {
        char more[64];
        copy = *query;
        snprintf(more, sizeof(more), "%%%02x%s=1", (unsigned char)query->params[i].name[0],
                 query->params[i].name + 1);
        json_fault fault = query_add_words(&copy, more, strlen(more));
        bool there = query->params[i].status != QUERY_ABSENT;
        FUZZ_HOLDS(fault == (there ? JSON_REPEATED : JSON_FINE), "a parameter comes once");
    }
    if (json) {
        FUZZ_HOLDS(memchr(text, '\0', len) == NULL, "JSON has no NUL");
        while (len > 0 && strchr(" \t\r\n", text[len - 1]))
            len--;
        FUZZ_HOLDS(take(&copy, true, text, len - 1) == JSON_NOT_OBJECT,
                   "an object without its end is none");
    }
}

void fuzz_query(const uint8_t *data, size_t len)
{
    fs_query query;
    bool json = len > 0 && data[0] == '{';
    char *text = fuzz_text(data, len); /* so that one byte too many is seen */
    if (take(&query, json, text, len) == JSON_FINE) {
        hold_forms(&query, json);
        hold_again(&query, json);
        hold_again(&query, false);
        hold_once(&query, text, len, json);
    }
    free(text);
}
