/*
 * http_client.h - a connection of civetweb's, as the client that another thread can answer.
 */
#ifndef FLASHSALE_HTTP_CLIENT_H
#define FLASHSALE_HTTP_CLIENT_H

#include "server/api/request.h"
#include "server/client_socket.h"

struct mg_connection;

/* As long as the connection has a thread. */
typedef struct http_client {
    api_client client; /* first: its functions are given it */
    const struct mg_connection *conn;
    client_socket socket;
    bool answered; /* a refusal of civetweb's own */
} http_client;

http_client *http_client_new(void);         /* NULL: out of memory */
void http_client_free(http_client *client); /* NULL is allowed */

/* The client, which has sent a request of so many bytes on this connection. NULL in, NULL out. */
api_client *http_client_count(http_client *client, const struct mg_connection *conn, size_t bytes);

#endif
