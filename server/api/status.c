/*
 * status.c - the state of the service: alive, ready, metrics, strategies, locks.
 *
 * /livez uses nothing else, so it fails only when the process does. /readyz reports what the keeper
 * last found, so it does not hang when Redis hangs: whether anything can be sold, and if not, why,
 * in Redis's words.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#include "server/store/replicas.h"
#include "server/strategies/registry.h"

#define LOCKS_SHOWN 64 /* sales whose locks are listed */

void api_live(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api, (void)request;
    reply->status = 200;
    text_add(&reply->body, "alive\n");
}

/* ---- ready ----------------------------------------------------------------------------------- */

#define NAMED_MOST 20 /* items named in one answer */
#define NO_ITEM    "no item can be sold: see the log"

/* What is wrong with a server for all sales; NULL = nothing. */
static const char *find_trouble(fs_node *node, store_complaint *why)
{
    static const struct {
        store_trouble trouble;
        purchase_outcome outcome;
    } troubles[] = {{TROUBLE_SILENT, BUY_UNAVAILABLE},
                    {TROUBLE_REFUSES, BUY_UNAVAILABLE},
                    {TROUBLE_WRITES_PAUSED, BUY_WRITES_PAUSED},
                    {TROUBLE_MAY_EVICT, BUY_MAY_EVICT}};
    if (atomic_load(&node->run_changed)) {
        *why = (store_complaint){.detail = "Redis is another run than before, and is compared "
                                           "before anything is written to it"};
        return "server_changed";
    }
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
        if (health_why(&node->health, troubles[i].trouble, why))
            return outcome_table[troubles[i].outcome].code;
    return NULL;
}

/* The same for all servers: NULL = one of them is well. */
static const char *find_trouble_of_all(fs_store *store, store_complaint *why)
{
    const char *code = find_trouble(store_node_at(store, -1), why);
    int servers = dlock_redis_servers(store->redis);
    for (int i = 0; code && i < servers; i++)
        if (store_serves(store, i))
            code = find_trouble(store_node_at(store, i), why);
    return code;
}

typedef struct items_seen {
    bool no_quorum;
    int all, unsold;
    struct {
        char item[IDENT_MAX + 1];
        const char *code;
    } named[NAMED_MOST];
    store_complaint why; /* the first one's */
} items_seen;

/* `code`: why the item can not be sold; NULL = it can. */
static void count_item(items_seen *seen, const char *item, const char *code,
                       const store_complaint *why)
{
    seen->all++;
    if (!code)
        return;
    if (seen->unsold == 0)
        seen->why = *why;
    if (seen->unsold < NAMED_MOST) {
        snprintf(seen->named[seen->unsold].item, IDENT_MAX + 1, "%s", item);
        seen->named[seen->unsold].code = code;
    }
    seen->unsold++;
}

static int named_len(const items_seen *seen)
{
    return seen->unsold < NAMED_MOST ? seen->unsold : NAMED_MOST;
}

/* Why nothing can be sold from the sale's keys of set k: what is wrong with their server. */
static const char *find_trouble_in(const open_sale *sale, int k, store_complaint *why)
{
    fs_node *node = sale_node(sale, k);
    const char *code = find_trouble(node, why);
    const sale_terms *terms = &sale->terms;
    if (!code && ((terms->durability == DURABILITY_DISK &&
                   health_why(&node->health, TROUBLE_NO_DISK, why)) ||
                  (replicas_missing(sale->store, terms, &sale->keys[k]) &&
                   health_why(&node->health, TROUBLE_NO_REPLICAS, why))))
        code = outcome_table[BUY_NOT_DURABLE].code;
    return code;
}

/* A sharded sale sells as long as one of its segments does. */
static void see_item(void *arg, fs_sale *sale)
{
    items_seen *seen = arg;
    const open_sale *open = &sale->open_sale;
    store_complaint why = {.detail = NO_ITEM};
    const char *code = outcome_table[sale_state_outcome(fs_sale_state(sale))].code;
    if (!code)
        for (int k = 0; k < open->key_sets && (k == 0 || code); k++)
            code = find_trouble_in(open, k, &why);
    if (!code && seen->no_quorum && open->strategy->lock.kind == DLOCK_QUORUM) {
        why = (store_complaint){.detail = NO_ITEM};
        code = outcome_table[BUY_UNAVAILABLE].code;
    }
    count_item(seen, open->terms.item, code, &why);
}

static void see_unopened(void *arg, const char *item, sale_state state)
{
    const store_complaint why = {.detail = NO_ITEM};
    count_item(arg, item,
               state == STATE_OVER ? "sale_unreadable"
                                   : outcome_table[sale_state_outcome(state)].code,
               &why);
}

static void put_trouble(api_reply *reply, const char *code, const store_complaint *why)
{
    problem(reply, 503, code, why->detail);
    if (why->redis[0] != '\0')
        text_put(&reply->body, STRING("redis", why->redis));
}

/* Of several items the first one's reason is the problem's. */
static void put_unsold(const items_seen *seen, api_reply *reply)
{
    fs_text *out = &reply->body;
    put_trouble(reply, seen->named[0].code, &seen->why);
    text_put(out, AS_IS("items", "["));
    for (int i = 0; i < named_len(seen); i++) {
        text_next(out, "{");
        text_put(out, STRING("item", seen->named[i].item), STRING("code", seen->named[i].code));
        text_add(out, "}");
    }
    text_add(out, "]");
}

/* Ready as long as anything can be sold, or nothing is to be. */
static void put_items(fs_api *api, api_reply *reply)
{
    items_seen seen = {.no_quorum = quorum_lost(&api->store->quorum)};
    sale_table_each(api->sales, see_item, &seen);
    sale_table_each_unopened(api->sales, see_unopened, &seen);
    if (seen.unsold > 0 && seen.unsold == seen.all) {
        put_unsold(&seen, reply);
        return;
    }
    reply->status = 200;
    text_add(&reply->body, "ready\n");
    for (int i = 0; i < named_len(&seen); i++)
        text_printf(&reply->body, "not sold: %s %s\n", seen.named[i].item, seen.named[i].code);
}

void api_ready(fs_api *api, const api_request *request, api_reply *reply)
{
    store_complaint why;
    const char *code = find_trouble_of_all(api->store, &why);
    (void)request;
    if (atomic_load(&api->metrics->draining))
        problem(reply, 503, "draining", "this instance is going down");
    else if (code)
        put_trouble(reply, code, &why);
    else if (!atomic_load(&api->open))
        problem(reply, 503, "starting", "this instance is still starting");
    else
        put_items(api, reply);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static bool is_ready(fs_api *api)
{
    api_reply said;
    reply_init(&said);
    api_ready(api, NULL, &said);
    bool ready = said.status == 200;
    reply_free(&said);
    return ready;
}

void api_metrics(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)request;
    fs_text *out = &reply->body;
    reply->status = 200;
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(api->metrics, api->store, out);
    metric_gauge(out, "flashsale_requests_in_flight", "Requests being answered now.",
                 atomic_load(&api->metrics->in_flight));
    metric_gauge(out, "flashsale_ready", "Whether GET /readyz says that buys can be sent here.",
                 is_ready(api));
    metric_gauge(out, "flashsale_draining", "Whether this instance is going down.",
                 atomic_load(&api->metrics->draining));
    sale_metrics_write(api->sales, out);
    process_metrics_write(out);
}

/* ---- strategies ------------------------------------------------------------------------------ */

void api_strategies(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api, (void)request;
    fs_text *out = reply_json(reply, 200);
    text_put(out, AS_IS("strategies", "["));
    for (const fs_strategy *const *all = strategy_list(); *all; all++) {
        const fs_strategy *s = *all;
        text_next(out, "{");
        text_put(out, STRING("name", s->name), STRING("summary", s->summary),
                 STRING("explanation", strategy_explanation(s)), STRING("source", s->source),
                 STRING("weakness", s->weakness), FLAG("locked", s->locked),
                 FLAG("renews", s->renews), FLAG("sharded", s->sharded),
                 FLAG("replayable", s->replayable), FLAG("guarded", s->guarded),
                 FLAG("reserves", s->reserves), NUMBER("lease_ms", s->lease_ms),
                 NUMBER("wait_ms", s->wait_ms));
        text_add(out, "}");
    }
    text_add(out, "]");
}

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct locks_seen {
    fs_sale *sales[LOCKS_SHOWN];
    int count;
} locks_seen;

static void collect(void *arg, fs_sale *sale)
{
    locks_seen *all = arg;
    if (sale->open_sale.strategy->locked && all->count < LOCKS_SHOWN) {
        atomic_fetch_add(&sale->refs, 1);
        all->sales[all->count++] = sale;
    }
}

static bool put_lock(fs_text *out, const open_sale *sale, int k)
{
    dlock_info info;
    if (!sale_lock_look(sale, sale->strategy->lock.kind, k, &info))
        return false;
    text_next(out, "{");
    text_put(out, STRING("item", sale->terms.item), STRING("sale", sale->terms.id),
             STRING("strategy", sale->terms.strategy), STRING("name", sale->keys[k].lock),
             STRING("owner", info.owner), STRING("host", info.host), FLAG("held", info.held),
             NUMBER("pid", info.pid), NUMBER("since_us", info.since_us),
             NUMBER("ttl_ms", info.ttl_ms), NUMBER("fence", (int64_t)info.fence),
             NUMBER("waiters", info.waiters));
    text_add(out, "}");
    return true;
}

void api_locks(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)request;
    locks_seen all = {.count = 0};
    sale_table_each(api->sales, collect, &all);

    fs_text *out = reply_json(reply, 200);
    bool known = true;
    text_put(out, AS_IS("locks", "["));
    for (int i = 0; i < all.count; i++) {
        const open_sale *sale = &all.sales[i]->open_sale;
        for (int k = 0; known && k < sale->key_sets; k++)
            known = put_lock(out, sale, k);
        sale_table_put(all.sales[i]);
    }
    text_add(out, "]");
    if (!known)
        problem_redis(reply, dlock_redis_said(), "nothing was done");
}
