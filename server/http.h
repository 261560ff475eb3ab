/*
 * http.h - the HTTP server: from sockets to api_handle() and back.
 *
 * Every response leaves in one write. Requests with a faulty frame or body never reach the service.
 * `threads` bounds the requests that are answered at once, and the connections that are kept open
 * (connections.h).
 */
#ifndef FLASHSALE_HTTP_H
#define FLASHSALE_HTTP_H

#include "server/api/request.h"

typedef struct fs_http fs_http;

/* Listens on `address` ("host:port"; port 0 = any free one) and serves. NULL and a sentence in
 * err. */
fs_http *http_start(fs_api *api, const char *address, int threads, char *err, size_t err_len);

/* "host:port" that it really listens on. (borrowed) */
const char *http_address(const fs_http *http);

/* Closes all connections at once: let requests in flight end before. NULL is allowed. */
void http_stop(fs_http *http);

#endif
