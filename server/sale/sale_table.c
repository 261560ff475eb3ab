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

#define REAP_MS 250
#define BUCKETS 256

typedef struct table_entry {
    struct table_entry *next; /* in its bucket */
    char item[IDENT_MAX + 1];
    fs_sale *current;
    sale_halt halt; /* of the item's sale, whether that could be opened or not */
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

/* ---- the table ------------------------------------------------------------------------------- */

static table_entry **bucket_of(sale_table *table, const char *item)
{
    return &table->buckets[text_hash(item) % BUCKETS];
}

/* Under `lock`. */
static table_entry *find(sale_table *table, const char *item)
{
    table_entry *entry = *bucket_of(table, item);
    while (entry && strcmp(entry->item, item) != 0)
        entry = entry->next;
    return entry;
}

/* One in whose place there is a sale that this program can not read is over, but remembered. */
static bool is_over(const fs_sale *sale)
{
    return atomic_load(&sale->standing) == SALE_UNREADABLE;
}

bool sale_table_take(sale_table *table, const char *item, bool over_too, fs_sale **ret)
{
    pthread_rwlock_rdlock(&table->lock);
    table_entry *entry = find(table, item);
    bool found = entry && entry->current && (over_too || !is_over(entry->current));
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

bool sale_table_knows(sale_table *table, const char *item)
{
    pthread_rwlock_rdlock(&table->lock);
    const table_entry *entry = find(table, item);
    bool known =
        entry && (entry->halt.sale[0] != '\0' || (entry->current && !is_over(entry->current)));
    pthread_rwlock_unlock(&table->lock);
    return known;
}

/* Under `lock`. NULL: out of memory. */
static table_entry *find_or_add(sale_table *table, const char *item)
{
    table_entry *entry = find(table, item);
    if (!entry && (entry = calloc(1, sizeof(*entry)))) {
        entry->next = *bucket_of(table, item);
        snprintf(entry->item, sizeof(entry->item), "%s", item);
        *bucket_of(table, item) = entry;
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

void sale_table_replace(sale_table *table, const char *item, fs_sale *now)
{
    pthread_rwlock_wrlock(&table->lock);
    table_entry *entry = find_or_add(table, item);
    fs_sale *old = entry ? entry->current : now;
    if (entry) {
        entry->current = now;
        memset(&entry->halt, 0, sizeof(entry->halt));
    }
    if (old) {
        old->next_retired = table->retired;
        table->retired = old;
    }
    pthread_rwlock_unlock(&table->lock);
}

/* ---- how it stands --------------------------------------------------------------------------- */

static void log_halted(const char *item, const sale_halt *halt)
{
    char numbers[3][24];
    snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)halt->known);
    snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)halt->found);
    snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)halt_lost_orders(halt));
    log_event(LOG_ERROR, "sale_halted", "item", item, "sale", halt->sale, "why", halt->why, "known",
              numbers[0], "found", numbers[1], "gap", numbers[2], "by", halt->instance, NULL);
}

static const char *code_of(sale_status status)
{
    return status == SALE_HALTED ? "sale_rolled_back" : status == SALE_OK ? NULL : "sale_damaged";
}

sale_status sale_table_stands(sale_table *table, fs_sale *sale, sale_status status,
                              const sale_halt *halt)
{
    if (status == SALE_OK && atomic_load(&sale->standing) == SALE_OK)
        return status;
    const char *item = sale->open_sale.terms.item;
    pthread_rwlock_wrlock(&table->lock);
    table_entry *entry = find(table, item);
    if (entry && status == SALE_HALTED)
        entry->halt = *halt;
    else if (entry)
        memset(&entry->halt, 0, sizeof(entry->halt));
    int before = atomic_exchange(&sale->standing, (int)status);
    atomic_store(&sale->trouble, code_of(status));
    pthread_rwlock_unlock(&table->lock);
    if (status == SALE_OK)
        log_event(LOG_INFO, "sale_mended", "item", item, "sale", sale->open_sale.terms.id, NULL);
    else if (status == SALE_HALTED && before != SALE_HALTED)
        log_halted(item, halt);
    return status;
}

static bool is_same_halt(const sale_halt *a, const sale_halt *b)
{
    return strcmp(a->sale, b->sale) == 0 && strcmp(a->why, b->why) == 0 && a->known == b->known &&
           a->found == b->found;
}

sale_status sale_table_remember_halt(sale_table *table, const char *item, const sale_halt *halt)
{
    pthread_rwlock_wrlock(&table->lock);
    table_entry *entry = find_or_add(table, item);
    bool news = entry && !is_same_halt(&entry->halt, halt);
    if (entry) {
        entry->halt = *halt;
        if (entry->current)
            atomic_store(&entry->current->standing, SALE_HALTED);
        if (entry->current)
            atomic_store(&entry->current->trouble, code_of(SALE_HALTED));
    }
    pthread_rwlock_unlock(&table->lock);
    if (news)
        log_halted(item, halt);
    return SALE_HALTED;
}

bool sale_table_halt(sale_table *table, const char *item, sale_halt *ret)
{
    pthread_rwlock_rdlock(&table->lock);
    table_entry *entry = find(table, item);
    bool halted = entry && entry->halt.sale[0] != '\0';
    if (halted)
        *ret = entry->halt;
    pthread_rwlock_unlock(&table->lock);
    return halted;
}

void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg)
{
    pthread_rwlock_rdlock(&table->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next)
            if (entry->current && !is_over(entry->current))
                each(arg, entry->current);
    pthread_rwlock_unlock(&table->lock);
}

void sale_table_each_unopened(sale_table *table, void (*each)(void *arg, const char *item),
                              void *arg)
{
    pthread_rwlock_rdlock(&table->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (table_entry *entry = table->buckets[i]; entry; entry = entry->next)
            if (!entry->current && entry->halt.sale[0] != '\0')
                each(arg, entry->item);
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
            if (entry->halt.sale[0] != '\0') {
                pointer->status = SALE_HALTED;
                memcpy(pointer->id, entry->halt.sale, sizeof(pointer->id));
            } else if (entry->current && atomic_load(&entry->current->standing) != SALE_OK) {
                pointer->status = SALE_DAMAGED; /* looked at again as soon as the pointer is not */
            }
        }
    }
    pthread_rwlock_unlock(&table->lock);
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
