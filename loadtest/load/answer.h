/*
 * answer.h - how one attempt to buy, or one lookup, ended: an HTTP answer, or a transport failure
 * with its phase.
 */
#ifndef LOADTEST_ANSWER_H
#define LOADTEST_ANSWER_H

#include "loadtest/base/outcome.h"
#include "loadtest/history/order.h"
#include "loadtest/stats/errors.h"

#include <curl/curl.h>

#define ANSWER_BODY_MAX (64 * 1024) /* more of a body is not kept */

/* A body while it arrives. All zero: empty. */
typedef struct lt_body {
    char *text; /* from malloc() */
    size_t length, room;
    bool cut; /* there was more */
} lt_body;

/* CURLOPT_WRITEFUNCTION for an lt_body. */
size_t body_receive(char *data, size_t size, size_t count, void *user);
void body_release(lt_body *body);

typedef struct lt_answer {
    bool came;   /* an HTTP answer, whole */
    bool sent;   /* at least a part of the request was */
    long status; /* 0: none came */
    lt_outcome outcome;
    char code[64];      /* the problem's code, "" = none; or the name of the failure */
    const char *unread; /* why its body could not be read, a word of format.h; NULL: it was read */
    lt_order told;      /* by a 201 or 200 */
    bool final, replayed;
    char location[300]; /* "" = none */
    uint64_t body_hash; /* of the bytes of a 201 or 200 */
    bool is_error;      /* counted among the errors, with `phase` and `code` */
    lt_error_phase phase;
    long bytes_received, bytes_sent;
} lt_answer;

/* Reads the end of a performed transfer. */
void answer_read(CURL *easy, CURLcode result, const lt_body *body, lt_answer *ret);

/* A question. Empty texts are not written; times are instants. */
typedef struct lt_question {
    const char *request, *user; /* user NULL: a lookup */
    const char *ending;         /* of its order: "confirm" or "cancel"; NULL: neither */
    const char *asked;          /* the `sale=` sent, if it is not the history's; NULL: it is */
    int64_t quantity;
    int64_t not_after_us; /* by the service's clock; 0: none is sent */
    int target;
    mono_ns from, to;
} lt_question;

/* Writes a line "ask", or "look" if there is no user; or "confirm", or "cancel". */
void answer_write(lt_pen *pen, const lt_question *question, const lt_answer *answer);

#endif
