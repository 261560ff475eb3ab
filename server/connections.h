/*
 * connections.h - the connections that have a thread, and which of them give it up for others.
 *
 * civetweb gives every connection a thread until it ends, and newcomers beyond the last thread wait
 * unseen. So beyond `most` connections some are closed: first those without a request, the longest
 * silent first; then those whose request does not end, or that do not take their answer. The
 * threads beyond `most` serve newcomers meanwhile. A connection whose request has come as a whole
 * is never closed before its answer begins.
 */
#ifndef FLASHSALE_CONNECTIONS_H
#define FLASHSALE_CONNECTIONS_H

#include "server/api/request.h"

struct mg_connection;

typedef struct connections connections;
typedef struct connection connection;

typedef enum connection_state {
    CONNECTION_IS_READ = 0, /* its next request is waited for, or comes */
    CONNECTION_IS_SERVED,   /* its request has come as a whole */
    CONNECTION_IS_TOLD,     /* the answer is written, as fast as it is taken */
    CONNECTION_IS_REFUSED   /* civetweb has refused what came, and is about to close it */
} connection_state;

/* From more than `most` connections on some are closed; civetweb has `threads`, which are more.
 * The API is borrowed. NULL: out of memory or threads. */
connections *connections_start(fs_api *api, int most, int threads);

/* Once all of them have been closed. NULL is allowed. */
void connections_stop(connections *c);

/* A connection that has got a thread, and until its socket is about to be closed. All that follows
 * is for this thread. */
connection *connection_open(connections *c, const struct mg_connection *conn);
void connection_close(connection *one);

/* Whether fewer than `most` requests are being answered, now or within a moment. Answers that only
 * have to be taken do not count. Sets *last when others need the thread after this answer. */
bool connection_admit(connection *one, bool *last);

/* A request of so many bytes has come as a whole: the connection IS_SERVED. NULL: only its own
 * thread can answer, as with a first request, for which the search for the socket does not pay. */
api_client *connection_serve(connection *one, size_t bytes);

void connection_enter(connection *one, connection_state state);

bool connection_is(const connection *one, connection_state state);

/* Nothing is read from it any more, as others need its thread. */
bool connection_is_leaving(const connection *one);

/* Takes the socket away, so the connection ends and its thread is free; -1: it is not to be found,
 * and all is as before. */
int connection_take(connection *one);

#endif
