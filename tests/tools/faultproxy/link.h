/*
 * link.h - one client's connection through the proxy, and its connection to the server.
 *
 *     client side --requests--> server side
 *                 <--replies---
 */
#ifndef FAULTPROXY_LINK_H
#define FAULTPROXY_LINK_H

#include "tests/tools/faultproxy/loop.h"
#include "tests/tools/faultproxy/rules.h"
#include "tests/tools/faultproxy/scripts.h"

typedef struct fp_link fp_link;

/* Counted since the start, over all links. */
typedef struct link_stats {
    uint64_t connections, requests, replies, pushes;
    uint64_t delayed, dropped, resets, truncated, stalled;
    uint64_t late; /* requests that stalled, and were passed on when it was healed */
} link_stats;

/* What all links share (all borrowed). */
typedef struct link_world {
    fp_loop *loop;
    fp_rules *rules;
    fp_scripts *scripts;
    link_stats stats;
    int (*dial)(void *arg); /* a non-blocking connection to the server; -1: none */
    void *dial_arg;
    fp_link *links; /* all that exist */
} link_world;

/* Takes over the accepted socket. `silent`: does not dial, passes nothing until link_heal(). */
void link_new(link_world *world, int client_fd, bool silent);

/* Each may end the link; it leaves world->links then. */
void link_stall(fp_link *link); /* nothing passes, the sockets stay open and are not even read */
void link_heal(fp_link *link);  /* what stalled flows on; what has lost bytes is reset */
void link_reset(fp_link *link); /* both sockets are closed at once, by RST where they are TCP */

fp_link *link_next(const fp_link *link);

#endif
