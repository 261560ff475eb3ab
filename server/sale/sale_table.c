/*
 * sale_table.c - the table of current sales, and the reaper of ended ones.
 *
 * A buyer must wait neither for the lookup of another item's sale nor for the closing of a sale. So
 * reading the table takes only a read lock, lookups of different items are independent, and the
 * reaper closes sales.
 */
#include "server/sale/sale_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/ticker.h"
#include "server/strategies/registry.h"

#define REAP_MS 250
#define BUCKETS 256

typedef struct table_entry {
    struct table_entry *next; /* in its bucket */
    char item[IDENT_MAX + 1];
    fs_sale *current;
    item_state state;
} table_entry;

struct sale_table {
    fs_store *store;        /* (borrowed) */
    single_flight *loading; /* one thread at a time asks Redis about an item's sale */
    pthread_rwlock_t lock;  /* guards what follows, up to the reaper */
    table_entry *buckets[BUCKETS];
    int count; /* of items */
    fs_sale *retired;
    ticker *reaper;
};

/* ---- a sale ---------------------------------------------------------------------------------- */

/* NULL and a sentence in err. */
static fs_sale *open_strategy(fs_store *store, const sale_terms *terms, const fs_strategy *strategy,
                              char *err, size_t err_len)
{
    fs_sale *sale = calloc(1, sizeof(*sale));
    snprintf(err, err_len, "out of memory");
    bool opened = sale && sale_open(&sale->open_sale, terms, strategy, store);
    if (opened &&
        (!strategy->open || strategy->open(&sale->open_sale, &sale->strategy, err, err_len) == 0))
        return sale;
    if (opened)
        sale_close(&sale->open_sale);
    free(sale);
    return NULL;
}

sale_status fs_sale_open(fs_store *store, const char *item, const char *id, dlock_time deadline,
                         fs_sale **ret, char *err, size_t err_len)
{
    sale_terms terms;
    sale_status status = terms_read(store, item, id, deadline, &terms, err, err_len);
    const fs_strategy *strategy = status == SALE_OK ? strategy_find(terms.strategy) : NULL;
    if (status == SALE_OK && !strategy) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'", terms.strategy,
                 durability_name(terms.durability));
        status = SALE_UNREADABLE;
    }
    if (status != SALE_OK)
        return status == SALE_NONE ? SALE_DAMAGED : status;
    *ret = open_strategy(store, &terms, strategy, err, err_len);
    return *ret ? SALE_OK : SALE_UNREADABLE;
}

sale_state fs_sale_state(const fs_sale *sale)
{
    return (sale_state)atomic_load_explicit(&sale->state->is, memory_order_acquire);
}

void fs_sale_close(fs_sale *sale)
{
    if (sale->open_sale.strategy->close)
        sale->open_sale.strategy->close(sale->strategy);
    sale_close(&sale->open_sale);
    free(sale);
}

/* A sale's id is the moment of its start. */
static int64_t started_us(const sale_terms *terms)
{
    return strtoll(terms->id, NULL, 16);
}

/* Whether the sale that this one ended is still kept. */
static bool keeps_previous(const sale_terms *terms, fs_store *store)
{
    int64_t now_us = node_redis_us(terms_node(store, terms->item), dlock_now());
    return terms->previous[0] != '\0' &&
           now_us - started_us(terms) < TERMS_KEPT_S * INT64_C(1000000);
}

static bool was_accepted_after(const sale_terms *terms, const sale_terms *remembered)
{
    return terms->accepted > started_us(remembered) && terms->accepted > remembered->accepted;
}

sale_status fs_sale_descends(const fs_sale *sale, const sale_terms *remembered, dlock_time deadline)
{
    fs_store *store = sale->open_sale.store;
    sale_terms at = sale->open_sale.terms;
    while (!was_accepted_after(&at, remembered) && strcmp(at.previous, remembered->id) > 0) {
        sale_terms before;
        sale_status status = terms_read(store, at.item, at.previous, deadline, &before, NULL, 0);
        if (status == SALE_UNAVAILABLE)
            return status;
        if (status == SALE_UNREADABLE) /* its program has closed what it follows */
            return SALE_OK;
        if (status != SALE_OK) /* expected if it is no longer kept */
            return keeps_previous(&at, store) ? SALE_NONE : SALE_OK;
        at = before;
    }
    bool follows = strcmp(at.previous, remembered->id) == 0;
    return follows || was_accepted_after(&at, remembered) ? SALE_OK : SALE_NONE;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Under `lock`. */
static table_entry *find(sale_table *table, const char *item)
{
    table_entry *entry = table->buckets[text_hash(item) % BUCKETS];
    while (entry && strcmp(entry->item, item) != 0)
        entry = entry->next;
    return entry;
}

static sale_state state_of(const table_entry *entry)
{
    return entry ? (sale_state)atomic_load(&entry->state.is) : STATE_NONE;
}

static fs_sale *sale_of(const table_entry *entry, bool over_too)
{
    return entry && (over_too || state_of(entry) != STATE_OVER) ? entry->current : NULL;
}

bool sale_table_take(sale_table *table, const char *item, bool over_too, fs_sale **ret)
{
    pthread_rwlock_rdlock(&table->lock);
    fs_sale *sale = sale_of(find(table, item), over_too);
    if (sale) {
        *ret = sale;
        atomic_fetch_add(&sale->refs, 1);
    }
    pthread_rwlock_unlock(&table->lock);
    return sale;
}

void sale_table_put(fs_sale *sale)
{
    atomic_fetch_sub(&sale->refs, 1);
}

bool sale_table_knows(sale_table *table, const char *item)
{
    pthread_rwlock_rdlock(&table->lock);
    const table_entry *entry = find(table, item);
    bool known = sale_of(entry, false) || state_of(entry) == STATE_HALTED;
    pthread_rwlock_unlock(&table->lock);
    return known;
}

/* Under `lock`. NULL: out of memory. */
static table_entry *find_or_add(sale_table *table, const char *item)
{
    table_entry *entry = find(table, item);
    if (!entry && (entry = calloc(1, sizeof(*entry)))) {
        table_entry **bucket = &table->buckets[text_hash(item) % BUCKETS];
        entry->next = *bucket;
        snprintf(entry->item, sizeof(entry->item), "%s", item);
        *bucket = entry;
        table->count++;
    }
    return entry;
}

void sale_table_add(sale_table *table, const char *item)
{
    pthread_rwlock_wrlock(&table->lock);
    find_or_add(table, item);
    pthread_rwlock_unlock(&table->lock);
}

/* ---- how it stands --------------------------------------------------------------------------- */

static bool is_same_halt(const sale_halt *a, const sale_halt *b)
{
    return strcmp(a->sale, b->sale) == 0 && strcmp(a->why, b->why) == 0 && a->known == b->known &&
           a->found == b->found;
}

/* Under `lock`. Returns whether to log it. */
static bool change(item_state *state, const sale_news *news)
{
    sale_state before = (sale_state)atomic_load(&state->is);
    sale_state after = sale_state_after(before, news->event);
    bool changed = before != after && (after != STATE_OPEN || !news->now);
    if (after == STATE_HALTED && news->halt) {
        changed = changed || !is_same_halt(&state->halt, news->halt);
        state->halt = *news->halt;
    }
    if (after == STATE_DAMAGED && news->detail) {
        changed = changed || strcmp(state->detail, news->detail) != 0;
        snprintf(state->detail, sizeof(state->detail), "%s", news->detail);
    }
    atomic_store(&state->is, (int)after);
    return changed;
}

/* Under `lock`. */
static void replace(sale_table *table, table_entry *entry, fs_sale *now)
{
    fs_sale *old = entry->current;
    entry->current = now;
    now->state = &entry->state;
    if (old) {
        old->next_retired = table->retired;
        table->retired = old;
    }
}

void sale_table_change(sale_table *table, const char *item, const sale_news *news)
{
    pthread_rwlock_wrlock(&table->lock);
    table_entry *entry = news->event == EVENT_LIFTED ? find(table, item) : find_or_add(table, item);
    if (!entry || (news->of && entry->current != news->of)) {
        pthread_rwlock_unlock(&table->lock);
        if (news->now)
            fs_sale_close(news->now);
        return;
    }
    sale_state before = state_of(entry);
    if (news->now)
        replace(table, entry, news->now);
    bool is_news = change(&entry->state, news);
    char sale[IDENT_MAX + 1] = "";
    item_state now = entry->state;
    if (entry->current)
        memcpy(sale, entry->current->open_sale.terms.id, sizeof(sale));
    pthread_rwlock_unlock(&table->lock);
    if (is_news)
        sale_state_log(item, sale, before, &now);
}

bool sale_table_halt(sale_table *table, const char *item, sale_halt *ret)
{
    pthread_rwlock_rdlock(&table->lock);
    const table_entry *entry = find(table, item);
    bool halted = state_of(entry) == STATE_HALTED;
    if (halted)
        *ret = entry->state.halt;
    pthread_rwlock_unlock(&table->lock);
    return halted;
}

void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg)
{
    pthread_rwlock_rdlock(&table->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next)
            if (sale_of(entry, false))
                each(arg, entry->current);
    pthread_rwlock_unlock(&table->lock);
}

void sale_table_each_unopened(sale_table *table,
                              void (*each)(void *arg, const char *item, sale_state state),
                              void *arg)
{
    pthread_rwlock_rdlock(&table->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next)
            if (!sale_of(entry, false) && state_of(entry) != STATE_NONE)
                each(arg, entry->item, state_of(entry));
    pthread_rwlock_unlock(&table->lock);
}

fs_store *sale_table_store(sale_table *table)
{
    return table->store;
}

single_flight *sale_table_flights(sale_table *table)
{
    return table->loading;
}

sale_pointer *sale_table_pointers(sale_table *table, int *ret_count)
{
    int count = 0;
    pthread_rwlock_rdlock(&table->lock);
    sale_pointer *all = calloc((size_t)table->count + 1, sizeof(*all));
    for (int i = 0; all && i < BUCKETS; i++) {
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            sale_pointer *pointer = &all[count++];
            memcpy(pointer->item, entry->item, sizeof(entry->item));
            pointer->status = entry->current ? SALE_OK : SALE_NONE;
            if (entry->current)
                memcpy(pointer->id, entry->current->open_sale.terms.id, sizeof(pointer->id));
            sale_state state = state_of(entry);
            if (state == STATE_HALTED) {
                pointer->status = SALE_HALTED;
                memcpy(pointer->id, entry->state.halt.sale, sizeof(pointer->id));
            } else if (entry->current && state != STATE_OPEN) {
                pointer->status = SALE_DAMAGED; /* checked again once the pointer is not damaged */
            }
        }
    }
    pthread_rwlock_unlock(&table->lock);
    for (int i = 0; i < count; i++)
        all[i].server = terms_node(table->store, all[i].item)->server;
    *ret_count = count;
    return all;
}

bool sale_table_is_on(sale_table *table, const char *item, const fs_node *node)
{
    fs_sale *sale;
    bool is_on = terms_node(table->store, item) == node;
    if (is_on || !sale_table_take(table, item, true, &sale))
        return is_on;
    for (int k = 0; !is_on && k < sale->open_sale.key_sets; k++)
        is_on = sale_node(&sale->open_sale, k) == node;
    sale_table_put(sale);
    return is_on;
}

/* ---- the reaper ------------------------------------------------------------------------------ */

/* Removes a retired sale without users from the list. NULL: there is none. */
static fs_sale *take_unused(sale_table *table)
{
    pthread_rwlock_wrlock(&table->lock);
    fs_sale **link = &table->retired;
    while (*link && atomic_load(&(*link)->refs) > 0)
        link = &(*link)->next_retired;
    fs_sale *sale = *link;
    if (sale)
        *link = sale->next_retired;
    pthread_rwlock_unlock(&table->lock);
    return sale;
}

static void close_unused(void *arg)
{
    fs_sale *sale;
    while ((sale = take_unused(arg)))
        fs_sale_close(sale);
}

/* ---- its life -------------------------------------------------------------------------------- */

static void free_table(sale_table *table)
{
    single_flight_free(table->loading);
    pthread_rwlock_destroy(&table->lock);
    free(table);
}

sale_table *sale_table_open(fs_store *store)
{
    sale_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->store = store;
    pthread_rwlock_init(&table->lock, NULL);
    table->loading = single_flight_new();
    if (table->loading)
        table->reaper = ticker_start(close_unused, table, REAP_MS);
    if (table->reaper)
        return table;
    free_table(table);
    return NULL;
}

void sale_table_close(sale_table *table)
{
    ticker_stop(table->reaper);
    for (int i = 0; i < BUCKETS; i++) {
        table_entry *entry = table->buckets[i];
        while (entry) {
            struct table_entry *next = entry->next;
            if (entry->current)
                fs_sale_close(entry->current);
            free(entry);
            entry = next;
        }
    }
    close_unused(table);
    free_table(table);
}
