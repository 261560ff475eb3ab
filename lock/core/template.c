/*
 * template.c - key templates: "stock:{item}" filled from named arguments.
 *
 * The template's grammar is Python's str.format without its options: "{name}" is replaced, "{{"
 * and "}}" are literal braces (a Redis hash tag is written "{{{item}}}"). A missing or empty
 * argument is an error and never an empty string: "stock:" would be one lock for all items, and
 * nobody would notice but the queue.
 */
#include "dlock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The key as far as it is filled, and where the complaint goes. */
struct fill {
    char *key;
    size_t len, cap; /* bytes; cap includes the final NUL */
    char *err;
    size_t err_len;
};

__attribute__((format(printf, 2, 3))) static bool complain(struct fill *fill, const char *format,
                                                           ...)
{
    va_list ap;
    va_start(ap, format);
    if (fill->err && fill->err_len)
        vsnprintf(fill->err, fill->err_len, format, ap);
    va_end(ap);
    return false;
}

static bool append(struct fill *fill, const char *bytes, size_t len)
{
    if (len >= fill->cap - fill->len)
        return complain(fill, "the filled template is longer than %zu bytes", fill->cap - 1);
    memcpy(fill->key + fill->len, bytes, len);
    fill->len += len;
    return true;
}

static const char *find_value(const dlock_named_arg *args, const char *name, size_t len)
{
    for (; args && args->name; args++) {
        if (strlen(args->name) == len && memcmp(args->name, name, len) == 0)
            return args->value;
    }
    return NULL;
}

/* Replaces the "{name}" that starts at `open`. Returns what follows it, or NULL. */
static const char *fill_placeholder(struct fill *fill, const char *open,
                                    const dlock_named_arg *args)
{
    const char *name = open + 1;
    size_t len = strcspn(name, "{}");
    if (name[len] != '}') {
        complain(fill, "'{' is not closed in the template (a literal brace is \"{{\")");
        return NULL;
    }
    if (len == 0) {
        complain(fill, "\"{}\" in the template names no argument");
        return NULL;
    }
    const char *value = find_value(args, name, len);
    if (!value || !*value) {
        complain(fill, "argument \"%.*s\" of the template is %s", (int)len, name,
                 value ? "empty" : "missing");
        return NULL;
    }
    return append(fill, value, strlen(value)) ? name + len + 1 : NULL;
}

/* Takes the next piece of the template: literal text, a doubled brace or a placeholder. Returns
 * what follows it, or NULL. */
static const char *fill_piece(struct fill *fill, const char *at, const dlock_named_arg *args)
{
    size_t literal = strcspn(at, "{}");
    if (literal > 0)
        return append(fill, at, literal) ? at + literal : NULL;
    if (at[1] == at[0])
        return append(fill, at, 1) ? at + 2 : NULL;
    if (at[0] == '{')
        return fill_placeholder(fill, at, args);
    complain(fill, "'}' without '{' in the template (a literal brace is \"}}\")");
    return NULL;
}

dlock_status dlock_template(const char *key_template, const dlock_named_arg *args, char *ret,
                            size_t ret_len, char *err, size_t err_len)
{
    struct fill fill = {.key = ret, .cap = ret_len, .err = err, .err_len = err_len};
    if (!key_template || !ret || ret_len == 0) {
        complain(&fill, "no template, or no room for its result");
        return DLOCK_INVALID;
    }
    const char *at = key_template;
    while (at && *at)
        at = fill_piece(&fill, at, args);
    if (at && fill.len == 0) {
        complain(&fill, "the template is empty");
        at = NULL;
    }
    /* A half-filled key must not be usable by mistake. */
    ret[at ? fill.len : 0] = '\0';
    return at ? DLOCK_OK : DLOCK_INVALID;
}
