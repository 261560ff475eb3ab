/*
 * Making and freeing locks: the options checked and filled in, the names of the keys, and the list
 * of a client's locks, by which the same name and options give the same lock.
 */
#include "core/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "redis/reserved.h"
#include "redis/slots.h"

enum { MULTI_MAX = 64 };

#define LEASE_DEFAULT_MS  10000
#define LEASE_MIN_MS      10
#define COHORT_DEFAULT_MS 10

/* Redis Cluster hashes what stands between the first '{' and the next '}', if that is not empty. */
static bool has_hash_tag(const char *name)
{
    const char *open = strchr(name, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    return close && close > open + 1;
}

const char *dlock_lock_check_name(const char *name)
{
    if (!name || !*name)
        return "a lock needs a name";
    if (strlen(name) > NAME_MAX_LEN - 64)
        return "the lock's name is too long";
    if (!has_hash_tag(name) && strpbrk(name, "{}"))
        return "a name with braces needs a hash tag, as in stock:{42}";
    return NULL;
}

static const char *check_options(const dlock_client *client, const dlock_options *o, int names)
{
    if (o->kind < DLOCK_STRING || o->kind > DLOCK_SEMAPHORE)
        return "no such kind";
    if (o->kind == DLOCK_QUORUM && client->options.quorum_len == 0)
        return "kind QUORUM needs the client's quorum servers";
    if (o->kind != DLOCK_QUORUM && !client->options.redis)
        return "this kind needs the client's redis";
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

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    char *text = NULL;
    return asprintf(&text, "%s%s%s%s", a, b, c, d) < 0 ? NULL : text;
}

char *dlock_lock_companion(const char *name, const char *chosen)
{
    if (chosen)
        return join(chosen, "", "", "");
    return has_hash_tag(name) ? join(name, "", "", "") : join("{", name, "}", "");
}

static bool make_names(dlock_lock *lock, const char *const *names)
{
    size_t n = (size_t)lock->names_len;
    lock->names = calloc(n, sizeof(char *));
    lock->fences = calloc(n, sizeof(char *));
    if (!lock->names || !lock->fences)
        return false;
    for (size_t i = 0; i < n; i++) {
        char *base = dlock_lock_companion(names[i], n == 1 ? lock->options.companion : NULL);
        lock->names[i] = strdup(names[i]);
        lock->fences[i] = base ? join(base, ":fence", "", "") : NULL;
        free(base);
        if (!lock->names[i] || !lock->fences[i])
            return false;
    }
    char *base = dlock_lock_companion(names[0], lock->options.companion);
    if (base) {
        lock->queue = join(base, ":queue", "", "");
        lock->beats = join(base, ":beats", "", "");
        lock->wake = join(base, ":wake:", "", "");
        lock->permits = join(base, ":permits", "", "");
    }
    free(base);
    lock->channel = has_hash_tag(names[0]) ? join("redisson_lock__channel:", names[0], "", "")
                                           : join("redisson_lock__channel:", "{", names[0], "}");
    return lock->queue && lock->beats && lock->wake && lock->permits && lock->channel;
}

static void free_lock(dlock_lock *lock)
{
    for (int i = 0; i < lock->names_len; i++) {
        free(lock->names ? lock->names[i] : NULL);
        free(lock->fences ? lock->fences[i] : NULL);
    }
    free(lock->names);
    free(lock->fences);
    free(lock->queue);
    free(lock->beats);
    free(lock->wake);
    free(lock->channel);
    free(lock->permits);
    dlock_redis_hang_up(lock->wait_set.conn);
    pthread_mutex_destroy(&lock->wait_set.lock);
    pthread_mutex_destroy(&lock->cohort.lock);
    free(lock);
}

/* A script's keys must be on one server. What stands in `lock` is what scripts are given. */
static const char *check_slots(const dlock_lock *lock)
{
    if (lock->kind->everywhere || !dlock_redis_is_cluster(lock->client->options.redis))
        return NULL;
    int slot = dlock_slot_of(lock->wake, strlen(lock->wake));
    for (int i = 0; i < lock->names_len; i++)
        if (dlock_slot_of(lock->names[i], strlen(lock->names[i])) != slot)
            return "in a cluster the names of a multi-lock, and a companion, need the same hash "
                   "tag, as in {order:42}:a and {order:42}:b";
    return NULL;
}

/* The wake-up list's name stands for the other companion keys. */
static bool same_lock(const dlock_lock *a, const dlock_lock *b)
{
    const dlock_options *p = &a->options, *q = &b->options;
    bool same = p->kind == q->kind && p->lease_ms == q->lease_ms && p->renew_ms == q->renew_ms &&
                p->max_hold_ms == q->max_hold_ms && p->poll_ms == q->poll_ms &&
                p->not_reentrant == q->not_reentrant && p->cohort_max == q->cohort_max &&
                p->cohort_ms == q->cohort_ms && p->wait_replicas == q->wait_replicas &&
                p->lost == q->lost && p->lost_arg == q->lost_arg && p->permits == q->permits &&
                a->names_len == b->names_len && strcmp(a->wake, b->wake) == 0;
    for (int i = 0; same && i < a->names_len; i++)
        same = strcmp(a->names[i], b->names[i]) == 0;
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

/* Lists the lock, unless the client has the same one already. Returns the one to use: those who
 * wait for it then share a wait set, with one connection and one leader, and a cohort. */
static dlock_lock *enlist(dlock_client *client, dlock_lock *lock)
{
    pthread_mutex_lock(&client->locks_lock);
    dlock_lock *twin = client->locks;
    while (twin && !(same_lock(twin, lock) && ref_again(twin)))
        twin = twin->next;
    if (!twin) {
        lock->next = client->locks;
        if (lock->next)
            lock->next->prev = lock;
        client->locks = lock;
    }
    pthread_mutex_unlock(&client->locks_lock);
    return twin ? twin : lock;
}

static void delist(dlock_client *client, dlock_lock *lock)
{
    pthread_mutex_lock(&client->locks_lock);
    *(lock->prev ? &lock->prev->next : &client->locks) = lock->next;
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
        wrong = dlock_lock_check_name(names[i]);
    if (!wrong && o.companion)
        wrong = dlock_lock_check_name(o.companion);
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
    lock->claim_ms = client->options.claim_ms;
    if (lock->claim_ms > o.lease_ms)
        lock->claim_ms = o.lease_ms;
    lock->names_len = names_len;
    atomic_init(&lock->refs, 1);
    pthread_mutex_init(&lock->wait_set.lock, NULL);
    pthread_mutex_init(&lock->cohort.lock, NULL);
    if (!make_names(lock, names)) {
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
    lock->options.companion = NULL; /* the caller's; its use is over */
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

void dlock_lock_add_keys(const dlock_lock *lock, int name, int keys, dlock_args *args)
{
    const char *all[] = {lock->names[name], lock->fences[name], lock->queue,
                         lock->beats,       lock->wake,         lock->channel};
    for (int i = 0; i < keys; i++)
        dlock_args_text(args, all[i]);
}

void dlock_lock_free(dlock_lock *lock)
{
    if (lock && !dlock_client_forked(lock->client))
        dlock_lock_unref(lock);
}
