/*
 * streams.h - answers that do not end: one thread sends to all viewers, on sockets that are taken
 * over from the HTTP server, which would give each a thread.
 */
#ifndef FLASHSALE_STREAMS_H
#define FLASHSALE_STREAMS_H

#include "server/api/request.h"

typedef struct streams streams;

/* The API is borrowed. NULL: out of memory or threads. */
streams *streams_start(fs_api *api);

/* Ends all of them. NULL is allowed. */
void streams_stop(streams *s);

/* Tells the client of this socket about an item until it has gone, or takes nothing any more, then
 * closes the socket. False: no room; the socket stays the caller's. Any thread. */
bool streams_add(streams *s, int fd, const char *item);

#endif
