/*
 * reply.h - what an endpoint answers. It fills the reply and returns; it never sends.
 *
 * A refusal is a problem as RFC 9457 has it, with a code that never changes:
 *
 *     {"type":"about:blank","title":"Conflict","status":409,"code":"sold_out","detail":"..."}
 */
#ifndef FLASHSALE_REPLY_H
#define FLASHSALE_REPLY_H

#include "server/base/text.h"
#include "server/store/outcome.h"

typedef struct api_reply {
    int status;
    const char *content_type;   /* static text */
    const char *allow;          /* 405: the methods that there are; otherwise NULL */
    const char *challenge;      /* 401: what is asked for, as WWW-Authenticate says it; else NULL */
    const char *etag;           /* what may be kept, if this is asked before each use; else NULL */
    int retry_after_s;          /* 0 = no such header */
    bool replayed;              /* Idempotency-Replayed: true */
    bool object;                /* the body is a JSON object whose end is still to be written */
    bool close;                 /* the connection is to end after this reply */
    char stream[IDENT_MAX + 1]; /* not "": the answer goes on, with documents of this item */
    bool sent;                  /* another thread has answered already, and called api_done() */

    /* behind all the rest, which reply_init() clears */
    fs_text location; /* "" = no such header */
    fs_text body;
} api_reply;

void reply_init(api_reply *reply);
void reply_free(api_reply *reply);

/* Appends the whole response as HTTP has it, or with `head_only` all but the body. */
void reply_write(fs_text *out, const api_reply *reply, bool head_only);

/* Begins a JSON object, to whose members text_put() adds. reply_write() ends it. */
fs_text *reply_json(api_reply *reply, int status);

/* A problem; `detail` is one sentence for people. Further members may be added to the body. With
 * 503 and 429 the client is told to try again in a second, unless the caller then says otherwise in
 * retry_after_s. */
void problem(api_reply *reply, int status, const char *code, const char *detail);

/* The problem that outcome.c has for it. `detail` NULL: with the sentence that stands there. */
void problem_outcome(api_reply *reply, purchase_outcome outcome, const char *detail);

/* BUY_UNAVAILABLE: why Redis did nothing, by the first word of what it said ("" = it said nothing;
 * dlock_redis_said(), what it said to this thread), as a sentence that ends with `so`, and as a
 * member "redis". */
void problem_redis(api_reply *reply, const char *redis, const char *so);

#endif
