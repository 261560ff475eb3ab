/*
 * framing.h - where a request ends, and what else its headers say that we care about.
 *
 * Two readers that disagree on where a request ends take a stranger's bytes for somebody's next
 * request. So whatever could be read in two ways is a fault: the request is refused, and its
 * connection closed, since where the next one would start is anybody's guess.
 */
#ifndef FLASHSALE_FRAMING_H
#define FLASHSALE_FRAMING_H

#include "server/api/request.h"

#define FRAMING_HEAD_MAX 8192 /* bytes that civetweb's buffer has for a head */

struct mg_request_info;

typedef struct http_framing {
    const char *fault; /* a sentence; NULL = none. What follows holds only then. */
    size_t head;       /* bytes of it, the empty lines before and behind it included */
    size_t body;       /* bytes of it, 0 = none is said, too */
    bool close;        /* the client wants the connection closed after the reply */
    api_headers headers;

    /* Headers as sent; NULL = not sent. (borrowed) */
    const char *length, *coding, *connection;
    const char *expect; /* of HTTP/1.0 never, which has no such header */
} http_framing;

/* The values live as long as civetweb's request. */
http_framing framing_read(const struct mg_request_info *info);

#endif
