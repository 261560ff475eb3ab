/*
 * refusals.c - a Redis that refuses: full, a replica, busy with a script, loading its data, or the
 * service's user may not do what it needs.
 *
 * One buyer is held back before the write that records its order, and meets the refusal there: who
 * takes the unit in a step of its own can then neither record nor put back. All the others meet it
 * wherever they are.
 */

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/victim.h"
#include "tests/chaos/redis.h"

enum {
    ANSWERS = 150,   /* of Redis, before it is undone */
    LEASE_MS = 2000, /* a promoted Redis is compared for a second before it is sold from */
    SHORT_MS = 500   /* of one that is over before most have asked again */
};

typedef struct goal {
    cell *c;
    int64_t replies;
} goal;

static bool has_answered(void *arg)
{
    goal *g = arg;
    return fx_proxy_count(g->c->proxy, "replies") >= g->replies;
}

/* The crew and the instances themselves go on asking. */
static bool is_met(cell *c)
{
    goal g = {c, fx_proxy_count(c->proxy, "replies") + ANSWERS};
    return fx_wait_until(has_answered, &g, CELL_PATIENCE_MS);
}

/* From `begin` to `end` Redis refuses with `word`. */
static void refuse(cell *c, const char *word, void (*begin)(cell *), void (*end)(cell *))
{
    crew_buyer victim;
    long long before = redis_errors(word);
    bool held = victim_hold(c, &victim, (int)cell_random(c, FX_INSTANCES), WRITE_OF_ORDER);
    cell_begin_fault(c);
    begin(c);
    victim_let_go(c);
    bool refused = crew_answer(&victim) == 503;
    crew_go_on();
    refused = is_met(c) && refused;
    end(c);
    cell_healed(c);
    cell_landed(c, held && refused ? redis_errors(word) - before : 0);
    crew_settle(&victim, 0, CELL_PATIENCE_MS);
}

/* ---- oom ------------------------------------------------------------------------------------- */

static void fill(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 1");
}

static void empty(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 0");
}

static void oom(cell *c)
{
    refuse(c, "OOM", fill, empty);
}

const fault fault_oom = {
    .name = "oom",
    .says = "Redis has no memory left, and evicts nothing",
    .counts = "commands refused with OOM",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .inject = oom,
};

/* ---- readonly -------------------------------------------------------------------------------- */

static void demote(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "REPLICAOF 127.0.0.1 1"); /* where nobody listens: nothing is copied */
}

static void promote(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "REPLICAOF NO ONE");
}

static void readonly(cell *c)
{
    refuse(c, "READONLY", demote, promote);
}

const fault fault_readonly = {
    .name = "readonly",
    .says = "Redis is made a replica, and a primary again",
    .counts = "commands refused with READONLY",
    .needs = NEEDS_PROXY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = readonly,
};

/* ---- busy ------------------------------------------------------------------------------------ */

/* Has Redis do something that lasts, on a connection of its own. */
static redisContext *begin_long(const char *command)
{
    int sent = 0;
    redisContext *ctx = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    redisAppendCommand(ctx, command);
    while (!sent && redisBufferWrite(ctx, &sent) == REDIS_OK)
        ;
    return ctx;
}

typedef struct answering {
    const char *word; /* to PING */
} answering;

static bool is_answering(void *arg)
{
    const answering *a = arg;
    redisReply *reply = fx_redis_reply(fx.redis, "PING");
    bool same = reply->str && strncmp(reply->str, a->word, strlen(a->word)) == 0;
    freeReplyObject(reply);
    return same;
}

static void await_answer(const char *word)
{
    if (!fx_wait_until(is_answering, &(answering){word}, CELL_PATIENCE_MS))
        fail_msg("Redis does not come to answer %s", word);
}

/* From `begin` to `end`, a moment later, Redis refuses with `word`. Whoever meets it may be sold to
 * in the end, by a retry of the instance's. */
static void refuse_shortly(cell *c, const char *word, void (*begin)(cell *), void (*end)(cell *))
{
    crew_buyer victim;
    long long before = redis_errors(word);
    bool held = victim_hold(c, &victim, (int)cell_random(c, FX_INSTANCES), WRITE_OF_ORDER);
    cell_begin_fault(c);
    begin(c);
    victim_let_go(c);
    crew_go_on();
    fx_let_pass(SHORT_MS);
    end(c);
    cell_healed(c);
    crew_answer(&victim);
    cell_landed(c, held ? redis_errors(word) - before : 0);
    crew_settle(&victim, 0, CELL_PATIENCE_MS);
}

static redisContext *lasting;

static void loop_for_ever(cell *c)
{
    (void)c;
    lasting = begin_long("EVAL while\ttrue\tdo\tend 0");
    await_answer("BUSY");
}

static void stop_loop(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "SCRIPT KILL");
    await_answer("PONG");
    redisFree(lasting);
}

static void busy(cell *c)
{
    refuse(c, "BUSY", loop_for_ever, stop_loop);
}

const fault fault_busy = {
    .name = "busy",
    .says = "a script keeps Redis busy until it is killed",
    .counts = "commands refused with BUSY",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .redis_args = FX_ARGS("--lua-time-limit", "100"),
    .inject = busy,
};

static void busy_short(cell *c)
{
    refuse_shortly(c, "BUSY", loop_for_ever, stop_loop);
}

const fault fault_busy_short = {
    .name = "busy-short",
    .says = "a script keeps Redis busy for half a second",
    .counts = "commands refused with BUSY",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .redis_args = FX_ARGS("--lua-time-limit", "100"),
    .inject = busy_short,
};

/* ---- loading --------------------------------------------------------------------------------- */

/* Enough to be loading for long, with a look at the clients between any two keys. */
#define FILL "for i = 1, 3000 do redis.call('SET', 'filler:' .. i, string.rep('filler', 200)) end"

static void reload(cell *c)
{
    (void)c;
    lasting = begin_long("DEBUG RELOAD");
    await_answer("LOADING");
}

static void end_reload(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "CONFIG SET key-load-delay 0");
    await_answer("PONG");
    redisFree(lasting);
}

static void loading(cell *c)
{
    fx_redis_do(fx.redis, "EVAL %s 0", FILL);
    refuse(c, "LOADING", reload, end_reload);
}

static void loading_short(cell *c)
{
    fx_redis_do(fx.redis, "EVAL %s 0", FILL);
    refuse_shortly(c, "LOADING", reload, end_reload);
}

#define LOADS_SLOWLY                                                                               \
    FX_ARGS("--enable-debug-command", "yes", "--key-load-delay", "3000", "--rdbcompression", "no", \
            "--loading-process-events-interval-bytes", "1024")

const fault fault_loading = {
    .name = "loading",
    .says = "Redis saves its data, empties itself, and takes a while to load them again",
    .counts = "commands refused with LOADING",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .redis_args = LOADS_SLOWLY,
    .inject = loading,
};

const fault fault_loading_short = {
    .name = "loading-short",
    .says = "Redis saves its data, empties itself, and loads them again in half a second",
    .counts = "commands refused with LOADING",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .redis_args = LOADS_SLOWLY,
    .inject = loading_short,
};

/* ---- noperm: of the command that appends an order to the ledger -------------------------------
 */

static void forbid(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "ACL SETUSER default -rpush");
}

static void permit(cell *c)
{
    (void)c;
    fx_redis_do(fx.redis, "ACL SETUSER default +rpush");
}

static void noperm(cell *c)
{
    int before = redis_refusals();
    refuse_shortly(c, "NOPERM", forbid, permit);
    cell_landed(c, redis_refusals() - before); /* a script asks first, and is refused nothing */
}

const fault fault_noperm = {
    .name = "noperm",
    .says = "the service's user may not append to the ledger for half a second",
    .counts = "commands refused with NOPERM, and buyers refused meanwhile",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
    .inject = noperm,
};
