/*
 * keys.c - somebody else's hand on the sale's keys: one is deleted or overwritten, and put back; or
 * all are gone for good.
 *
 * Nobody is inside while the hand is at work, so that what is put back is what there was. A sale
 * whose pointer is lost is halted; the admin lets it go on.
 */
#include <stdio.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"

enum { STOCK = 400, SOME = CREW_BUYERS, TIMES = 5, KEY_MAX = 192, LEASE_MS = 2000 };

typedef struct harm {
    const char *name; /* of the key; "sale": the pointer to the sale */
    void (*do_it)(cell *c, const char *key);
    bool halts; /* the sale is to be halted then */
} harm;

static void prepare(cell *c)
{
    c->stock = STOCK;
}

/* The terms of a sharded sale are the item's, not a segment's. */
static void name_key(const char *name, char *buf)
{
    const fx_sale *s = crew_sale(0);
    if (strcmp(name, "cfg") == 0)
        snprintf(buf, KEY_MAX, "fs:{%s}:%s:cfg", s->item, s->id);
    else
        fx_sale_key(s, 0, name, buf, KEY_MAX);
}

static void put_back(const char *key, const redisReply *kept)
{
    fx_redis_do(fx.redis, "RESTORE %s 0 %b REPLACE", key, kept->str, kept->len);
}

/* Harms one key until buyers have been refused for it, and puts it back. */
static void harm_one(cell *c, const harm *h)
{
    char key[KEY_MAX];
    name_key(h->name, key);
    crew_pause();
    redisReply *kept = fx_redis_reply(fx.redis, "DUMP %s", key);
    assert_int_equal(kept->type, REDIS_REPLY_STRING);
    cell_begin_fault(c);
    h->do_it(c, key);
    crew_go_on();
    cell_met(c, crew_more(&crew.busy, SOME, CELL_PATIENCE_MS));
    crew_pause();
    if (h->halts)
        redis_resume(c);
    else
        put_back(key, kept);
    freeReplyObject(kept);
    cell_healed(c);
    crew_go_on();
    crew_more(&crew.bought, SOME, CELL_PATIENCE_MS);
}

/* All of them, from any one on. */
static void harm_all(cell *c, const harm *harms, unsigned count)
{
    unsigned first = cell_random(c, count);
    for (unsigned i = 0; i < count; i++)
        harm_one(c, &harms[(first + i) % count]);
}

/* ---- deleted --------------------------------------------------------------------------------- */

static void delete_it(cell *c, const char *key)
{
    (void)c;
    fx_redis_do(fx.redis, "DEL %s", key);
}

/* What the lock keeps beside itself may go at any time, and nobody is refused for it. */
static void delete_under_load(cell *c, const char *name)
{
    char key[KEY_MAX];
    name_key(name, key);
    cell_begin_fault(c);
    for (int i = 0; i < TIMES; i++) {
        cell_landed(c, fx_redis_number(fx.redis, "DEL %s", key));
        crew_more(&crew.bought, 1, CELL_PATIENCE_MS);
    }
    cell_healed(c);
}

static void deleted(cell *c)
{
    static const harm harms[] = {
        {"stock", delete_it, false},  {"sold", delete_it, false}, {"orders", delete_it, false},
        {"ledger", delete_it, false}, {"cfg", delete_it, false},  {"sale", delete_it, true},
    };
    harm_all(c, harms, COUNT(harms));
    delete_under_load(c, "fence");
    delete_under_load(c, "queue");
}

const fault fault_deleted = {
    .name = "deleted",
    .says = "each of the sale's keys is deleted by hand, and put back once buyers were refused",
    .counts = "keys for which buyers were refused, and keys of the lock deleted",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .prepare = prepare,
    .inject = deleted,
};

/* ---- overwritten ----------------------------------------------------------------------------- */

/* The same number, as Lua reads it but INCRBY does not. */
static void spell_it_wrong(cell *c, const char *key)
{
    static const char *const spellings[] = {"%lld.0", "%llde0", " %lld", "0x%llx"};
    char text[64];
    long long number = fx_redis_number(fx.redis, "GET %s", key);
    snprintf(text, sizeof(text), spellings[cell_random(c, 4)], number);
    fx_redis_do(fx.redis, "SET %s %s", key, text);
}

static void change_type(cell *c, const char *key)
{
    (void)c;
    fx_redis_do(fx.redis, "DEL %s", key);
    fx_redis_do(fx.redis, "SADD %s by-hand", key);
}

static void point_nowhere(cell *c, const char *key)
{
    (void)c;
    fx_redis_do(fx.redis, "SET %s by-hand", key);
}

/* To the sale before, as whoever restores an old copy does. */
static void point_back(cell *c, const char *key)
{
    (void)c;
    char before[64];
    assert_true(fx_redis_text(fx.redis, before, sizeof(before), "HGET fs:{%s}:%s:cfg previous",
                              crew_sale(0)->item, crew_sale(0)->id));
    fx_redis_do(fx.redis, "SET %s %s", key, before);
}

static void overwritten(cell *c)
{
    static const harm harms[] = {
        {"stock", spell_it_wrong, false}, {"sold", spell_it_wrong, false},
        {"stock", change_type, false},    {"orders", change_type, false},
        {"ledger", change_type, false},   {"cfg", change_type, false},
        {"sale", change_type, false},     {"sale", point_nowhere, false},
        {"sale", point_back, true},
    };
    harm_all(c, harms, COUNT(harms));
}

const fault fault_overwritten = {
    .name = "overwritten",
    .says =
        "the sale's keys are overwritten by hand, and put back once buyers were refused: with a "
        "number that INCR refuses, another type, another sale's pointer",
    .counts = "keys for which buyers were refused",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .prepare = prepare,
    .inject = overwritten,
};

/* ---- all gone -------------------------------------------------------------------------------- */

static void flushall(cell *c)
{
    cell_begin_fault(c);
    fx_redis_do(fx.redis, "FLUSHALL");
    redis_has_forgotten(c);
}

const fault fault_flushall = {
    .name = "flushall",
    .says = "somebody says FLUSHALL",
    .counts = "refusals when all was gone",
    .final = true,
    .lease_ms = LEASE_MS,
    .cover = "a Redis user without FLUSHALL, as docker/ sets it up",
    .inject = flushall,
};

static bool stock_is_evicted(void *arg)
{
    (void)arg;
    return fx_redis_number(fx.redis, "EXISTS %s", cell_key("stock")) == 0;
}

static void evicted(cell *c)
{
    static const char *const policies[] = {"allkeys-random", "allkeys-lru", "allkeys-lfu"};
    cell_begin_fault(c);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy %s maxmemory 1",
                policies[cell_random(c, 3)]);
    if (!fx_wait_until(stock_is_evicted, NULL, CELL_PATIENCE_MS))
        fail_msg("the stock was not evicted");
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy noeviction maxmemory 0");
    redis_has_forgotten(c);
}

const fault fault_evicted = {
    .name = "evicted",
    .says = "maxmemory and an evicting policy are set while it sells, and Redis throws keys away",
    .counts = "refusals when the stock was gone",
    .final = true,
    .lease_ms = LEASE_MS,
    .cover = "maxmemory-policy noeviction: where it is set before, no instance sells at all",
    .inject = evicted,
};
