/*
 * connections.h - which connections have a thread, and which of them give it up for others.
 *
 * civetweb gives every connection a thread until it ends, and newcomers beyond the last thread wait
 * where nobody sees them. So when more connections are open than are to have threads, those without
 * a request are closed, those first that have been silent for the longest time; then those whose
 * request does not come to its end, or who do not take their answer. The threads beyond that number
 * are for newcomers meanwhile. A connection whose request has come as a whole is never closed
 * before its answer begins.
 */
#ifndef FLASHSALE_CONNECTIONS_H
#define FLASHSALE_CONNECTIONS_H

#include "server/http_client.h"

typedef struct connections connections;

/* From more than `most` connections on some are closed; civetweb has `threads`, which are more.
 * The API is borrowed. NULL: out of memory or threads. */
connections *connections_start(fs_api *api, int most, int threads);

/* Once all of them have been removed. NULL is allowed. */
void connections_stop(connections *c);

/* A connection that has got a thread. */
void connections_add(connections *c, http_client *client);

/* To be called before its socket is closed or given away; a second time it does nothing. */
void connections_remove(connections *c, http_client *client);

/* Whether others wait for threads: answers should end their connections. */
bool connections_crowded(const connections *c);

/* Whether another request can be answered, beside fewer than `most`; asked by its thread. A moment
 * is waited for that, for most requests are answered in less. Requests whose answers are there, and
 * only have to be taken, do not count. */
bool connections_have_room(connections *c);

/* The answer to a request in flight begins to be written, or has been. */
void connections_tell(connections *c, http_client *client, bool begins);

#endif
