/* sale_table.c - the table of current sales, the keeper that renews it, and the reaper. */
#include "server/sale/sale_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/base/log.h"

#define LOOK_MS 250
#define BUCKETS 256

typedef struct sales_entry {
    struct sales_entry *next; /* in its bucket */
    char item[IDENT_MAX + 1];
    fs_sale *current;
} sales_entry;

struct fs_sales {
    fs_store *store;         /* (borrowed) */
    pthread_rwlock_t lock;   /* table and current sales */
    pthread_mutex_t loading; /* one thread at a time asks Redis about sales */
    sales_entry *buckets[BUCKETS];
    fs_sale *retired; /* under `loading` */
    pthread_t keeper, reaper;
    pthread_mutex_t stop_lock;
    pthread_cond_t stopped;
    bool stop;
};

static sales_entry **bucket_of(fs_sales *sales, const char *item)
{
    unsigned hash = 5381;
    for (const char *c = item; *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    return &sales->buckets[hash % BUCKETS];
}

/* Under `lock`. */
static sales_entry *find(fs_sales *sales, const char *item)
{
    sales_entry *entry = *bucket_of(sales, item);
    while (entry && strcmp(entry->item, item) != 0)
        entry = entry->next;
    return entry;
}

static bool take(fs_sales *sales, const char *item, fs_sale **ret)
{
    pthread_rwlock_rdlock(&sales->lock);
    sales_entry *entry = find(sales, item);
    bool found = entry && entry->current;
    if (found) {
        *ret = entry->current;
        atomic_fetch_add(&(*ret)->refs, 1);
    }
    pthread_rwlock_unlock(&sales->lock);
    return found;
}

void sales_put(fs_sale *sale)
{
    atomic_fetch_sub(&sale->refs, 1);
}

/* Under `loading`: puts `now` (NULL: no sale any more) in the place of the item's sale. */
static void replace(fs_sales *sales, const char *item, fs_sale *now)
{
    pthread_rwlock_wrlock(&sales->lock);
    sales_entry *entry = find(sales, item);
    if (!entry && now && (entry = calloc(1, sizeof(*entry)))) {
        entry->next = *bucket_of(sales, item);
        snprintf(entry->item, sizeof(entry->item), "%s", item);
        *bucket_of(sales, item) = entry;
    }
    fs_sale *old = entry ? entry->current : now;
    if (entry)
        entry->current = now;
    pthread_rwlock_unlock(&sales->lock);
    if (old) {
        old->next_retired = sales->retired;
        sales->retired = old;
    }
}

/* Under `loading`. */
static start_status load(fs_sales *sales, const char *item, const char *id)
{
    char err[256] = "";
    sale_terms terms;
    start_status status = start_read_terms(sales->store, item, id, &terms, err, sizeof(err));
    if (status == START_OK)
        status = start_segments(&terms);
    fs_sale *now = status == START_OK ? sale_open(&terms, err, sizeof(err)) : NULL;
    if (!now) {
        LOG_SOME(LOG_ERROR, "sale_not_opened", "item", item, "sale", id, "detail", err, NULL);
        if (status == START_OK)
            status = START_UNREADABLE;
        if (status == START_UNREADABLE)
            replace(sales, item, NULL); /* the sale before is over all the same */
        return status;
    }
    replace(sales, item, now);
    log_event(LOG_INFO, "sale_in_force", "item", item, "sale", id, "strategy", terms.strategy->name,
              NULL);
    return START_OK;
}

/* Under `loading`. */
static start_status refresh(fs_sales *sales, const char *item)
{
    char id[IDENT_MAX + 1];
    start_status status = start_find(sales->store, item, id);
    if (status == START_UNAVAILABLE)
        return status;
    fs_sale *known = NULL;
    bool same = false;
    if (take(sales, item, &known)) {
        same = status == START_OK && strcmp(known->terms.id, id) == 0;
        sales_put(known);
    }
    if (status == START_NONE && known)
        replace(sales, item, NULL);
    return status == START_NONE || same ? status : load(sales, item, id);
}

start_status sales_refresh(fs_sales *sales, const char *item)
{
    pthread_mutex_lock(&sales->loading);
    start_status status = refresh(sales, item);
    pthread_mutex_unlock(&sales->loading);
    return status;
}

start_status sales_get(fs_sales *sales, const char *item, fs_sale **ret)
{
    if (take(sales, item, ret))
        return START_OK;
    pthread_mutex_lock(&sales->loading);
    start_status status = START_OK;
    bool found = take(sales, item, ret); /* perhaps another thread has loaded it meanwhile */
    if (!found) {
        status = refresh(sales, item);
        found = status == START_OK && take(sales, item, ret);
    }
    pthread_mutex_unlock(&sales->loading);
    return found ? START_OK : status == START_OK ? START_UNAVAILABLE : status;
}

void sales_each(fs_sales *sales, void (*each)(void *arg, fs_sale *sale), void *arg)
{
    pthread_rwlock_rdlock(&sales->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (sales_entry *entry = sales->buckets[i]; entry; entry = entry->next)
            if (entry->current)
                each(arg, entry->current);
    pthread_rwlock_unlock(&sales->lock);
}

/* ---- keeper and reaper ----------------------------------------------------------------------- */

/* False: the process ends. */
static bool pause_between_looks(fs_sales *sales)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&sales->stop_lock);
    int timed_out = 0;
    while (!sales->stop && timed_out == 0)
        timed_out = pthread_cond_timedwait(&sales->stopped, &sales->stop_lock, &until);
    bool stop = sales->stop;
    pthread_mutex_unlock(&sales->stop_lock);
    return !stop;
}

/* Takes a retired sale that nobody uses any more off the list. NULL: there is none. */
static fs_sale *take_unused(fs_sales *sales)
{
    pthread_mutex_lock(&sales->loading);
    fs_sale **link = &sales->retired;
    while (*link && atomic_load(&(*link)->refs) > 0)
        link = &(*link)->next_retired;
    fs_sale *sale = *link;
    if (sale)
        *link = sale->next_retired;
    pthread_mutex_unlock(&sales->loading);
    return sale;
}

static void close_unused(fs_sales *sales)
{
    fs_sale *sale;
    while ((sale = take_unused(sales)))
        sale_close(sale);
}

static void *reap(void *arg)
{
    do
        close_unused(arg);
    while (pause_between_looks(arg));
    return NULL;
}

/* The item after `item` in the table, in no particular order; items are never removed. */
static bool next_item(fs_sales *sales, size_t index, char item[IDENT_MAX + 1])
{
    bool found = false;
    pthread_rwlock_rdlock(&sales->lock);
    for (int i = 0; i < BUCKETS && !found; i++) {
        for (sales_entry *entry = sales->buckets[i]; entry && !found; entry = entry->next) {
            found = index-- == 0;
            if (found)
                memcpy(item, entry->item, sizeof(entry->item));
        }
    }
    pthread_rwlock_unlock(&sales->lock);
    return found;
}

static void *keep(void *arg)
{
    fs_sales *sales = arg;
    char item[IDENT_MAX + 1];
    bool was_reachable = true;
    do {
        bool reachable = store_sync_clock(sales->store);
        if (reachable != was_reachable)
            log_event(reachable ? LOG_INFO : LOG_WARN, reachable ? "redis_back" : "redis_lost",
                      NULL);
        was_reachable = reachable;
        for (size_t i = 0; reachable && next_item(sales, i, item); i++)
            sales_refresh(sales, item);
    } while (pause_between_looks(sales));
    return NULL;
}

static void stop_thread(fs_sales *sales, pthread_t thread)
{
    pthread_mutex_lock(&sales->stop_lock);
    sales->stop = true;
    pthread_cond_broadcast(&sales->stopped);
    pthread_mutex_unlock(&sales->stop_lock);
    pthread_join(thread, NULL);
}

fs_sales *sales_open(fs_store *store)
{
    fs_sales *sales = calloc(1, sizeof(*sales));
    if (!sales)
        return NULL;
    sales->store = store;
    pthread_rwlock_init(&sales->lock, NULL);
    pthread_mutex_init(&sales->loading, NULL);
    pthread_mutex_init(&sales->stop_lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sales->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&sales->reaper, NULL, reap, sales) != 0) {
        free(sales);
        return NULL;
    }
    if (pthread_create(&sales->keeper, NULL, keep, sales) != 0) {
        stop_thread(sales, sales->reaper);
        free(sales);
        return NULL;
    }
    return sales;
}

void sales_close(fs_sales *sales)
{
    stop_thread(sales, sales->keeper);
    stop_thread(sales, sales->reaper);
    for (int i = 0; i < BUCKETS; i++) {
        sales_entry *entry = sales->buckets[i];
        while (entry) {
            struct sales_entry *next = entry->next;
            if (entry->current)
                sale_close(entry->current);
            free(entry);
            entry = next;
        }
    }
    close_unused(sales);
    pthread_cond_destroy(&sales->stopped);
    pthread_mutex_destroy(&sales->stop_lock);
    pthread_mutex_destroy(&sales->loading);
    pthread_rwlock_destroy(&sales->lock);
    free(sales);
}
