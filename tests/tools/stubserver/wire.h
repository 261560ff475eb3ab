/*
 * wire.h - an answer's way onto its connection: plainly, or as other servers and proxies write it.
 */
#ifndef STUBSERVER_WIRE_H
#define STUBSERVER_WIRE_H

#include "tests/tools/stubserver/service.h"

enum wire_style {
    WIRE_CHUNKED = 1,   /* the body in chunks */
    WIRE_GZIP = 2,      /* the body as gzip, though nobody asked for it */
    WIRE_CLOSE = 4,     /* each connection ends after an answer */
    WIRE_HTTP10 = 8,    /* HTTP/1.0, likewise */
    WIRE_LOWER = 16,    /* names of headers are lower-case */
    WIRE_PRETTY = 32,   /* JSON over several lines */
    WIRE_ESCAPED = 64,  /* \u002d for - in its texts */
    WIRE_EXTRA = 128,   /* each of its objects begins with a member that nobody knows */
    WIRE_PADDED = 256,  /* the first one with 6 KB of it */
    WIRE_DECIMAL = 512, /* 99.0 for 99 */
};

/* Parses "chunked,lower,...". */
bool wire_style_parse(const char *names, unsigned *ret_style);

/* Sends it; false when the connection is to be closed. */
bool wire_send(int fd, const struct service_reply *reply, unsigned style);

#endif
