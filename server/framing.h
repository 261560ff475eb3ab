/*
 * framing.h - where a request ends, and the other headers that we use.
 *
 * If two readers disagree on where a request ends, one of them takes an attacker's bytes for
 * another client's request (request smuggling). So anything ambiguous is a fault: the request is
 * refused and its connection closed, because the start of the next request is unknown.
 */
#ifndef FLASHSALE_FRAMING_H
#define FLASHSALE_FRAMING_H

#include "server/api/request.h"

#define FRAMING_HEAD_MAX 8192 /* bytes in civetweb's buffer for a head */

struct mg_request_info;

typedef struct http_framing {
    const char *fault; /* a sentence; NULL = none: only then the rest is valid */
    size_t head;       /* bytes, with the empty lines before and after */
    size_t body;       /* bytes; 0 also if none is declared */
    bool close;        /* the client wants the connection closed after the reply */
    api_headers headers;

    /* Headers as sent; NULL = not sent. (borrowed) */
    const char *length, *coding, *connection;
    const char *expect; /* never of HTTP/1.0, which has no such header */
} http_framing;

/* The values live as long as civetweb's request. */
http_framing framing_read(const struct mg_request_info *info);

#endif
