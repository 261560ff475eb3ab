/*
 * status.c - what the service says about itself: alive, ready, metrics, strategies, locks.
 *
 * /livez touches nothing, so that it fails only when the process does. /readyz says what the keeper
 * last found, so that a Redis that hangs does not make it hang too: whether anything can be sold,
 * and why not, in Redis's words.
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

/* The items known here, and those of them that can not be sold. */
typedef struct items_seen {
    fs_store *store;
    bool no_quorum;
    int all, unsold;
    bool
        no_replicas; /* is why the last of them can not be sold; else no disk, or its own trouble */
    const char *code; /* of the last of them */
    fs_text names;
} items_seen;

/* `code`: why it can not be sold; NULL = it can. */
static void count_item(items_seen *seen, const char *item, const char *code)
{
    seen->all++;
    if (!code)
        return;
    seen->code = code;
    if (seen->unsold++ < NAMED_MOST)
        text_printf(&seen->names, "not sold: %s %s\n", item, code);
}

static void see_item(void *arg, fs_sale *sale)
{
    items_seen *seen = arg;
    const sale_terms *terms = &sale->open_sale.terms;
    const char *code = atomic_load(&sale->trouble);
    bool no_disk =
        terms->durability == DURABILITY_DISK && health_has(&seen->store->health, TROUBLE_NO_DISK);
    bool no_replicas = replicas_missing(seen->store, terms);
    if (!code && (no_disk || no_replicas))
        code = "durability_lost";
    if (!code && seen->no_quorum && sale->open_sale.strategy->lock.kind == DLOCK_QUORUM)
        code = "store_unavailable";
    if (code)
        seen->no_replicas = no_replicas;
    count_item(seen, terms->item, code);
}

static void see_unopened(void *arg, const char *item)
{
    count_item(arg, item, "sale_rolled_back");
}

static void put_trouble(api_reply *reply, const char *code, const store_complaint *why)
{
    char member[64] = "";
    if (why->redis[0] != '\0')
        snprintf(member, sizeof(member), ",\"redis\":\"%s\"", why->redis);
    problem_with(reply, 503, code, why->detail, member);
}

/* What is wrong with the server for all sales. */
static bool put_server_trouble(store_health *health, api_reply *reply)
{
    static const struct {
        store_trouble trouble;
        const char *code;
    } troubles[] = {{TROUBLE_SILENT, "store_unavailable"},
                    {TROUBLE_REFUSES, "store_unavailable"},
                    {TROUBLE_MAY_EVICT, "store_may_evict"}};
    store_complaint why;
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        if (health_why(health, troubles[i].trouble, &why)) {
            put_trouble(reply, troubles[i].code, &why);
            return true;
        }
    }
    return false;
}

/* Ready as long as anything can be sold, or nothing is to be. */
static void put_items(fs_api *api, api_reply *reply)
{
    store_complaint why = {.redis = "", .detail = "no item can be sold: see the log"};
    items_seen seen = {.store = api->store, .no_quorum = quorum_lost(&api->store->quorum)};
    text_init(&seen.names);
    sale_table_each(api->sales, see_item, &seen);
    sale_table_each_unopened(api->sales, see_unopened, &seen);
    if (seen.unsold > 0 && seen.unsold == seen.all) {
        if (strcmp(seen.code, "durability_lost") == 0)
            health_why(&api->store->health,
                       seen.no_replicas ? TROUBLE_NO_REPLICAS : TROUBLE_NO_DISK, &why);
        put_trouble(reply, seen.code, &why);
    } else {
        reply->status = 200;
        text_add(&reply->body, "ready\n");
        text_add(&reply->body, text_bytes(&seen.names));
    }
    text_free(&seen.names);
}

void api_ready(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)request;
    if (atomic_load(&api->draining))
        problem(reply, 503, "draining", "this instance is going down");
    else if (atomic_load(&api->store->run_changed))
        problem(
            reply, 503, "server_changed",
            "Redis is another run than before, and is compared before anything is written to it");
    else if (put_server_trouble(&api->store->health, reply))
        return;
    else if (!atomic_load(&api->open))
        problem(reply, 503, "starting", "this instance is still starting");
    else
        put_items(api, reply);
}

void api_metrics(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)request;
    reply->status = 200;
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(api->metrics, api->store, atomic_load(&api->in_flight), &reply->body);
}

static void put_member(fs_text *out, const char *name, const char *value)
{
    text_printf(out, "\"%s\":", name);
    text_json(out, value);
    text_add(out, ",");
}

static void put_flag(fs_text *out, const char *name, bool flag)
{
    text_printf(out, "\"%s\":%s,", name, flag ? "true" : "false");
}

void api_strategies(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api, (void)request;
    fs_text *out = reply_json(reply, 200);
    text_add(out, "{\"strategies\":[");
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        text_add(out, s == strategy_list() ? "{" : ",{");
        put_member(out, "name", (*s)->name);
        put_member(out, "summary", (*s)->summary);
        put_member(out, "source", (*s)->source);
        put_member(out, "weakness", (*s)->weakness);
        put_flag(out, "locked", (*s)->locked);
        put_flag(out, "renews", (*s)->renews);
        put_flag(out, "sharded", (*s)->sharded);
        put_flag(out, "replayable", (*s)->replayable);
        put_flag(out, "guarded", (*s)->guarded);
        text_printf(out, "\"lease_ms\":%lld,\"wait_ms\":%lld}", (long long)(*s)->lease_ms,
                    (long long)(*s)->wait_ms);
    }
    text_add(out, "]}\n");
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

static bool put_lock(fs_text *out, const char *comma, const open_sale *sale, const sale_keys *keys)
{
    char err[128];
    dlock_lock *lock;
    dlock_info info;
    dlock_options options = {.kind = DLOCK_FAIR, .companion = keys->base};
    if (dlock_lock_new(sale->store->locks, keys->lock, &options, &lock, err, sizeof(err)) !=
        DLOCK_OK)
        return false;
    bool known = dlock_inspect(lock, &info) == DLOCK_OK;
    dlock_lock_free(lock);
    if (!known)
        return false;
    text_printf(out, "%s{", comma);
    put_member(out, "item", sale->terms.item);
    put_member(out, "sale", sale->terms.id);
    put_member(out, "strategy", sale->terms.strategy);
    put_member(out, "name", keys->lock);
    put_member(out, "owner", info.owner);
    put_member(out, "host", info.host);
    text_printf(out, "\"held\":%s,\"pid\":%lld,\"since_us\":%lld,\"ttl_ms\":%lld,",
                info.held ? "true" : "false", (long long)info.pid, (long long)info.since_us,
                (long long)info.ttl_ms);
    text_printf(out, "\"fence\":%llu,\"waiters\":%lld}", (unsigned long long)info.fence,
                (long long)info.waiters);
    return true;
}

void api_locks(fs_api *api, const api_request *request, api_reply *reply)
{
    if (!auth_admit(api->auth, request->authorization, reply))
        return;
    locks_seen all = {.count = 0};
    sale_table_each(api->sales, collect, &all);

    fs_text *out = reply_json(reply, 200);
    const char *comma = "";
    bool known = true;
    text_add(out, "{\"locks\":[");
    for (int i = 0; i < all.count; i++) {
        const open_sale *sale = &all.sales[i]->open_sale;
        for (int k = 0; known && k < sale->key_sets; k++) {
            known = put_lock(out, comma, sale, &sale->keys[k]);
            comma = ",";
        }
        sale_table_put(all.sales[i]);
    }
    text_add(out, "]}\n");
    if (!known)
        problem_store_unavailable(reply);
}
