/*
 * streams.h - viewers who are told again and again on one connection, by one thread for all.
 *
 * A stream is an answer that does not end. It needs no thread of the HTTP server's, which would
 * give each connection one of its own: the socket is taken over from there.
 */
#ifndef FLASHSALE_STREAMS_H
#define FLASHSALE_STREAMS_H

#include "server/api/request.h"

typedef struct streams streams;

/* The API is borrowed. NULL: out of memory or threads. */
streams *streams_start(fs_api *api);

/* Ends all of them. NULL is allowed. */
void streams_stop(streams *s);

/* Goes on telling the client of this socket about an item, and closes it when the client has gone,
 * or takes nothing any more. False: there is no room; the socket is the caller's still. Any thread.
 */
bool streams_add(streams *s, int fd, const char *item);

#endif
