/*
 * wire.h - one connection to an instance, with every byte of its own: what is sent on it and when,
 * and which answers came, one by one in their order.
 */
#ifndef TESTS_SERVER_DIRECT_WIRE_H
#define TESTS_SERVER_DIRECT_WIRE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lock/dlock.h"
#include "tests/support/raw.h"
#include "tests/support/service.h"

enum { WIRE_MS = 60000, WIRE_BYTES = 16384 };

typedef struct wire {
    int fd;
    size_t have; /* bytes that have been read and belong to no answer yet */
    char bytes[WIRE_BYTES];
} wire;

typedef struct wire_answer {
    int status; /* 0: none came; the peer closed, or was silent */
    char head[1024], body[2048];
} wire_answer;

/* A buy without a body; `more` are further headers, each with its CR LF. Into buf, which has len
 * bytes; its length. */
static inline size_t wire_buy(char *buf, size_t len, const char *request, const char *more)
{
    return (size_t)snprintf(
        buf, len, "POST /buy?item=P0001&user=u1&request=%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
        request, more);
}

static inline bool wire_open(wire *w, int port)
{
    w->have = 0;
    w->fd = fx_raw_connect(port, NULL);
    return w->fd >= 0;
}

/* Buys under this request id, and does not wait for the answer. */
static inline bool wire_ask(wire *w, const char *request)
{
    char bytes[512];
    return fx_raw_send(w->fd, bytes, wire_buy(bytes, sizeof(bytes), request, ""));
}

/* The length of the answer that `bytes` begin with; 0 = it is not whole yet. */
static inline size_t wire_whole(const wire *w, size_t *head_len)
{
    const char *end = strstr(w->bytes, "\r\n\r\n");
    const char *length = strstr(w->bytes, "Content-Length: ");
    if (!end || !length || length > end)
        return 0;
    *head_len = (size_t)(end - w->bytes) + 4;
    size_t whole = *head_len + strtoul(length + strlen("Content-Length: "), NULL, 10);
    return whole <= w->have ? whole : 0;
}

/* The next answer on the connection; to a HEAD it has no body. Its status. */
static inline int wire_next(wire *w, wire_answer *ret, bool head_only)
{
    size_t head_len = 0, whole;
    bool closed = false;
    dlock_time deadline = dlock_in_ms(WIRE_MS);
    memset(ret, 0, sizeof(*ret));
    w->bytes[w->have] = '\0';
    while ((whole = wire_whole(w, &head_len)) == 0 && !(head_only && head_len > 0)) {
        if (closed || w->have + 1 >= WIRE_BYTES || dlock_passed(deadline))
            return 0;
        /* A byte first, for a longer read would wait for more than there is. */
        size_t got = fx_raw_read(w->fd, w->bytes + w->have, 2, WIRE_MS, &closed);
        w->have += got;
        if (got > 0)
            w->have += fx_raw_read(w->fd, w->bytes + w->have, WIRE_BYTES - w->have, 0, NULL);
    }
    whole = head_only ? head_len : whole;
    snprintf(ret->head, sizeof(ret->head), "%.*s", (int)head_len, w->bytes);
    snprintf(ret->body, sizeof(ret->body), "%.*s", (int)(whole - head_len), w->bytes + head_len);
    w->have -= whole;
    memmove(w->bytes, w->bytes + whole, w->have);
    ret->status = (int)strtol(ret->head + strlen("HTTP/1.1 "), NULL, 10);
    return ret->status;
}

/* Whether the next answer is the order of this request. */
static inline bool wire_brings(wire *w, const char *request)
{
    char member[128];
    wire_answer answer;
    snprintf(member, sizeof(member), "\"request\":\"%s\"", request);
    if (wire_next(w, &answer, false) == 201 && strstr(answer.body, member))
        return true;
    print_message("waited for %s: %s%s\n", request, answer.head, answer.body);
    return false;
}

/* Buys, and waits for the order. */
static inline bool wire_gets(wire *w, const char *request)
{
    return wire_ask(w, request) && wire_brings(w, request);
}

#endif
