/*
 * http.h - one HTTP request, for assertions about its answer. Not for load: each request opens a
 * connection of its own. May be called from any thread.
 */
#ifndef TESTS_SUPPORT_HTTP_H
#define TESTS_SUPPORT_HTTP_H

#include <stddef.h>

typedef struct fx_reply {
    int status;    /* 0: no answer; see error */
    char *body;    /* NUL-terminated, never NULL after fx_http() */
    char *headers; /* as received, one per line, the status line first; never NULL likewise */
    char error[256];
} fx_reply;

/* `headers` are lines like "Idempotency-Key: k1", ending with NULL, or NULL; `body` may be NULL.
 * Returns ret->status, 0 when no whole answer came within timeout_ms. Free the reply either way. */
int fx_http(const char *method, const char *url, const char *const *headers, const char *body,
            int timeout_ms, fx_reply *ret);

/* The value of a header, whatever its case, copied into buf; "" when the answer has none. */
const char *fx_reply_header(const fx_reply *reply, const char *name, char *buf, size_t len);

void fx_reply_free(fx_reply *reply);

#endif
