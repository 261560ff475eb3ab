/* What the tests on a cluster share: a real one, and what is done to its slots. */
#ifndef TESTS_LOCK_CLUSTER_H
#define TESTS_LOCK_CLUSTER_H

#include "tests/lock/rig.h"
#include "tests/support/topology.h"

#include "lock/redis/slots.h"

typedef struct cluster_rig {
    fx_topology *topology;
    dlock_redis *redis;
    dlock_client *client;
} cluster_rig;

static inline int cluster_setup(void **state)
{
    static cluster_rig r;
    r.topology = fx_topology_start("cluster", NULL);
    r.redis = rig_redis(fx_topology_url(r.topology));
    r.client = rig_client(&(dlock_client_options){.redis = r.redis});
    *state = &r;
    return 0;
}

static inline int cluster_teardown(void **state)
{
    cluster_rig *r = *state;
    dlock_client_free(r->client);
    dlock_redis_close(r->redis);
    fx_topology_stop(r->topology);
    return 0;
}

/* Tells one member something; fails the test unless it answers well. A number, or a text's length.
 */
__attribute__((format(printf, 3, 4))) static inline long long
cluster_tell(cluster_rig *r, int member, const char *format, ...)
{
    char command[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(command, sizeof(command), format, ap);
    va_end(ap);
    redisReply *reply = fx_topology_ask(r->topology, member, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : "no answer");
    long long n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : (long long)reply->len;
    freeReplyObject(reply);
    return n;
}

/* "no": the slots that have a server are served while others have none; "yes", Redis's default:
 * then none is. */
static inline void cluster_require_coverage(cluster_rig *r, const char *full)
{
    for (int i = 0; i < fx_topology_size(r->topology); i++)
        cluster_tell(r, i, "CONFIG SET cluster-require-full-coverage %s", full);
}

/* How many errors of this kind a member has answered with: "ASK" for one. */
static inline long cluster_errors(cluster_rig *r, int member, const char *kind)
{
    char name[64];
    snprintf(name, sizeof(name), "errorstat_%s:count=", kind);
    redisReply *reply = fx_topology_ask(r->topology, member, "INFO errorstats");
    assert_non_null(reply);
    const char *at = strstr(reply->str, name);
    long n = at ? strtol(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(reply);
    return n;
}

static inline int cluster_slot(const char *key)
{
    return dlock_slot_of(key, strlen(key));
}

static inline void cluster_id(cluster_rig *r, int member, char *ret, size_t ret_len)
{
    redisReply *reply = fx_topology_ask(r->topology, member, "CLUSTER MYID");
    assert_non_null(reply);
    snprintf(ret, ret_len, "%s", reply->str);
    freeReplyObject(reply);
}

/* A slot on its way. */
typedef struct cluster_move {
    int slot, from, to; /* members */
} cluster_move;

static inline bool cluster_is_primary(cluster_rig *r, int member)
{
    redisReply *reply = fx_topology_ask(r->topology, member, "ROLE");
    bool is = reply && reply->elements > 0 && strcmp(reply->element[0]->str, "master") == 0;
    freeReplyObject(reply);
    return is;
}

/* Another primary than that of the key. */
static inline int cluster_other_primary(cluster_rig *r, const char *key)
{
    int from = fx_topology_primary(r->topology, key), to = 0;
    while (to == from || !cluster_is_primary(r, to))
        to++;
    return to;
}

/* Opens the way of the key's slot to another primary. */
static inline cluster_move cluster_begin_move(cluster_rig *r, const char *key)
{
    char id[64];
    cluster_move m = {.slot = cluster_slot(key),
                      .from = fx_topology_primary(r->topology, key),
                      .to = cluster_other_primary(r, key)};
    cluster_id(r, m.from, id, sizeof(id));
    cluster_tell(r, m.to, "CLUSTER SETSLOT %d IMPORTING %s", m.slot, id);
    cluster_id(r, m.to, id, sizeof(id));
    cluster_tell(r, m.from, "CLUSTER SETSLOT %d MIGRATING %s", m.slot, id);
    return m;
}

static inline void cluster_move_key(cluster_rig *r, cluster_move m, const char *key)
{
    cluster_tell(r, m.from, "MIGRATE 127.0.0.1 %d %s 0 5000", fx_topology_port(r->topology, m.to),
                 key);
}

/* The keys that are left, one by one, and the slot itself. */
static inline void cluster_end_move(cluster_rig *r, cluster_move m)
{
    char id[64];
    for (;;) {
        redisReply *keys =
            fx_topology_ask(r->topology, m.from, "CLUSTER GETKEYSINSLOT %d 1", m.slot);
        assert_true(keys && keys->type == REDIS_REPLY_ARRAY);
        bool more = keys->elements > 0;
        if (more)
            cluster_move_key(r, m, keys->element[0]->str);
        freeReplyObject(keys);
        if (!more)
            break;
    }
    cluster_id(r, m.to, id, sizeof(id));
    cluster_tell(r, m.to, "CLUSTER SETSLOT %d NODE %s", m.slot, id);
    cluster_tell(r, m.from, "CLUSTER SETSLOT %d NODE %s", m.slot, id);
}

/* A hash tag, and so names, of a slot that this member serves at first. */
static inline void cluster_tag_on(cluster_rig *r, int member, char *ret, size_t ret_len)
{
    for (int i = 0; i < 1000; i++) {
        snprintf(ret, ret_len, "tag%d", i);
        if (fx_topology_primary(r->topology, ret) == member)
            return;
    }
    fail_msg("member %d serves nothing", member);
}

#endif
