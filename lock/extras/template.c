/*
 * Declarative use: key templates, "stock:{item}" filled from named arguments, and a callback that
 * runs under the lock so named. Composes public functions only.
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

/* ---- template -------------------------------------------------------------------------------- */

/* The key as far as it is filled, and where the complaint goes. */
typedef struct fill {
    char *key;
    size_t len, cap; /* bytes; cap includes the final NUL */
    char *err;
    size_t err_len;
} fill;

__attribute__((format(printf, 2, 3))) static bool complain(fill *f, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (f->err && f->err_len)
        vsnprintf(f->err, f->err_len, format, ap);
    va_end(ap);
    return false;
}

static bool append(fill *f, const char *bytes, size_t len)
{
    if (len >= f->cap - f->len)
        return complain(f, "the filled template is longer than %zu bytes", f->cap - 1);
    memcpy(f->key + f->len, bytes, len);
    f->len += len;
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
static const char *fill_placeholder(fill *f, const char *open, const dlock_named_arg *args)
{
    const char *name = open + 1;
    size_t len = strcspn(name, "{}");
    if (name[len] != '}') {
        complain(f, "'{' is not closed in the template (a literal brace is \"{{\")");
        return NULL;
    }
    if (len == 0) {
        complain(f, "\"{}\" in the template names no argument");
        return NULL;
    }
    const char *value = find_value(args, name, len);
    if (!value || !*value) {
        complain(f, "argument \"%.*s\" of the template is %s", (int)len, name,
                 value ? "empty" : "missing");
        return NULL;
    }
    return append(f, value, strlen(value)) ? name + len + 1 : NULL;
}

/* Takes the next piece of the template: literal text, a doubled brace or a placeholder. Returns
 * what follows it, or NULL. */
static const char *fill_piece(fill *f, const char *at, const dlock_named_arg *args)
{
    size_t literal = strcspn(at, "{}");
    if (literal > 0)
        return append(f, at, literal) ? at + literal : NULL;
    if (at[1] == at[0])
        return append(f, at, 1) ? at + 2 : NULL;
    if (at[0] == '{')
        return fill_placeholder(f, at, args);
    complain(f, "'}' without '{' in the template (a literal brace is \"}}\")");
    return NULL;
}

dlock_status dlock_template(const char *key_template, const dlock_named_arg *args, char *ret,
                            size_t ret_len, char *err, size_t err_len)
{
    fill f = {.key = ret, .cap = ret_len, .err = err, .err_len = err_len};
    if (!key_template || !ret || ret_len == 0) {
        complain(&f, "no template, or no room for its result");
        return DLOCK_INVALID;
    }
    const char *at = key_template;
    while (at && *at)
        at = fill_piece(&f, at, args);
    if (at && f.len == 0) {
        complain(&f, "the template is empty");
        at = NULL;
    }
    /* A half-filled key must not be usable by mistake. */
    ret[at ? f.len : 0] = '\0';
    return at ? DLOCK_OK : DLOCK_INVALID;
}

/* ---- callback -------------------------------------------------------------------------------- */

enum { KEY_MAX = 1024 }; /* bytes of a filled template, its final NUL included */

/* Whether the lock was ours to the body's end. A release that got no answer says nothing about
 * that; what this process knew just before it does. */
static dlock_status give_back(dlock_hold *hold)
{
    bool held = dlock_held(hold);
    dlock_status released = dlock_release(hold);
    switch (released) {
    case DLOCK_OK:
    case DLOCK_EXPIRED:
    case DLOCK_NOT_OWNER:
        return released;
    default:
        return held ? DLOCK_OK : DLOCK_EXPIRED;
    }
}

dlock_status dlock_with(dlock_client *client, const char *key_template, const dlock_named_arg *args,
                        const dlock_options *options, const dlock_wait *wait,
                        int (*body)(void *arg, dlock_hold *hold), void *arg, int *body_ret)
{
    char name[KEY_MAX], err[128];
    dlock_lock *lock;
    dlock_hold *hold;

    dlock_status status = dlock_template(key_template, args, name, sizeof(name), err, sizeof(err));
    if (status != DLOCK_OK)
        return status;
    status = dlock_lock_new(client, name, options, &lock, err, sizeof(err));
    if (status != DLOCK_OK)
        return status;
    status = dlock_acquire(lock, wait, &hold);
    if (status == DLOCK_OK) {
        int value = body(arg, hold);
        if (body_ret)
            *body_ret = value;
        status = give_back(hold);
    }
    dlock_lock_free(lock);
    return status;
}
