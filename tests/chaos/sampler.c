/* sampler.c - a thread with a connection to Redis of its own. */
#include "tests/chaos/sampler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"

enum { EVERY_MS = 20 };

/* Who holds the lock of KEYS[1], whatever its kind, and what fence KEYS[2] has; "-" where there is
 * none. */
static const char look[] = "local kind, owner = redis.call('TYPE', KEYS[1]).ok, '-' "
                           "if kind == 'string' then owner = redis.call('GET', KEYS[1]) "
                           "elseif kind == 'hash' then owner = redis.call('HKEYS', KEYS[1])[1] end "
                           "local fence = redis.call('TYPE', KEYS[2]).ok == 'string' "
                           "and redis.call('GET', KEYS[2]) or '-' "
                           "return {owner, fence}";

static pthread_t thread;
static bool present;
static atomic_bool over;
static char url[256];
static bool looks_at_lock, looks_at_stock;

static redisContext *connect_to_redis(void)
{
    static const char scheme[] = "unix://";
    if (strncmp(url, scheme, strlen(scheme)) != 0)
        return NULL;
    redisContext *ctx =
        redisConnectUnixWithTimeout(url + strlen(scheme), (struct timeval){.tv_usec = 200000});
    if (ctx && !ctx->err)
        redisSetTimeout(ctx, (struct timeval){.tv_sec = 1});
    return ctx;
}

/* Only a lock that is held under a fence: a stranger's has none, and the counter may be away. A
 * lock's value may have blanks; the rest tells the holder, too. */
static void write_lock(fx_sale *s, const redisReply *seen)
{
    char owner[128];
    if (seen->type != REDIS_REPLY_ARRAY || seen->elements != 2 || !seen->element[0]->str ||
        !seen->element[1]->str || strcmp(seen->element[0]->str, "-") == 0 ||
        strcmp(seen->element[0]->str, CELL_STRANGER) == 0 ||
        strcmp(seen->element[1]->str, "-") == 0)
        return;
    snprintf(owner, sizeof(owner), "%s", seen->element[0]->str);
    for (char *at = owner; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    long long fence = strtoll(seen->element[1]->str, NULL, 10); /* its token stands behind it */
    journal_write(s->history, "lock at=%lld key=lock owner=%s fence=%lld",
                  (long long)journal_now_us(), owner, fence);
}

static void look_at_lock(fx_sale *s, redisContext **ctx)
{
    char lock[192], fence[192];
    if (*ctx && (*ctx)->err) {
        redisFree(*ctx);
        *ctx = NULL;
    }
    if (!*ctx)
        *ctx = connect_to_redis();
    if (!*ctx || (*ctx)->err)
        return;
    redisReply *seen =
        redisCommand(*ctx, "EVAL %s 2 %s %s", look, fx_sale_key(s, 0, "lock", lock, sizeof(lock)),
                     fx_sale_key(s, 0, "fence", fence, sizeof(fence)));
    if (seen)
        write_lock(s, seen);
    freeReplyObject(seen);
}

static void *sample(void *arg)
{
    redisContext *ctx = NULL;
    (void)arg;
    for (int turn = 0; !atomic_load(&over); turn++) {
        for (int k = 0; crew_sale(k) && !atomic_load(&over); k++) {
            if (looks_at_stock && !atomic_load(&crew_sale(k)->replaced))
                fx_sale_look_at_stock(crew_sale(k), crew_instance(turn));
            if (looks_at_lock)
                look_at_lock(crew_sale(k), &ctx);
        }
        fx_let_pass(EVERY_MS);
    }
    redisFree(ctx);
    return NULL;
}

void sampler_start(cell *c)
{
    snprintf(url, sizeof(url), "%s", fx_redis_url(fx.redis));
    /* what Redis forgets, it may show once more; also what no buyer has been told of yet */
    looks_at_lock = (c->fault->covered & IN_MEMORY) != 0;
    looks_at_stock = looks_at_lock || c->row.durability != ON_REPLICAS;
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, sample, NULL), 0);
    present = true;
}

void sampler_end(void)
{
    atomic_store(&over, true);
    if (present)
        pthread_join(thread, NULL);
    present = false;
}
