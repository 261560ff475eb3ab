/*
 * sale_table.c - the table of current sales, and the reaper of those that are over.
 *
 * A buyer must never wait for Redis because another item's sale is looked up, nor for a sale that
 * is being closed: so reading the table takes only a lock for reading, one thread at a time asks
 * Redis about an item, others about other items, and closing is the reaper's.
 */
#include "server/sale/sale_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/base/ticker.h"
#include "server/sale/sale_start.h"
#include "server/sale/single_flight.h"
#include "server/strategies/registry.h"

#define REAP_MS 250
#define BUCKETS 256

typedef struct table_entry {
    struct table_entry *next; /* in its bucket */
    char item[IDENT_MAX + 1];
    fs_sale *current;
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

/* ---- one sale -------------------------------------------------------------------------------- */

/* Opens the strategy. NULL and a sentence in err. */
static fs_sale *sale_open(fs_store *store, const sale_terms *terms, const fs_strategy *strategy,
                          char *err, size_t err_len)
{
    int count = terms_key_sets(terms);
    fs_sale *sale = calloc(1, sizeof(*sale) + (size_t)count * sizeof(sale_keys));
    if (!sale) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    for (int k = 0; k < count; k++)
        terms_keys(terms, k, &sale->keys[k]);
    sale->open_sale = (open_sale){*terms, strategy, store, count, sale->keys, sale->known_number};
    if (strategy->open && strategy->open(&sale->open_sale, &sale->state, err, err_len) != 0) {
        free(sale);
        return NULL;
    }
    return sale;
}

/* Nobody may be using it. */
static void sale_close(fs_sale *sale)
{
    if (sale->open_sale.strategy->close)
        sale->open_sale.strategy->close(sale->state);
    free(sale);
}

/* ---- the table ------------------------------------------------------------------------------- */

static table_entry **bucket_of(sale_table *table, const char *item)
{
    unsigned hash = 5381;
    for (const char *c = item; *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    return &table->buckets[hash % BUCKETS];
}

/* Under `lock`. */
static table_entry *find(sale_table *table, const char *item)
{
    table_entry *entry = *bucket_of(table, item);
    while (entry && strcmp(entry->item, item) != 0)
        entry = entry->next;
    return entry;
}

static bool take(sale_table *table, const char *item, fs_sale **ret)
{
    pthread_rwlock_rdlock(&table->lock);
    table_entry *entry = find(table, item);
    bool found = entry && entry->current;
    if (found) {
        *ret = entry->current;
        atomic_fetch_add(&(*ret)->refs, 1);
    }
    pthread_rwlock_unlock(&table->lock);
    return found;
}

void sale_table_put(fs_sale *sale)
{
    atomic_fetch_sub(&sale->refs, 1);
}

/* Puts `now` (NULL: no sale any more) in the place of the item's sale. For who loads the item. */
static void replace(sale_table *table, const char *item, fs_sale *now)
{
    pthread_rwlock_wrlock(&table->lock);
    table_entry *entry = find(table, item);
    if (!entry && now && (entry = calloc(1, sizeof(*entry)))) {
        entry->next = *bucket_of(table, item);
        snprintf(entry->item, sizeof(entry->item), "%s", item);
        *bucket_of(table, item) = entry;
        table->count++;
    }
    fs_sale *old = entry ? entry->current : now;
    if (entry)
        entry->current = now;
    if (old) {
        old->next_retired = table->retired;
        table->retired = old;
    }
    pthread_rwlock_unlock(&table->lock);
}

/* Reads the terms of a sale that this program can sell, and sees to its segments. */
static sale_status prepare(fs_store *store, const char *item, const char *id, dlock_time deadline,
                           sale_terms *ret, char *err, size_t err_len)
{
    sale_status status = terms_read(store, item, id, deadline, ret, err, err_len);
    if (status == SALE_OK && !strategy_find(ret->strategy)) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'", ret->strategy,
                 durability_name(ret->durability));
        status = SALE_UNREADABLE;
    }
    return status == SALE_OK ? sale_start_segments(store, ret, deadline) : status;
}

static sale_status load(sale_table *table, const char *item, const char *id, dlock_time deadline)
{
    char err[256] = "";
    sale_terms terms;
    fs_sale *now = NULL;
    sale_status status = prepare(table->store, item, id, deadline, &terms, err, sizeof(err));
    if (status == SALE_OK)
        now = sale_open(table->store, &terms, strategy_find(terms.strategy), err, sizeof(err));
    if (!now) {
        LOG_SOME(LOG_ERROR, "sale_not_opened", "item", item, "sale", id, "detail", err, NULL);
        if (status == SALE_OK)
            status = SALE_UNREADABLE;
        if (status == SALE_UNREADABLE)
            replace(table, item, NULL); /* the sale before is over all the same */
        return status;
    }
    replace(table, item, now);
    log_event(LOG_INFO, "sale_in_force", "item", item, "sale", id, "strategy", terms.strategy,
              NULL);
    return SALE_OK;
}

/* Looks which sale is the item's current one, and loads it if it is another. */
static int refresh(void *arg, const char *item, dlock_time deadline)
{
    sale_table *table = arg;
    char id[IDENT_MAX + 1];
    sale_status status = terms_in_force(table->store, item, SEGMENT_NONE, deadline, id);
    if (status == SALE_UNAVAILABLE)
        return status;
    fs_sale *known = NULL;
    bool same = false;
    if (take(table, item, &known)) {
        same = status == SALE_OK && strcmp(known->open_sale.terms.id, id) == 0;
        sale_table_put(known);
    }
    if (status == SALE_NONE && known)
        replace(table, item, NULL);
    return status == SALE_NONE || same ? status : load(table, item, id, deadline);
}

sale_status sale_table_refresh(sale_table *table, const char *item, dlock_time deadline)
{
    return (sale_status)single_flight_do(table->loading, item, FLIGHT_FRESH, deadline, refresh,
                                         table, SALE_UNAVAILABLE);
}

sale_status sale_table_get(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret)
{
    if (take(table, item, ret))
        return SALE_OK;
    sale_status status = (sale_status)single_flight_do(table->loading, item, FLIGHT_ANY, deadline,
                                                       refresh, table, SALE_UNAVAILABLE);
    if (take(table, item, ret))
        return SALE_OK;
    return status == SALE_OK ? SALE_UNAVAILABLE : status;
}

void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg)
{
    pthread_rwlock_rdlock(&table->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next)
            if (entry->current)
                each(arg, entry->current);
    pthread_rwlock_unlock(&table->lock);
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
        }
    }
    pthread_rwlock_unlock(&table->lock);
    *ret_count = count;
    return all;
}

/* ---- the reaper ------------------------------------------------------------------------------ */

/* Takes a retired sale that nobody uses any more off the list. NULL: there is none. */
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
        sale_close(sale);
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
                sale_close(entry->current);
            free(entry);
            entry = next;
        }
    }
    close_unused(table);
    free_table(table);
}
