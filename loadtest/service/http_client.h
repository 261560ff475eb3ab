/*
 * http_client.h - plain blocking HTTP for everything around a run: creating sales, reading the
 * stock.
 */
#ifndef LOADTEST_HTTP_CLIENT_H
#define LOADTEST_HTTP_CLIENT_H

#include <stdbool.h>

typedef struct lt_http lt_http; /* one connection, reused; used by one thread at a time */

typedef struct lt_http_reply {
    long status;      /* 0: no answer */
    const char *body; /* valid until the next call */
    char type[40];    /* of the body, "application/json"; "": not told */
    char error[256];  /* why there is no answer */
} lt_http_reply;

/* `token` is the service's admin token, sent with every request; NULL: none (copied).
 * NULL when memory is short. */
lt_http *http_new(const char *token);
void http_free(lt_http *http);

/* Performs one request; `json` is the body or NULL. Status 0: no answer came. */
void http_call(lt_http *http, const char *method, const char *url, const char *json,
               long timeout_ms, lt_http_reply *ret);

/*
 * GET, repeated a few times when no answer came, or one that reports a passing problem (429, 5xx):
 * one lost reply must not cost a run its evidence. Returns the last answer.
 */
void http_read(lt_http *http, const char *url, long timeout_ms, lt_http_reply *ret);

#endif
