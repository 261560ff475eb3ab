/*
 * connections.h - the connections that have a thread, and which of them are closed for others.
 *
 * civetweb gives every connection a thread until it ends; when no thread is free, new connections
 * wait unseen. So beyond `most` connections some are closed: first idle ones, the longest idle
 * first; then those whose request does not end, or that do not read their answer. Meanwhile the
 * threads beyond `most` serve new connections. A connection with a complete request is never closed
 * before its answer begins.
 */
#ifndef FLASHSALE_CONNECTIONS_H
#define FLASHSALE_CONNECTIONS_H

#include "server/api/request.h"

struct mg_connection;

typedef struct connections connections;
typedef struct connection connection;

typedef enum connection_state {
    CONNECTION_IS_READ = 0, /* it waits for a request, or receives one */
    CONNECTION_IS_SERVED,   /* its request is complete */
    CONNECTION_IS_TOLD,     /* the answer is being written, as fast as the client reads */
    CONNECTION_IS_REFUSED   /* civetweb has refused the request, and is about to close */
} connection_state;

/* Beyond `most` connections some are closed; civetweb has more threads than that, `threads`. The
 * API is borrowed. NULL: out of memory or threads. */
connections *connections_start(fs_api *api, int most, int threads);

/* To be called when all of them are closed. NULL is allowed. */
void connections_stop(connections *c);

/* Opens a connection that has got a thread; closes it when its socket is about to be closed. All
 * functions below are for this thread. */
connection *connection_open(connections *c, const struct mg_connection *conn);
void connection_close(connection *one);

/* Whether fewer than `most` requests are being answered, now or within a moment. Answers that only
 * wait for their client do not count. Sets *last if others need the thread after this answer. */
bool connection_admit(connection *one, bool *last);

/* A request of so many bytes is complete: the connection IS_SERVED. NULL: only its own thread can
 * answer, as with a first request, for which searching the socket does not pay. */
api_client *connection_serve(connection *one, size_t bytes);

void connection_enter(connection *one, connection_state state);

bool connection_is(const connection *one, connection_state state);

/* It is no longer read, as others need its thread. */
bool connection_is_leaving(const connection *one);

/* Takes the socket away, so the connection ends and frees its thread; -1: the socket was not found,
 * and nothing has changed. */
int connection_take(connection *one);

#endif
