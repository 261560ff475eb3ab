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

typedef struct api_reply {
    int status;
    const char *content_type;   /* static text */
    const char *allow;          /* 405: the methods that there are; otherwise NULL */
    const char *challenge;      /* 401: what is asked for, as WWW-Authenticate says it; else NULL */
    const char *etag;           /* what may be kept, if this is asked before each use; else NULL */
    int retry_after_s;          /* 0 = no such header */
    bool replayed;              /* Idempotency-Replayed: true */
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

/* A JSON reply: sets status and type, and returns the body to write into. */
fs_text *reply_json(api_reply *reply, int status);

/* A problem; `detail` is one sentence for people. With 503 and 429 the client is told to try again
 * in a second, unless the caller then says otherwise in retry_after_s. */
void problem(api_reply *reply, int status, const char *code, const char *detail);

/* The same with further members: ",\"name\":value...", ready-made JSON. */
void problem_with(api_reply *reply, int status, const char *code, const char *detail,
                  const char *members);

/* A problem with status 503. */
void problem_later(api_reply *reply, const char *code, const char *detail);

/* Why Redis did nothing, by the first word of what it said ("" = it said nothing), as a sentence
 * that ends with `so`; and as a member "redis" in `members`. */
void store_refusal(const char *redis, const char *so, char *detail, size_t detail_len,
                   char *members, size_t members_len);

/* A problem with status 503 of that; `redis` may be what Redis said to this thread. */
void problem_redis(api_reply *reply, const char *redis, const char *so);

/* "Redis did not answer, and nothing was done", or what it said to this thread instead. */
void problem_store_unavailable(api_reply *reply);

/* "The sale's data in Redis are damaged." */
void problem_sale_damaged(api_reply *reply);

/* The reason phrase of a status, "Not Found" for one. Never NULL. */
const char *status_title(int status);

#endif
