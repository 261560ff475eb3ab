/*
 * Opening a dlock_redis: reading its URL, and choosing how its servers are found.
 */
#include <stdio.h>
#include <string.h>

#include "redis/cluster.h"
#include "redis/conn.h"
#include "redis/pool.h"
#include "redis/reserved.h"
#include "redis/sentinel.h"

/* *ret: NULL where no TLS is wanted. */
static bool prepare_tls(const address *url, tls_trust **ret, char *err, size_t err_len)
{
    *ret = url->tls ? dlock_tls_trust_new(err, err_len) : NULL;
    return *ret || !url->tls;
}

static const finder *const finders[] = {
    [ADDRESS_ONE] = NULL,
    [ADDRESS_SENTINEL] = &dlock_sentinel,
    [ADDRESS_CLUSTER] = &dlock_cluster,
};

/* The servers that a URL leads to; NULL and a sentence in err. */
static topology *find_servers(const char *text, char *err, size_t err_len)
{
    address url;
    tls_trust *tls;
    topology *t = NULL;
    if (dlock_address_parse(text, &url, err, err_len) == 0 &&
        prepare_tls(&url, &tls, err, err_len)) {
        t = dlock_topology_new(&url, tls, finders[url.kind]);
        if (!t) {
            dlock_tls_trust_free(tls);
            snprintf(err, err_len, "out of memory, or of threads");
        }
    }
    explicit_bzero(&url, sizeof(url));
    return t;
}

int dlock_redis_open(const dlock_redis_options *options, dlock_redis **ret, char *err,
                     size_t err_len)
{
    if (!options) {
        snprintf(err, err_len, "options are needed: a URL at least");
        return -1;
    }
    if (options->pool_max < 0 || options->pool_max > DLOCK_POOL_MAX || options->connect_ms < 0) {
        snprintf(err, err_len, "pool_max must be 1..%d and connect_ms positive", DLOCK_POOL_MAX);
        return -1;
    }
    if (HAS_RESERVED(options)) {
        snprintf(err, err_len, "dlock_redis_options: %s", RESERVED_IN_USE);
        return -1;
    }
    topology *t = options->beside ? dlock_topology_ref(options->beside->topology)
                                  : find_servers(options->url, err, err_len);
    if (!t)
        return -1;
    dlock_redis *redis = dlock_pool_new(t, options);
    if (!redis) {
        dlock_tls_trust_free(dlock_topology_unref(t));
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    *ret = redis;
    return 0;
}

void dlock_redis_close(dlock_redis *redis)
{
    dlock_tls_trust_free(dlock_pool_free(redis));
}
