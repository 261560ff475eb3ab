/*
 * kept_node.h - one server as the keeper has it: what it is asked, and what the log says of it.
 *
 * It is asked two things, each on a connection of its own, so that a server that takes no writes
 * is told from one that is silent: for its settings, which it answers whatever is paused, and
 * whether it takes writes.
 */
#ifndef FLASHSALE_KEPT_NODE_H
#define FLASHSALE_KEPT_NODE_H

#include "server/base/ticker.h"
#include "server/sale/admission.h"
#include "server/store/server_check.h"

typedef struct kept_node {
    fs_store *store;   /* (borrowed) */
    sale_table *sales; /* (borrowed) */
    fs_node *node;     /* (borrowed) */
    ticker *pulse;
    bool serves; /* when the pulse was last felt */
    admission admission;
    write_probe probe;      /* of the pulse */
    char probe_key[32];     /* that is routed to the server, as far as one was found */
    dlock_redis_conn *conn; /* of the looks; NULL: none as yet */
    bool logged[TROUBLES];
    atomic_bool warned;        /* of a policy that may evict, and is allowed to */
    atomic_bool warned_alone;  /* of a server that takes writes without its replicas */
    atomic_bool warned_denied; /* of a right that is missing to hear who could be promoted */
} kept_node;

/* What the sales here ask of a server. */
typedef struct server_wishes {
    bool disk;
    int replicas; /* the most */
} server_wishes;

server_wishes kept_wishes(sale_table *sales);

/* Whether the server is one to sell from, by its settings. What it does not answer stays as it was;
 * when it answers nothing, the pulse says so. False: not answered. */
bool kept_node_check(kept_node *n, dlock_redis_conn *conn, const server_wishes *all,
                     dlock_time deadline);

/* Whether it takes writes; logged. Does not wait for the answer. */
void kept_node_probe(kept_node *n);

/* A line in the log when the trouble begins, and one when it is over. */
void kept_node_log(kept_node *n, store_trouble trouble);

#endif
