/* rest.c - counts what is left of a sale, and reads its orders out of Redis. */
#include "tests/chaos/rest.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/journal.h"

enum {
    WARM_BUYS = 5,  /* at each instance */
    GONE_MS = 5000, /* what a lease keeps is gone so long behind its end */
    RESOLVED_MS = 20000,
    UNKNOWN = -1 /* of a count */
};

/* ---- closing --------------------------------------------------------------------------------- */

static bool close_sale(const cell *c, const char *item)
{
    return fx_status(fx.server[0],
                     "POST /sales {'item':'%s','stock':0,'strategy':'atomic','durability':'%s'}",
                     item, durability_word(c->row.durability)) == 201;
}

static bool is_closed(void *arg)
{
    cell *c = arg;
    return close_sale(c, c->item);
}

/* ---- the instances --------------------------------------------------------------------------- */

int rest_entries(pid_t pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    int count = fx_entries(path);
    return count > 0 ? count : 0;
}

/* UNKNOWN: one of them does not run, and whatever it had left went with it. */
static long long in_instances(const char *what)
{
    long long count = 0;
    for (int i = 0; i < FX_INSTANCES; i++) {
        int more = rest_entries(fx_process_pid(fx_server_process(fx.server[i])), what);
        if (more == 0)
            return UNKNOWN;
        count += more;
    }
    return count;
}

/* The first buyers make the threads and connections that stay. So a small sale comes first, and
 * what there is behind it is compared with what there is behind the cell's. */
static void warm_up(const cell *c)
{
    fx_sell("'stock':%d,'strategy':'%s','durability':'%s','wait_ms':8000", FX_INSTANCES * WARM_BUYS,
            c->row.strategy, durability_word(c->row.durability));
    for (int i = 0; i < FX_INSTANCES * WARM_BUYS; i++)
        fx_status(fx.server[i % FX_INSTANCES], "POST /buy?item=P0001&user=u%d", i);
    close_sale(c, "P0001");
}

void rest_before(cell *c)
{
    warm_up(c);
    c->threads = (int)in_instances("task");
    c->descriptors = (int)in_instances("fd");
    assert_true(c->threads > 0 && c->descriptors > 0);
}

/* ---- what is left ---------------------------------------------------------------------------- */

typedef struct left {
    cell *c;
    long long locks, waiters, threads, descriptors;
} left;

static long long count_waiters_of(fx_redis *redis, const redisReply *queues)
{
    long long count = 0;
    for (size_t i = 0; i < queues->elements; i++)
        count += fx_redis_number(redis, "LLEN %s", queues->element[i]->str);
    return count;
}

/* Adds to *locks and *waiters, which become UNKNOWN where Redis does not tell. */
static void count_on(fx_redis *redis, long long *locks, long long *waiters)
{
    redisReply *keys = fx_redis_reply(redis, "KEYS fs:*:lock");
    redisReply *queues = fx_redis_reply(redis, "KEYS fs:*:queue");
    bool told = keys->type == REDIS_REPLY_ARRAY && queues->type == REDIS_REPLY_ARRAY;
    if (told && *locks != UNKNOWN) {
        *locks += (long long)keys->elements;
        *waiters += count_waiters_of(redis, queues);
    } else {
        *locks = *waiters = UNKNOWN;
    }
    freeReplyObject(keys);
    freeReplyObject(queues);
}

/* Threads that come when they are first needed, and stay: an instance has one that repeats failed
 * releases, and one for each server that it renews locks on. */
static int late_threads(const cell *c)
{
    return FX_INSTANCES * (1 + (c->lock_servers[0] ? CELL_LOCK_SERVERS : 1));
}

/* An instance keeps a connection to each server for each buyer that it has ever had at once, which
 * may be all of them. */
static int kept_connections(const cell *c)
{
    int buyers = CREW_BUYERS + c->fault->buyers;
    return FX_INSTANCES * buyers * (1 + (c->lock_servers[0] ? CELL_LOCK_SERVERS : 0));
}

/* What is more than what may stay. */
static long long beyond(long long count, int before, int may_stay)
{
    long long more = count - before - may_stay;
    return count == UNKNOWN ? UNKNOWN : more > 0 ? more : 0;
}

static bool nothing_is_left(void *arg)
{
    left *l = arg;
    const cell *c = l->c;
    l->locks = l->waiters = 0;
    count_on(fx.redis, &l->locks, &l->waiters);
    for (int k = 0; k < CELL_LOCK_SERVERS && c->lock_servers[k]; k++)
        count_on(c->lock_servers[k], &l->locks, &l->waiters);
    l->threads = beyond(in_instances("task"), c->threads, late_threads(c));
    l->descriptors = beyond(in_instances("fd"), c->descriptors, kept_connections(c));
    return l->locks == 0 && l->waiters == 0 && l->threads == 0 && l->descriptors == 0;
}

/* As the history has it. */
static const char *count_text(long long count, char buf[24])
{
    snprintf(buf, 24, count == UNKNOWN ? "-" : "%lld", count);
    return buf;
}

static void write_left(cell *c)
{
    left l = {.c = c};
    char locks[24], waiters[24], threads[24], descriptors[24];
    fx_wait_until(nothing_is_left, &l, c->lease_ms + GONE_MS);
    journal("left locks=%s waiters=%s threads=%s descriptors=%s", count_text(l.locks, locks),
            count_text(l.waiters, waiters), count_text(l.threads, threads),
            count_text(l.descriptors, descriptors));
}

/* ---- the orders ------------------------------------------------------------------------------ */

static void tag_of(const cell *c, int segment, char *buf, size_t len)
{
    if (row_is_sharded(&c->row))
        snprintf(buf, len, "{%s#%d}:%s", c->item, segment, c->sale);
    else
        snprintf(buf, len, "{%s}:%s", c->item, c->sale);
}

/* Writes down the order that a record is of, if it is one. server/store/purchase.h has the form. */
static void write_order(int segment, const char *request, const char *record)
{
    long long number, quantity, remaining, fence;
    char user[80], instance[80];
    if (sscanf(record, "%lld %79s %lld %lld %lld %79s", &number, user, &quantity, &remaining,
               &fence, instance) != 6)
        return;
    journal("order segment=%d number=%lld request=%s user=%s quantity=%lld fence=%lld "
            "remaining=%lld instance=%s",
            segment, number, request, user, quantity, fence, remaining, instance);
}

/* An element of the ledger without a record is nobody's order: its units are missing, and so is
 * what its buyer was told. A record without an element is an order, too. */
static void write_orders(int segment, const redisReply *ledger, const redisReply *records)
{
    for (size_t i = 0; i < ledger->elements; i++) {
        const char *request = ledger->element[i]->str, *record = NULL;
        for (size_t k = 0; k + 1 < records->elements; k += 2) {
            if (strcmp(records->element[k]->str, request) == 0)
                record = records->element[k + 1]->str;
        }
        if (record)
            write_order(segment, request, record);
    }
    for (size_t k = 0; k + 1 < records->elements; k += 2) {
        bool listed = false;
        for (size_t i = 0; !listed && i < ledger->elements; i++)
            listed = strcmp(ledger->element[i]->str, records->element[k]->str) == 0;
        if (!listed)
            write_order(segment, records->element[k]->str, records->element[k + 1]->str);
    }
}

static void write_segment(cell *c, int segment)
{
    char base[128], stock[64];
    tag_of(c, segment, base, sizeof(base));
    redisReply *ledger = fx_redis_reply(fx.redis, "LRANGE fs:%s:ledger 0 -1", base);
    redisReply *records = fx_redis_reply(fx.redis, "HGETALL fs:%s:orders", base);
    redisReply *left_there = fx_redis_reply(fx.redis, "GET fs:%s:stock", base);
    snprintf(stock, sizeof(stock), "%s",
             left_there->type == REDIS_REPLY_STRING ? left_there->str : "-");
    bool readable = ledger->type == REDIS_REPLY_ARRAY && records->type == REDIS_REPLY_ARRAY;
    if (readable)
        write_orders(segment, ledger, records);
    char *end;
    long long remaining = strtoll(stock, &end, 10);
    if (end == stock || *end != '\0')
        snprintf(stock, sizeof(stock), "-");
    else
        snprintf(stock, sizeof(stock), "%lld", remaining);
    if (readable)
        journal("rest segment=%d remaining=%s", segment, stock);
    freeReplyObject(ledger);
    freeReplyObject(records);
    freeReplyObject(left_there);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rest_after(cell *c)
{
    if (!c->over) {
        if (!fx_wait_until(is_closed, c, RESOLVED_MS))
            fail_msg("no other sale can be started, so that this one would be closed");
        crew_resolve(RESOLVED_MS);
    }
    write_left(c);
    for (int segment = 0; segment < (row_is_sharded(&c->row) ? CELL_SEGMENTS : 1); segment++)
        write_segment(c, segment);
}
