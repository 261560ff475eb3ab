/*
 * Holds by name of lock and context. The count of re-entries is here and not in Redis, so that a
 * repeated request can not count twice.
 *
 * Each thread has a number of its own, because the system gives the ids of ended threads to new
 * ones. The destructor of a thread-specific value runs when the thread ends.
 */
#include "core/registry.h"

#include <stdlib.h>
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
    registry *next; /* in `registries` */
};

/* ---- threads and their ends ------------------------------------------------------------------ */

static pthread_mutex_t registries_lock = PTHREAD_MUTEX_INITIALIZER;
static registry *registries; /* all of the process; a thread that ends tells each */
static pthread_key_t thread_key;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
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
                                dlock_lock_name(hold->lock, 0));
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

/* A child of fork() may open clients of its own: no other thread may have the mutex at the fork. */
static void before_fork(void)
{
    pthread_mutex_lock(&registries_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&registries_lock);
}

static void begin_process(void)
{
    pthread_key_create(&thread_key, thread_ended);
    pthread_atfork(before_fork, after_fork, after_fork);
}

uint64_t dlock_registry_nobody(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

void dlock_registry_be_nobody(void)
{
    thread_number = dlock_registry_nobody();
}

uint64_t dlock_registry_thread(void)
{
    if (thread_number == 0) {
        thread_number = dlock_registry_nobody();
        pthread_once(&process_once, begin_process);
        pthread_setspecific(thread_key, (void *)(uintptr_t)thread_number);
    }
    return thread_number;
}

/* ---- holds ----------------------------------------------------------------------------------- */

static bucket *bucket_of(registry *r, const char *name, uint64_t context)
{
    return &r->buckets[(dlock_name_hash(name) ^ context) % BUCKETS];
}

/* What a context that holds a lock gets when it asks for one. */
typedef enum again { ANEW, REENTERED, IN_ITS_OWN_WAY } again;

static again judge(const dlock_lock *wanted, const dlock_lock *held)
{
    if (held->ids_len > 1 || !dlock_identity_same(&held->ids[0], &wanted->ids[0]) ||
        held->options.not_reentrant || wanted->kind->permits)
        return ANEW;
    bool weaker = held->options.wait_replicas < wanted->options.wait_replicas ||
                  (wanted->options.kind == DLOCK_WRITE && held->options.kind == DLOCK_READ);
    if (weaker)
        return IN_ITS_OWN_WAY;
    return wanted->options.not_reentrant ? ANEW : REENTERED;
}

static bool is_live(const dlock_hold *hold)
{
    return !atomic_load(&hold->grant->releasing) && dlock_grant_alive(hold->grant);
}

dlock_status dlock_registry_reenter(registry *r, const dlock_lock *wanted, uint64_t context,
                                    bool of_thread, dlock_hold **ret)
{
    bucket *b = bucket_of(r, dlock_lock_name(wanted, 0), context);
    again found = ANEW;
    *ret = NULL;
    pthread_mutex_lock(&b->lock);
    for (dlock_hold *hold = b->first; hold && !*ret; hold = hold->next) {
        if (hold->context != context || hold->of_thread != of_thread || !is_live(hold))
            continue;
        again here = judge(wanted, hold->lock);
        found = here == ANEW ? found : here;
        if (here == REENTERED)
            *ret = hold;
    }
    if (*ret)
        (*ret)->count++;
    pthread_mutex_unlock(&b->lock);
    return !*ret && found == IN_ITS_OWN_WAY ? DLOCK_INVALID : DLOCK_OK;
}

void dlock_registry_add(registry *r, dlock_hold *hold)
{
    bucket *b = bucket_of(r, dlock_lock_name(hold->lock, 0), hold->context);
    pthread_mutex_lock(&b->lock);
    hold->next = b->first;
    b->first = hold;
    pthread_mutex_unlock(&b->lock);
}

/* Under the mutex. */
static void take_out(bucket *b, dlock_hold *hold)
{
    dlock_hold **at = &b->first;
    while (*at != hold)
        at = &(*at)->next;
    *at = hold->next;
}

bool dlock_registry_leave(registry *r, dlock_hold *hold)
{
    bucket *b = bucket_of(r, dlock_lock_name(hold->lock, 0), hold->context);
    pthread_mutex_lock(&b->lock);
    bool last = --hold->count == 0;
    if (last)
        take_out(b, hold);
    pthread_mutex_unlock(&b->lock);
    return last;
}

bool dlock_registry_leave_last(registry *r, dlock_hold *hold)
{
    bucket *b = bucket_of(r, dlock_lock_name(hold->lock, 0), hold->context);
    pthread_mutex_lock(&b->lock);
    bool last = hold->count == 1;
    if (last) {
        hold->count = 0;
        take_out(b, hold);
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
    pthread_once(&process_once, begin_process);
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
