/*
 * Making and freeing locks: the options checked and filled in, the names of the keys, and the table
 * of a client's locks, by which the same name and options give the same lock.
 */
#include "core/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "redis/conn.h"
#include "redis/reserved.h"
#include "redis/shared.h"
#include "redis/slots.h"

enum { MULTI_MAX = 64 };

#define LEASE_DEFAULT_MS  10000
#define COHORT_DEFAULT_MS 10

static const char *check_options(const dlock_client *client, const dlock_options *o, int names)
{
    if (o->kind < DLOCK_STRING || o->kind > DLOCK_SEMAPHORE)
        return "no such kind";
    if (o->kind == DLOCK_QUORUM && client->options.quorum_len == 0)
        return "kind QUORUM needs the client's quorum servers";
    if (o->kind != DLOCK_QUORUM && !client->options.redis)
        return "this kind needs the client's redis";
    if (o->kind == DLOCK_QUORUM && o->wait_replicas > 0)
        return "wait_replicas does not go with kind QUORUM, whose servers have no replicas";
    if (names > 1 && o->kind != DLOCK_STRING)
        return "several names go with kind STRING only";
    if (names < 1 || names > MULTI_MAX)
        return "a multi-lock has 1..64 names";
    if (o->kind == DLOCK_SEMAPHORE && (o->permits < 1 || o->permits > PERMITS_MAX))
        return "kind SEMAPHORE needs permits, 1 to 1,000,000,000";
    if (o->kind != DLOCK_SEMAPHORE && o->permits != 0)
        return "permits go with kind SEMAPHORE only";
    if (o->cohort_max > 0 && (o->kind == DLOCK_READ || o->kind == DLOCK_SEMAPHORE))
        return "cohort_max does not go with kinds that have several holders";
    if (o->lease_ms < LEASE_MIN_MS)
        return "lease_ms must be at least 10";
    if (o->renew_ms != DLOCK_NEVER && (o->renew_ms < 1 || o->renew_ms >= o->lease_ms))
        return "renew_ms must be below lease_ms, or DLOCK_NEVER";
    if (o->max_hold_ms < 0 || o->poll_ms < 0 || o->cohort_max < 0 || o->cohort_ms < 0 ||
        o->wait_replicas < 0)
        return "times and counts must not be negative";
    if (o->lease_ms > TIME_MAX_MS || o->max_hold_ms > TIME_MAX_MS || o->poll_ms > TIME_MAX_MS ||
        o->cohort_ms > TIME_MAX_MS)
        return "times must be at most a year, 31,536,000,000 ms";
    if (HAS_RESERVED(o))
        return "dlock_options: " RESERVED_IN_USE;
    return NULL;
}

static dlock_options with_defaults(const dlock_options *options)
{
    dlock_options o = options ? *options : (dlock_options){0};
    o.lease_ms = o.lease_ms ? o.lease_ms : LEASE_DEFAULT_MS;
    o.renew_ms = o.renew_ms ? o.renew_ms : o.lease_ms / 3;
    o.cohort_ms = o.cohort_ms ? o.cohort_ms : COHORT_DEFAULT_MS;
    return o;
}

int64_t dlock_lock_claim_ms(const dlock_lock *lock)
{
    const dlock_client_options *o = &lock->client->options;
    int64_t rtt_us = o->redis ? dlock_shared_rtt_us(o->redis->shared) : 0;
    int64_t ms = o->claim_ms + 4 * rtt_us / 1000;
    return ms < lock->options.lease_ms ? ms : lock->options.lease_ms;
}

static bool make_ids(dlock_lock *lock, const char *const *names, int names_len)
{
    const kind *how = lock->kind;
    bool good = (lock->ids = calloc((size_t)names_len, sizeof(*lock->ids)));
    for (int i = 0; good && i < names_len; i++) {
        good = dlock_identity_init(&lock->ids[i], names[i], how->family, how->everywhere);
        lock->ids_len = i + 1;
    }
    return good;
}

static void free_lock(dlock_lock *lock)
{
    for (int i = 0; i < lock->ids_len; i++)
        dlock_identity_free(&lock->ids[i]);
    free(lock->ids);
    pthread_mutex_destroy(&lock->wait_set.lock);
    pthread_mutex_destroy(&lock->cohort.lock);
    free(lock);
}

static int slot_of(const dlock_lock *lock, int i)
{
    return dlock_slot_of(dlock_lock_name(lock, i), strlen(dlock_lock_name(lock, i)));
}

/* A script's keys must be on one server; the companions of a name are where it is. */
static const char *check_slots(const dlock_lock *lock)
{
    if (lock->kind->everywhere || !dlock_redis_is_cluster(lock->client->options.redis))
        return NULL;
    for (int i = 1; i < lock->ids_len; i++)
        if (slot_of(lock, i) != slot_of(lock, 0))
            return "in a cluster the names of a multi-lock need the same hash tag, as in "
                   "{order:42}:a and {order:42}:b";
    return NULL;
}

static bool same_lock(const dlock_lock *a, const dlock_lock *b)
{
    const dlock_options *p = &a->options, *q = &b->options;
    bool same = p->kind == q->kind && p->lease_ms == q->lease_ms && p->renew_ms == q->renew_ms &&
                p->max_hold_ms == q->max_hold_ms && p->poll_ms == q->poll_ms &&
                p->not_reentrant == q->not_reentrant && p->cohort_max == q->cohort_max &&
                p->cohort_ms == q->cohort_ms && p->wait_replicas == q->wait_replicas &&
                p->lost == q->lost && p->lost_arg == q->lost_arg && p->permits == q->permits &&
                a->ids_len == b->ids_len;
    for (int i = 0; same && i < a->ids_len; i++)
        same = dlock_identity_same(&a->ids[i], &b->ids[i]);
    return same;
}

/* One more reference, unless the last one was given back already. */
static bool ref_again(dlock_lock *lock)
{
    int refs = atomic_load(&lock->refs);
    while (refs > 0 && !atomic_compare_exchange_weak(&lock->refs, &refs, refs + 1)) {
    }
    return refs > 0;
}

dlock_lock **dlock_lock_bucket(const dlock_lock *lock)
{
    return &lock->client->locks[dlock_name_hash(dlock_lock_name(lock, 0)) % LOCK_BUCKETS];
}

/* Lists the lock, unless the client has the same one already. Returns the one to use: those who
 * wait for it then share a wait set, with one watch, and a cohort. */
static dlock_lock *enlist(dlock_client *client, dlock_lock *lock)
{
    dlock_lock **bucket = dlock_lock_bucket(lock);
    pthread_mutex_lock(&client->locks_lock);
    dlock_lock *twin = *bucket;
    while (twin && !(same_lock(twin, lock) && ref_again(twin)))
        twin = twin->next;
    if (!twin) {
        lock->next = *bucket;
        if (lock->next)
            lock->next->prev = lock;
        *bucket = lock;
    }
    pthread_mutex_unlock(&client->locks_lock);
    return twin ? twin : lock;
}

static void delist(dlock_client *client, dlock_lock *lock)
{
    dlock_lock **bucket = dlock_lock_bucket(lock);
    pthread_mutex_lock(&client->locks_lock);
    *(lock->prev ? &lock->prev->next : bucket) = lock->next;
    if (lock->next)
        lock->next->prev = lock->prev;
    pthread_mutex_unlock(&client->locks_lock);
}

static const kind *const kinds[] = {
    [DLOCK_STRING] = &dlock_kind_string,       [DLOCK_HASH] = &dlock_kind_hash,
    [DLOCK_FAIR] = &dlock_kind_fair,           [DLOCK_QUORUM] = &dlock_kind_quorum,
    [DLOCK_READ] = &dlock_kind_read,           [DLOCK_WRITE] = &dlock_kind_write,
    [DLOCK_SEMAPHORE] = &dlock_kind_semaphore,
};

dlock_status dlock_multi_new(dlock_client *client, const char *const *names, int names_len,
                             const dlock_options *options, dlock_lock **ret, char *err,
                             size_t err_len)
{
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    dlock_options o = with_defaults(options);
    const char *wrong = check_options(client, &o, names_len);
    for (int i = 0; !wrong && i < names_len; i++)
        wrong = dlock_identity_check_name(names[i]);
    if (wrong) {
        snprintf(err, err_len, "%s", wrong);
        return DLOCK_INVALID;
    }
    dlock_lock *lock = calloc(1, sizeof(*lock));
    if (!lock)
        return DLOCK_NO_MEMORY;
    lock->client = client;
    lock->kind = kinds[o.kind];
    lock->options = o;
    atomic_init(&lock->refs, 1);
    pthread_mutex_init(&lock->wait_set.lock, NULL);
    pthread_mutex_init(&lock->cohort.lock, NULL);
    if (!make_ids(lock, names, names_len)) {
        snprintf(err, err_len, "out of memory");
        free_lock(lock);
        return DLOCK_NO_MEMORY;
    }
    wrong = check_slots(lock);
    if (wrong) {
        snprintf(err, err_len, "%s", wrong);
        free_lock(lock);
        return DLOCK_INVALID;
    }
    *ret = enlist(client, lock);
    if (*ret != lock)
        free_lock(lock);
    return DLOCK_OK;
}

dlock_status dlock_lock_new(dlock_client *client, const char *name, const dlock_options *options,
                            dlock_lock **ret, char *err, size_t err_len)
{
    return dlock_multi_new(client, &name, 1, options, ret, err, err_len);
}

void dlock_lock_count_at(dlock_lock *lock, size_t counter, int more)
{
    dlock_client *client = lock->client;
    pthread_mutex_lock(&client->stats_lock);
    *(uint64_t *)((char *)&lock->stats + counter) += (uint64_t)more;
    *(uint64_t *)((char *)&client->stats + counter) += (uint64_t)more;
    pthread_mutex_unlock(&client->stats_lock);
}

static void add_time(dlock_histogram *histogram, int bucket, uint64_t us)
{
    histogram->count++;
    histogram->sum_us += us;
    histogram->bucket[bucket]++;
}

void dlock_lock_time_at(dlock_lock *lock, size_t histogram, dlock_time since)
{
    dlock_client *client = lock->client;
    uint64_t us = (uint64_t)(dlock_now().us - since.us);
    int bucket = 0;
    while (bucket < DLOCK_HISTOGRAM_BUCKETS - 1 && us >= (uint64_t)1 << bucket)
        bucket++;
    pthread_mutex_lock(&client->stats_lock);
    add_time((dlock_histogram *)((char *)&lock->stats + histogram), bucket, us);
    add_time((dlock_histogram *)((char *)&client->stats + histogram), bucket, us);
    pthread_mutex_unlock(&client->stats_lock);
}

void dlock_lock_stats(dlock_lock *lock, dlock_stats *ret)
{
    *ret = (dlock_stats){0};
    if (dlock_client_forked(lock->client)) /* another thread may have had the mutex at the fork */
        return;
    pthread_mutex_lock(&lock->client->stats_lock);
    *ret = lock->stats;
    pthread_mutex_unlock(&lock->client->stats_lock);
}

void dlock_client_locks(dlock_client *client,
                        void (*each)(void *arg, const char *name, const dlock_stats *stats),
                        void *arg)
{
    if (dlock_client_forked(client))
        return;
    pthread_mutex_lock(&client->locks_lock);
    for (int i = 0; i < LOCK_BUCKETS; i++) {
        for (dlock_lock *lock = client->locks[i]; lock; lock = lock->next) {
            dlock_stats stats;
            dlock_lock_stats(lock, &stats);
            each(arg, dlock_lock_name(lock, 0), &stats);
        }
    }
    pthread_mutex_unlock(&client->locks_lock);
}

void dlock_lock_ref(dlock_lock *lock)
{
    atomic_fetch_add(&lock->refs, 1);
}

void dlock_lock_unref(dlock_lock *lock)
{
    dlock_client *client = lock->client;
    if (atomic_fetch_sub(&lock->refs, 1) != 1)
        return;
    delist(client, lock);
    free_lock(lock);
}

const char *dlock_lock_name(const dlock_lock *lock, int i)
{
    return lock->ids[i].keys[KEY_NAME];
}

void dlock_lock_free(dlock_lock *lock)
{
    if (lock && !dlock_client_forked(lock->client))
        dlock_lock_unref(lock);
}

/* A lease that has grown is another grant's. */
int64_t dlock_lock_foreign_step(foreign_pace *pace, int64_t left_ms, int64_t most)
{
    bool another = pace->step_ms == 0 || left_ms > pace->left_ms;
    pace->step_ms = another ? 1 : 2 * pace->step_ms;
    if (pace->step_ms > most)
        pace->step_ms = most;
    pace->left_ms = left_ms;
    return pace->step_ms;
}
