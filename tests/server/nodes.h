/*
 * nodes.h - the servers of a store that no keeper looks at: met, their clocks known, all well.
 */
#ifndef TESTS_SERVER_NODES_H
#define TESTS_SERVER_NODES_H

#include "server/store/store.h"
#include "tests/support/fixture.h"

static inline bool nodes_are_met(void *store)
{
    return dlock_redis_server_of(((fs_store *)store)->redis, "any") >= 0;
}

/* In a cluster it takes a moment until its servers are known. */
static inline void nodes_make_well(fs_store *store)
{
    assert_true(fx_wait_until(nodes_are_met, store, 30000));
    for (int i = 0; i < dlock_redis_servers(store->redis); i++) {
        fs_node *node = store_node_at(store, i);
        node_note_pause(node, NULL);
        node_sync_clock(node, store->redis);
        for (store_trouble t = TROUBLE_SILENT; t < TROUBLES; t++)
            health_note(&node->health, t, NULL);
    }
}

/* A server that was a replica is another run: it is admitted, whichever it is. */
static inline void nodes_admit_again(fs_store *store)
{
    server_answer now;
    for (int i = 0; i < dlock_redis_servers(store->redis); i++) {
        assert_true(server_run_ask(store->asking, i, dlock_in_ms(30000), &now));
        server_run_admit(&store_node_at(store, i)->run, now.run_id);
    }
    dlock_redis_readmit(store->redis);
}

#endif
