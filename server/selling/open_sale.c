/* open_sale.c - what several frames share: a sale's lock, its critical section, the scripts'
 * answers, and what is remembered of them. */
#include "server/selling/open_sale.h"

#include <stdlib.h>

#include "server/base/log.h"
#include "server/store/replicas.h"

bool sale_open(open_sale *ret, const sale_terms *terms, const struct fs_strategy *strategy,
               fs_store *store)
{
    size_t sets = (size_t)terms_key_sets(terms);
    *ret = (open_sale){.terms = *terms,
                       .strategy = strategy,
                       .store = store,
                       .key_sets = (int)sets,
                       .keys = calloc(sets, sizeof(sale_keys)),
                       .words = calloc(sets, sizeof(dlock_args)),
                       .units = calloc(sets, sizeof(int64_t)),
                       .known = calloc(sets, sizeof(known_ledger)),
                       .figures = calloc(1, sizeof(sale_figures)),
                       .request_ms = terms_request_ms(terms)};
    if (!ret->keys || !ret->words || !ret->units || !ret->known || !ret->figures) {
        ret->key_sets = 0;
        sale_close(ret);
        return false;
    }
    for (int k = 0; k < ret->key_sets; k++) {
        dlock_args *words = &ret->words[k];
        terms_keys(terms, k, &ret->keys[k]);
        ret->units[k] = terms_units(terms, k);
        ret->state_keys = terms_put_keys(words, &ret->keys[k]);
        dlock_args_text(words, terms->id);
        dlock_args_int(words, terms->per_user_limit);
    }
    return true;
}

void sale_close(open_sale *sale)
{
    for (int k = 0; k < sale->key_sets; k++) {
        known_ledger_free(&sale->known[k]);
        dlock_args_free(&sale->words[k]);
    }
    free(sale->keys);
    free(sale->words);
    free(sale->units);
    free(sale->known);
    free(sale->figures);
}

dlock_status sale_lock_new(const open_sale *sale, const dlock_options *options, const char *name,
                           dlock_lock **ret, char *err, size_t err_len)
{
    dlock_options all = *options;
    all.lease_ms = sale->terms.lease_ms;
    return dlock_lock_new(sale->store->locks, name, &all, ret, err, err_len);
}

bool sale_lock_look(const open_sale *sale, dlock_kind kind, int k, dlock_info *ret)
{
    char err[128];
    dlock_lock *lock;
    const sale_keys *keys = &sale->keys[k];
    dlock_options options = {.kind = kind};
    if (sale_lock_new(sale, &options, keys->lock, &lock, err, sizeof(err)) != DLOCK_OK)
        return false;
    bool known = dlock_inspect(lock, ret) == DLOCK_OK;
    dlock_lock_free(lock);
    if (!known && kind == DLOCK_QUORUM)
        *ret = (dlock_info){.ttl_ms = -2};
    return known || kind == DLOCK_QUORUM;
}

fs_node *sale_node(const open_sale *sale, int k)
{
    return store_node(sale->store, sale->keys[k].current);
}

purchase_outcome sale_missing_promise(const open_sale *sale, int k, const fs_node *node)
{
    const store_health *health = &node->health;
    bool disk = sale->terms.durability == DURABILITY_DISK;
    bool replicated = sale->terms.durability == DURABILITY_REPLICATED;
    purchase_outcome missing = BUY_SOLD;
    if (health_has(health, TROUBLE_WRITES_PAUSED))
        missing = BUY_WRITES_PAUSED;
    else if (health_has(health, TROUBLE_MAY_EVICT))
        missing = health_has(health, TROUBLE_REFUSES) ? BUY_UNAVAILABLE : BUY_MAY_EVICT;
    else if ((disk && health_has(health, TROUBLE_NO_DISK)) ||
             (replicated && replicas_missing(sale->store, &sale->terms, &sale->keys[k])))
        missing = BUY_NOT_DURABLE;
    return missing != BUY_SOLD && !node_reachable(node) ? BUY_UNAVAILABLE : missing;
}

const char *sale_put_state(dlock_args *args, const open_sale *sale, const sale_keys *keys)
{
    int64_t number;
    const char *epochs = known_ledger_epochs(&sale->known[keys->segment], &number);
    const dlock_args *words = &sale->words[keys->segment];
    dlock_args_wire(args, words->buf, words->len, words->count);
    args->failed = args->failed || words->failed;
    dlock_args_int(args, number);
    dlock_args_text(args, epochs);
    return epochs;
}

void sale_saw_order(const open_sale *sale, const sale_keys *keys, const fs_order *order)
{
    known_ledger_saw(&sale->known[keys->segment], order->epoch, order->number);
}

void sale_saw_numbers(const open_sale *sale, const ledger_numbers *numbers)
{
    sale_figures *figures = sale->figures;
    atomic_store(&figures->remaining, numbers->remaining); /* before the units: see the header */
    atomic_store(&figures->units, numbers->units);
    atomic_store(&figures->orders, numbers->orders);
    atomic_store(&figures->reserved, numbers->reserved);
    atomic_store(&figures->seen, true);
}

bool sale_last_seen(const open_sale *sale, ledger_numbers *ret)
{
    sale_figures *figures = sale->figures;
    if (!atomic_load(&figures->seen))
        return false;
    ret->orders = atomic_load(&figures->orders);
    ret->reserved = atomic_load(&figures->reserved);
    ret->units = atomic_load(&figures->units);
    ret->remaining = atomic_load(&figures->remaining);
    return true;
}

bool sale_may_tell(const open_sale *sale, const purchase_result *result)
{
    return result->outcome == BUY_SOLD &&
           (result->replicated || sale->terms.durability != DURABILITY_REPLICATED);
}

void sale_sold(const open_sale *sale, const sale_keys *keys, purchase_result *result)
{
    purchase_answer(result, BUY_SOLD);
    result->segment = keys->segment;
    if (sale->terms.durability != DURABILITY_REPLICATED) /* else a failover may undo it as yet */
        sale_saw_order(sale, keys, &result->order);
}

void sale_answer(const open_sale *sale, const sale_keys *keys, const redisReply *answer,
                 const purchase *asked, purchase_result *result)
{
    if (!answer || answer->type != REDIS_REPLY_STRING) {
        purchase_answer(result, BUY_UNKNOWN);
        result->segment = keys->segment;
        return;
    }
    purchase_answer_script(result, answer->str, answer->len, asked);
    result->segment = keys->segment;
    bool is_order = result->outcome == BUY_SOLD || result->outcome == BUY_CONFLICT;
    if (is_order && sale->terms.durability != DURABILITY_REPLICATED)
        sale_saw_order(sale, keys, &result->order);
    else if (result->outcome == BUY_UNAVAILABLE)
        LOG_SOME(LOG_WARN, "redis_failed", "what", "sell", "how", "refused", "detail", answer->str,
                 NULL);
    else if (result->outcome == BUY_DAMAGED)
        LOG_SOME(LOG_ERROR, "sale_damaged", "keys", keys->base, "detail", answer->str, NULL);
    else if (result->outcome == BUY_ROLLED_BACK)
        LOG_SOME(LOG_ERROR, "sale_rolled_back", "keys", keys->base, "detail", answer->str, NULL);
}

void sale_hold(const open_sale *sale, dlock_time deadline)
{
    if (sale->terms.hold_ms > 0)
        dlock_sleep(dlock_sooner(dlock_in_ms(sale->terms.hold_ms), deadline));
}
