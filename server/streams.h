/*
 * streams.h - endless answers: one thread serves all viewers. It takes their sockets over from the
 * HTTP server, which would need a thread for each.
 */
#ifndef FLASHSALE_STREAMS_H
#define FLASHSALE_STREAMS_H

#include "server/api/request.h"

typedef struct streams streams;

/* The API is borrowed. NULL: out of memory or threads. */
streams *streams_start(fs_api *api);

/* Ends all of them. NULL is allowed. */
void streams_stop(streams *s);

/* Streams an item's documents to the client of this socket until it closes or stops reading, then
 * closes the socket. False: no room; the caller keeps the socket. Any thread. */
bool streams_add(streams *s, int fd, const char *item);

#endif
