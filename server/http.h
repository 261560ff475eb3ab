/*
 * http.h - the HTTP server: from sockets to api_handle() and back.
 *
 * Every response is one write. Requests with faulty framing or body never reach the service.
 * `threads` limits the requests answered at once, and the connections kept open (connections.h).
 */
#ifndef FLASHSALE_HTTP_H
#define FLASHSALE_HTTP_H

#include "server/api/request.h"

typedef struct fs_http fs_http;

/* Listens on `address` ("host:port"; port 0 = any free one) and serves. NULL and a sentence in
 * err. */
fs_http *http_start(fs_api *api, const char *address, int threads, char *err, size_t err_len);

/* The actual "host:port". (borrowed) */
const char *http_address(const fs_http *http);

/* Closes all connections at once; wait for requests in flight before. NULL is allowed. */
void http_stop(fs_http *http);

#endif
