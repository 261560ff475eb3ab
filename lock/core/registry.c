/*
 * Holds by name of lock and context. The count of re-entries lives here and not in Redis, so that a
 * repeated question can not count twice.
 *
 * A thread has a number of its own, since the system gives the ids of ended threads to new ones;
 * the destructor of a thread-specific value tells of its end.
 */
#include "core/registry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/client.h"

enum { BUCKETS = 256 };

typedef struct bucket {
    pthread_mutex_t lock;
    dlock_hold *first;
} bucket;

struct registry {
    dlock_client *client; /* (borrowed) */
    bucket buckets[BUCKETS];
    registry *next; /* among all of the process */
};

/* ---- threads and their ends ------------------------------------------------------------------ */

static pthread_mutex_t registries_lock = PTHREAD_MUTEX_INITIALIZER;
static registry *registries; /* all, so that a thread's end can be told to them */
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static _Thread_local uint64_t thread_number;

static void let_expire(registry *r, uint64_t thread)
{
    for (int i = 0; i < BUCKETS; i++) {
        bucket *b = &r->buckets[i];
        pthread_mutex_lock(&b->lock);
        for (dlock_hold *hold = b->first; hold; hold = hold->next) {
            if (!hold->of_thread || hold->context != thread)
                continue;
            atomic_store(&hold->grant->orphaned, true);
            dlock_client_report(r->client, DLOCK_REPORT_ORPHANED,
                                "a thread ended while it held lock %s; it is not renewed any more",
                                hold->lock->names[0]);
        }
        pthread_mutex_unlock(&b->lock);
    }
}

static void thread_ended(void *number)
{
    pthread_mutex_lock(&registries_lock);
    for (registry *r = registries; r; r = r->next)
        if (!dlock_client_forked(r->client))
            let_expire(r, (uint64_t)(uintptr_t)number);
    pthread_mutex_unlock(&registries_lock);
}

static void make_thread_key(void)
{
    pthread_key_create(&thread_key, thread_ended);
}

uint64_t dlock_registry_nobody(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

uint64_t dlock_registry_thread(void)
{
    if (thread_number == 0) {
        thread_number = dlock_registry_nobody();
        pthread_once(&thread_key_once, make_thread_key);
        pthread_setspecific(thread_key, (void *)(uintptr_t)thread_number);
    }
    return thread_number;
}

/* ---- holds ----------------------------------------------------------------------------------- */

static bucket *bucket_of(registry *r, const char *name, uint64_t context)
{
    uint64_t hash = 14695981039346656037u ^ context; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return &r->buckets[hash % BUCKETS];
}

typedef bool kind_test(dlock_kind wanted, dlock_kind held);

static bool reenters(dlock_kind wanted, dlock_kind held)
{
    switch (wanted) {
    case DLOCK_READ:
        return held == DLOCK_READ || held == DLOCK_WRITE;
    case DLOCK_WRITE:
        return held == DLOCK_WRITE;
    case DLOCK_SEMAPHORE:
        return false;
    default:
        return held != DLOCK_READ && held != DLOCK_WRITE && held != DLOCK_SEMAPHORE;
    }
}

static bool blocks_itself(dlock_kind wanted, dlock_kind held)
{
    return wanted == DLOCK_WRITE && held == DLOCK_READ;
}

/* A live hold of the context, of the lock's name and of a kind that passes. Under the mutex. */
static dlock_hold *find(const bucket *b, const dlock_lock *wanted, uint64_t context, bool of_thread,
                        kind_test *test)
{
    dlock_hold *hold = b->first;
    while (hold &&
           !(hold->context == context && hold->of_thread == of_thread &&
             strcmp(hold->lock->names[0], wanted->names[0]) == 0 && hold->lock->names_len == 1 &&
             test(wanted->options.kind, hold->lock->options.kind) &&
             !atomic_load(&hold->grant->releasing) && dlock_grant_alive(hold->grant)))
        hold = hold->next;
    return hold;
}

dlock_hold *dlock_registry_reenter(registry *r, const dlock_lock *wanted, uint64_t context,
                                   bool of_thread)
{
    bucket *b = bucket_of(r, wanted->names[0], context);
    pthread_mutex_lock(&b->lock);
    dlock_hold *hold = find(b, wanted, context, of_thread, reenters);
    if (hold)
        hold->count++;
    pthread_mutex_unlock(&b->lock);
    return hold;
}

bool dlock_registry_in_own_way(registry *r, const dlock_lock *wanted, uint64_t context,
                               bool of_thread)
{
    bucket *b = bucket_of(r, wanted->names[0], context);
    pthread_mutex_lock(&b->lock);
    bool found = find(b, wanted, context, of_thread, blocks_itself);
    pthread_mutex_unlock(&b->lock);
    return found;
}

void dlock_registry_add(registry *r, dlock_hold *hold)
{
    bucket *b = bucket_of(r, hold->lock->names[0], hold->context);
    pthread_mutex_lock(&b->lock);
    hold->next = b->first;
    b->first = hold;
    pthread_mutex_unlock(&b->lock);
}

bool dlock_registry_leave(registry *r, dlock_hold *hold)
{
    bucket *b = bucket_of(r, hold->lock->names[0], hold->context);
    pthread_mutex_lock(&b->lock);
    bool last = --hold->count == 0;
    for (dlock_hold **at = &b->first; last && *at; at = &(*at)->next) {
        if (*at == hold) {
            *at = hold->next;
            break;
        }
    }
    pthread_mutex_unlock(&b->lock);
    return last;
}

/* ---- life ------------------------------------------------------------------------------------ */

registry *dlock_registry_new(dlock_client *client)
{
    registry *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->client = client;
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&r->buckets[i].lock, NULL);
    pthread_mutex_lock(&registries_lock);
    r->next = registries;
    registries = r;
    pthread_mutex_unlock(&registries_lock);
    return r;
}

void dlock_registry_free(registry *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&registries_lock);
    registry **at = &registries;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    pthread_mutex_unlock(&registries_lock);
    for (int i = 0; i < BUCKETS; i++) {
        while (r->buckets[i].first) {
            dlock_hold *hold = r->buckets[i].first;
            r->buckets[i].first = hold->next;
            if (atomic_load(&hold->lost_fd) >= 0)
                close(atomic_load(&hold->lost_fd));
            dlock_grant_unref(hold->grant);
            free(hold);
        }
        pthread_mutex_destroy(&r->buckets[i].lock);
    }
    free(r);
}
