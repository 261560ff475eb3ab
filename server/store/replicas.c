/* replicas.c - the terms of a sale against the replicas that were last seen. */
#include "server/store/replicas.h"

/* Of the server that has these keys. */
static int online(fs_store *store, const sale_keys *keys)
{
    return atomic_load_explicit(&store_node(store, keys->current)->health.replicas,
                                memory_order_acquire);
}

int replicas_needed(fs_store *store, const sale_terms *terms, const sale_keys *keys)
{
    if (terms->durability != DURABILITY_REPLICATED)
        return 0;
    int all = online(store, keys);
    return all > terms->min_replicas ? all : terms->min_replicas;
}

bool replicas_missing(fs_store *store, const sale_terms *terms, const sale_keys *keys)
{
    return terms->durability == DURABILITY_REPLICATED && online(store, keys) < terms->min_replicas;
}

dlock_time replicas_deadline(int needed, dlock_time deadline)
{
    return needed > 0 ? store_read_deadline(deadline) : deadline;
}
