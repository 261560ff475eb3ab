/*
 * framing.h - where a request ends, and what else its headers say that we care about.
 *
 * Two readers that disagree on where a request ends take a stranger's bytes for somebody's next
 * request. So whatever could be read in two ways is a fault: the request is refused, and its
 * connection closed, since where the next one would start is anybody's guess.
 */
#ifndef FLASHSALE_FRAMING_H
#define FLASHSALE_FRAMING_H

#include <stdbool.h>

typedef struct http_header {
    const char *name, *value;
} http_header;

typedef struct http_framing {
    const char *fault; /* a sentence; NULL = none. What follows holds only then. */
    long length;       /* of the body, -1 = not said */
    bool chunked;
    bool close; /* the client wants the connection closed after the reply */
    const char *idempotency_key, *authorization; /* values, NULL = not sent (borrowed) */
} http_framing;

/* `version` is "1.0" or "1.1". The values must outlive the result. */
http_framing framing_read(const http_header *headers, int count, const char *version);

/* False when the list of headers is cut short. civetweb stops reading headers at the first one
 * that is malformed or one too many, and drops the rest in silence, a Content-Length included.
 * What gives it away is the request as it lies in memory: behind the last value, whose line end
 * was overwritten by NULs, there must be the empty line that ends the head. */
bool framing_is_complete(const char *last_value);

#endif
