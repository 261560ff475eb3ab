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

/* Takes the socket away from civetweb, which goes on with one that is closed by its peer: so the
 * connection ends there, and its thread is free. For the connection's thread, as the last it does.
 * -1: the socket is not to be found, and all is as before. */
int http_client_take(http_client *client);

#endif
