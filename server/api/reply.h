/*
 * reply.h - the answer of an endpoint, which fills in the reply and returns; it never sends.
 *
 * A refusal is a problem (RFC 9457) with a code that never changes:
 *
 *     {"type":"about:blank","title":"Conflict","status":409,"code":"sold_out","detail":"..."}
 */
#ifndef FLASHSALE_REPLY_H
#define FLASHSALE_REPLY_H

#include "server/base/text.h"
#include "server/store/outcome.h"

typedef struct api_reply {
    int status;
    const char *content_type; /* static text */
    const char *allow;        /* 405: the allowed methods; otherwise NULL */
    const char *challenge;    /* 401: the value of WWW-Authenticate; else NULL */
    const char *etag;         /* may be cached, but must be revalidated before each use; or NULL */
    int retry_after_s;        /* 0 = no such header */
    bool replayed;            /* Idempotency-Replayed: true */
    bool object;              /* the body is a JSON object that must still be closed */
    bool close;               /* close the connection after this reply */
    char stream[IDENT_MAX + 1]; /* not "": the answer continues with documents of this item */
    bool sent;                  /* another thread has already answered, and called api_done() */

    /* last: reply_init() clears all members before */
    fs_text location; /* "" = no such header */
    fs_text body;
} api_reply;

void reply_init(api_reply *reply);
void reply_free(api_reply *reply);

/* Appends the whole HTTP response, or with `head_only` all but the body. */
void reply_write(fs_text *out, const api_reply *reply, bool head_only);

/* Begins a JSON object, to whose members text_put() adds. reply_write() ends it. */
fs_text *reply_json(api_reply *reply, int status);

/* A problem; `detail` is one sentence for people. The caller may add members to the body. 503 and
 * 429 tell the client to retry after a second, unless the caller then changes retry_after_s. */
void problem(api_reply *reply, int status, const char *code, const char *detail);

/* The problem of an outcome. `detail` NULL: the sentence in outcome.c. */
void problem_outcome(api_reply *reply, purchase_outcome outcome, const char *detail);

/* BUY_UNAVAILABLE, with the reason as a member "redis" and as a sentence that ends with `so`.
 * `redis` is the first word of Redis's error to this thread (dlock_redis_said()); "" = no answer.
 */
void problem_redis(api_reply *reply, const char *redis, const char *so);

#endif
