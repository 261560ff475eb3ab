/* replicas.c - the terms of a sale against the replicas that were last seen. */
#include "server/store/replicas.h"

/* Of the server that has these keys. */
static int online(const fs_store *store, const sale_keys *keys)
{
    (void)keys;
    return atomic_load_explicit(&store->health.replicas, memory_order_acquire);
}

int replicas_needed(const fs_store *store, const sale_terms *terms, const sale_keys *keys)
{
    if (terms->durability != DURABILITY_REPLICATED)
        return 0;
    int all = online(store, keys);
    return all > terms->min_replicas ? all : terms->min_replicas;
}

bool replicas_missing(const fs_store *store, const sale_terms *terms)
{
    bool missing = false;
    if (terms->durability != DURABILITY_REPLICATED)
        return false;
    for (int k = 0; !missing && k < terms_key_sets(terms); k++) {
        sale_keys keys;
        terms_keys(terms, k, &keys);
        missing = online(store, &keys) < terms->min_replicas;
    }
    return missing;
}

dlock_time replicas_deadline(int needed, dlock_time deadline)
{
    return needed > 0 ? store_read_deadline(deadline) : deadline;
}
