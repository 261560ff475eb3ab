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
#include <stddef.h>

#include "server/api/headers.h"

#define FRAMING_HEAD_MAX 8192 /* bytes that civetweb's buffer has for a head */

typedef struct http_header {
    const char *name, *value;
} http_header;

typedef struct http_framing {
    const char *fault; /* a sentence; NULL = none. What follows holds only then. */
    long length;       /* of the body, 0 = none is said, too */
    bool chunked;
    bool close; /* the client wants the connection closed after the reply */
    const char
        *expect; /* NULL = not sent; of HTTP/1.0 never, which has no such header (borrowed) */
    api_headers headers;
} http_framing;

/* `version` is "1.0" or "1.1". The values must outlive the result. */
http_framing framing_read(const http_header *headers, int count, const char *version);

/* The head of a request as it lies in memory: civetweb cuts it up in place, by NULs over blanks,
 * colons and line ends, and keeps quiet about what it skipped. */
typedef struct http_head {
    const char *method, *target, *target_end, *version; /* the version without "HTTP/" */
    const http_header *headers;
    int count;
} http_head;

/* What is wrong with the bytes between the parts, as a sentence; NULL = nothing. They tell of what
 * civetweb takes and another reader may not: more than one empty line before the request (behind
 * which it loses count of the bytes), blanks before a colon, lines that end with LF alone, folded
 * or malformed headers, at the first of which it stops, dropping a Content-Length behind it. */
const char *framing_find_hidden(const http_head *head);

/* How many bytes the head has, the empty lines before and behind it included; of a head in which
 * nothing is hidden. */
size_t framing_head_bytes(const http_head *head);

#endif
