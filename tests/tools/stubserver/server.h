/*
 * server.h - the stub's connections: one thread, one epoll set, keep-alive.
 */
#ifndef STUBSERVER_SERVER_H
#define STUBSERVER_SERVER_H

#include "tests/tools/stubserver/script.h"
#include "tests/tools/stubserver/service.h"

#include <stdio.h>

struct server_options {
    int ports;             /* to listen on, all for the same service */
    int serve_connections; /* only so many at a time are read; the others wait. 0: no limit */
    bool hang_last;        /* buys at the last of the ports are never answered */
    unsigned drop_pages;   /* the first so many requests for GET /orders are reset */
    unsigned style;        /* of all answers: wire.h */
    int64_t page_delay_ns; /* of GET /orders */
    FILE *log;             /* of every buy: request, received_ns, replied_ns; or NULL */
};

/* Listens on free ports of 127.0.0.1, says so on stdout, and serves until SIGTERM or SIGINT. */
int server_run(const struct server_options *options, struct service *service,
               struct script *script);

#endif
