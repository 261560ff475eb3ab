/*
 * request.h - one HTTP/1.1 request out of a buffer: as much of the protocol as libcurl and wrk use.
 */
#ifndef STUBSERVER_REQUEST_H
#define STUBSERVER_REQUEST_H

#include "tests/tools/stubserver/service.h"

/*
 * Reads the request at the start of `buffer`, which is terminated. Returns its length with its
 * body, 0 when it is not complete yet, -1 when it is none.
 */
long request_read(const char *buffer, size_t length, struct service_request *ret_request);

/* The value of name= in a query, "" when there is none. */
void query_value(const char *query, const char *name, char *value, size_t size);

/* A member of a flat JSON object as loadtest writes it: "name":value or "name":"value". */
void body_value(const char *body, const char *name, char *value, size_t size);

#endif
