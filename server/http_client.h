/*
 * http_client.h - a connection of civetweb's, as the client that another thread can answer.
 */
#ifndef FLASHSALE_HTTP_CLIENT_H
#define FLASHSALE_HTTP_CLIENT_H

#include "server/api/request.h"
#include "server/client_socket.h"

struct mg_connection;

typedef enum client_state {
    CLIENT_IS_READ = 0, /* its next request is waited for, or comes */
    CLIENT_IS_SERVED,   /* its request has come as a whole */
    CLIENT_IS_TOLD      /* the answer is written, as fast as it is taken */
} client_state;

/* As long as the connection has a thread. */
typedef struct http_client {
    api_client client; /* first: its functions are given it */
    const struct mg_connection *conn;
    client_socket socket;
    bool answered;       /* a refusal of civetweb's own */
    atomic_int state;    /* a client_state */
    atomic_bool leaving; /* nothing is read from it any more, as others need its thread */

    /* of connections.c, under its lock */
    struct http_client *next, *before;
    bool listed;
    int fd;                /* -1 = not known */
    client_state slow_in;  /* of a slow request or answer that was seen: the state, ... */
    uint64_t slow_behind;  /* how many bytes of requests were read before, ... */
    int64_t slow_since_us; /* and since when, by dlock_now(); 0 = none was seen */
} http_client;

http_client *http_client_new(const struct mg_connection *conn); /* NULL: out of memory */
void http_client_free(http_client *client);                     /* NULL is allowed */

/* NULL is allowed, here and below. */
static inline void http_client_set(http_client *client, client_state state)
{
    if (client)
        atomic_store_explicit(&client->state, (int)state, memory_order_release);
}

static inline bool http_client_is_leaving(const http_client *client)
{
    return client && atomic_load(&client->leaving);
}

/* The connection's ends; any thread. False: it has no request yet, and is about to wait for one. */
bool http_client_ends(const http_client *client, client_sought *ret);

/* The client, which has sent a request of so many bytes. NULL in, NULL out. */
api_client *http_client_count(http_client *client, size_t bytes);

/* Takes the socket away from civetweb, which goes on with one that is closed by its peer: so the
 * connection ends there, and its thread is free. For the connection's thread, as the last it does.
 * -1: the socket is not to be found, and all is as before. */
int http_client_take(http_client *client);

#endif
