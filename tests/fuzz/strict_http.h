/*
 * strict_http.h - another reader of HTTP/1.1 requests, by the grammar of RFC 9112 alone: where a
 * request ends for whoever stands in front of the service. The service may refuse what this one
 * takes, but must take nothing in another way.
 */
#ifndef TESTS_FUZZ_STRICT_HTTP_H
#define TESTS_FUZZ_STRICT_HTTP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct strict_request {
    size_t size; /* bytes, body included */
    bool last;   /* none on this connection is read behind it */
    bool plain;  /* written as most clients do: whoever serves anything serves this */
} strict_request;

/* Reads the request at bytes[0..len). False: it is none, could be read in two ways, or is not all
 * there. */
bool strict_read(const char *bytes, size_t len, strict_request *ret);

#endif
