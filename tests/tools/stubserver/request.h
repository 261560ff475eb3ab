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

#endif
