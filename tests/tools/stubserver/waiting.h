/*
 * waiting.h - replies that wait for their time: a heap, the earliest on top.
 */
#ifndef STUBSERVER_WAITING_H
#define STUBSERVER_WAITING_H

#include "tests/tools/stubserver/service.h"

struct connection;

struct waiting_reply {
    int64_t due, received; /* ns of CLOCK_MONOTONIC */
    struct connection *connection;
    struct service_request request; /* a buy: its body is not kept */
};

struct waiting {
    struct waiting_reply *heap;
    size_t count, room;
};

void waiting_push(struct waiting *waiting, const struct waiting_reply *reply);

/* Takes the earliest reply if it is due by `now`. */
bool waiting_pop(struct waiting *waiting, int64_t now, struct waiting_reply *ret_reply);

/* When the earliest is due; 0 when none waits. */
int64_t waiting_next(const struct waiting *waiting);

/* Drops the replies of a connection that is gone. */
void waiting_forget(struct waiting *waiting, const struct connection *connection);

void waiting_clear(struct waiting *waiting);

#endif
