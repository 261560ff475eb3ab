/* replicas.c - compares the terms of a sale with the replicas last seen, and with those that could
 * be promoted. */
#include "server/store/replicas.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"

#define HEARD_MS 3000 /* older answers of the sentinels do not count */

static replica_set *set_of(fs_store *store, const sale_keys *keys)
{
    return &store_node(store, keys->current)->health.replicas;
}

static int in_step(const replica_set *set)
{
    return atomic_load_explicit(&set->in_step, memory_order_acquire);
}

int replicas_needed(fs_store *store, const sale_terms *terms, const sale_keys *keys)
{
    if (terms->durability != DURABILITY_REPLICATED)
        return 0;
    int all = in_step(set_of(store, keys));
    return all > terms->min_replicas ? all : terms->min_replicas;
}

bool replicas_missing(fs_store *store, const sale_terms *terms, const sale_keys *keys)
{
    if (terms->durability != DURABILITY_REPLICATED)
        return false;
    const replica_set *set = set_of(store, keys);
    return in_step(set) < terms->min_replicas ||
           atomic_load_explicit(&set->missing, memory_order_acquire);
}

/* ---- who could promote ----------------------------------------------------------------------- */

/* A majority of all sentinels must agree, not only of those that answer, because the others may
 * hold an election. But one is enough to say that it might promote a replica. */
static void claim(const dlock_replicas *told, bool sure, replica_claims *ret)
{
    for (int i = 0; i < told->count; i++) {
        const dlock_replica *one = &told->replicas[i];
        replica_claim *to = &ret->of[ret->count];
        if (ret->count == REPLICA_SET_MAX || !replica_name(one->host, one->port, to->name)) {
            ret->more = true;
            return;
        }
        to->barred = sure && one->barred > 0 && one->barred == one->listed;
        to->lost = sure && one->fit == 0 && one->fading == 0;
        to->fit = one->fit > 0;
        ret->count++;
    }
}

/* Writes nothing if there are no sentinels. */
static void ask_sentinels(fs_store *store, replica_claims *ret, char denied[RIGHT_LEN])
{
    dlock_replicas told;
    if (!dlock_redis_replicas(store->redis, &told))
        return;
    bool fresh = dlock_now().us - told.at.us < HEARD_MS * 1000;
    ret->by = PROMOTER_SENTINEL;
    ret->sure = fresh && 2 * told.agreeing > told.sentinels && !told.more;
    ret->told = fresh && told.telling > 0;
    ret->more = told.more;
    ret->untold = !ret->sure && told.denied[0] != '\0';
    ret->rule_ms = DLOCK_PROMOTED_WITHIN * told.down_after_ms;
    if (ret->untold)
        snprintf(denied, RIGHT_LEN, "%s", told.denied);
    if (told.master_port > 0 && !replica_name(told.master_host, told.master_port, ret->primary))
        ret->more = true;
    if (ret->told)
        claim(&told, ret->sure, ret);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static void log_changes(const fs_store *store, const fs_node *node, const replica_changes *changes)
{
    for (int i = 0; i < changes->count; i++) {
        const replica_change *c = &changes->of[i];
        log_event(c->joined ? LOG_INFO : LOG_WARN,
                  c->joined ? "replica_joined" : "replica_left_set", "replica", c->name, "detail",
                  c->why, "server", store_server_name(store, node), NULL);
    }
}

/* Names the missing replicas, unless the check already says that WAIT is not allowed. */
static void name_missing(replica_set *set, server_check *check)
{
    char names[180], before[256];
    store_complaint *why = &check->why[TROUBLE_NO_REPLICAS];
    bool found = check->found[TROUBLE_NO_REPLICAS];
    if (!atomic_load(&set->missing) || (found && why->redis[0] != '\0'))
        return;
    replica_set_name_missing(set, dlock_now(), names, sizeof(names));
    size_t len = strlen(names);
    if (check->denied[0] != '\0')
        snprintf(names + len, sizeof(names) - len, "; grant +%s", check->denied);
    memcpy(before, why->detail, sizeof(before));
    int all = snprintf(
        why->detail, sizeof(why->detail), "%.150s; missing: %s",
        found ? before : "durability 'replicated' needs each replica that may be promoted", names);
    if (all >= (int)sizeof(why->detail))
        memcpy(why->detail + sizeof(why->detail) - 4, "...", 4);
    check->found[TROUBLE_NO_REPLICAS] = true;
}

/* Updates the set with what the server and the sentinels say of the replicas. */
static void note(fs_store *store, fs_node *node, server_check *check)
{
    replica_changes changes;
    replica_claims claims = {.by = PROMOTER_NONE};
    replica_set *set = &node->health.replicas;
    if (check->cluster.by == PROMOTER_CLUSTER) {
        claims = check->cluster;
        if (claims.untold)
            snprintf(check->denied, sizeof(check->denied), "cluster|nodes");
    } else {
        ask_sentinels(store, &claims, check->denied);
    }
    replica_set_note(set, &check->seen, &claims, dlock_now(), &changes);
    log_changes(store, node, &changes);
    name_missing(set, check);
}

bool replicas_ask(fs_store *store, fs_node *node, dlock_redis_conn *conn, int min_replicas,
                  dlock_time deadline, server_check *ret)
{
    server_wish wish = {.had_disk = !health_has(&node->health, TROUBLE_NO_DISK),
                        .min_replicas = min_replicas > 0 ? min_replicas : 1,
                        .cluster = dlock_redis_is_cluster(store->redis)};
    bool told = server_ask(conn, &wish, deadline, ret);
    if (told && !ret->busy)
        note(store, node, ret);
    return told;
}
