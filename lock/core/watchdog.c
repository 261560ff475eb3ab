/*
 * The watchdog: one thread a client that renews leases and notices their end.
 *
 * It keeps all grants in a heap by the time of their next event: a renewal, or the end of validity.
 * What is due is renewed in one pipeline on a connection of its own, so that neither a busy pool
 * nor a slow caller can hold it up. A renewal that fails is tried again every RETRY_MS while the
 * grant is valid; after that the grant counts as lost, whether Redis can be reached or not.
 *
 * Renewal is by token and never creates a lock. A release that crosses a renewal is harmless: the
 * grant's state is RELEASED by then, and nothing that the watchdog learns changes that.
 */
#include "core/watchdog.h"

#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/cohort.h"
#include "core/retried_release.h"

#define RETRY_MS        50
#define PATIENCE_MIN_MS 100
#define BATCH_MAX       512

typedef struct renewal {
    grant *g; /* (a reference) */
    dlock_args args;
    int keys;
    dlock_time asked;
    dlock_status status;
} renewal;

struct watchdog {
    dlock_client *client; /* (borrowed) */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, up to conn */
    pthread_cond_t changed;
    grant **heap;
    int len, cap;
    dlock_time asleep_until;
    bool stop;
    _Atomic int64_t patience_ms; /* limit of a question: io_ms, or a quarter of the shortest lease
                                    so far: while one is open, no end of a lease is noticed */

    dlock_redis_conn *conn; /* this and the rest: the thread's alone */
    renewal batch[BATCH_MAX];
    int batch_len;
};

/* ---- the heap -------------------------------------------------------------------------------- */

static void put(watchdog *w, int at, grant *g)
{
    w->heap[at] = g;
    g->heap_at = at;
}

static void sift(watchdog *w, int at)
{
    grant *g = w->heap[at];
    for (int up = (at - 1) / 2; at > 0 && g->due.us < w->heap[up]->due.us; up = (at - 1) / 2) {
        put(w, at, w->heap[up]);
        at = up;
    }
    for (int down; (down = 2 * at + 1) < w->len; at = down) {
        if (down + 1 < w->len && w->heap[down + 1]->due.us < w->heap[down]->due.us)
            down++;
        if (g->due.us <= w->heap[down]->due.us)
            break;
        put(w, at, w->heap[down]);
    }
    put(w, at, g);
}

/* Takes over the caller's reference. Out of memory: the grant is not watched; its validity by the
 * clock still ends on time. */
static void push(watchdog *w, grant *g)
{
    if (w->len == w->cap) {
        int cap = w->cap ? 2 * w->cap : 64;
        grant **heap = realloc(w->heap, (size_t)cap * sizeof(*heap));
        if (!heap) {
            dlock_grant_unref(g);
            return;
        }
        w->heap = heap;
        w->cap = cap;
    }
    put(w, w->len++, g);
    sift(w, w->len - 1);
}

static void take_out(watchdog *w, grant *g)
{
    int at = g->heap_at;
    g->heap_at = -1;
    if (at != --w->len) {
        put(w, at, w->heap[w->len]);
        sift(w, at);
    }
}

/* ---- what is due ----------------------------------------------------------------------------- */

/* A grant that is not taken up yet needs one renewal in any case. */
static bool renews(const grant *g)
{
    return (!g->claimed || g->lock->options.renew_ms > 0) && !atomic_load(&g->orphaned);
}

/* The next event: in `ms`, or the end of validity if that comes first. */
static void schedule(grant *g, int64_t ms)
{
    dlock_time end = {atomic_load(&g->valid_until_us)};
    g->due = renews(g) ? dlock_sooner(dlock_in_ms(ms), end) : end;
}

static void put_in_batch(watchdog *w, grant *g)
{
    renewal *r = &w->batch[w->batch_len++];
    *r = (renewal){.g = g, .status = DLOCK_UNKNOWN};
    dlock_args_init(&r->args);
    if (g->lock->kind->renew_script)
        r->keys = g->lock->kind->renew_args(g->lock, g->token, &r->args);
}

static bool lose(grant *g, grant_state why)
{
    bool lost = dlock_grant_end(g, why);
    if (lost)
        dlock_cohort_next(g->lock);
    return lost;
}

/* The lease ends by itself, but max_hold cuts it short: Redis must hear of that. */
static void expire(grant *g)
{
    if (lose(g, GRANT_EXPIRED) && dlock_passed(g->ends))
        dlock_retried_releases_add(g->lock->client->retried, g->lock, g->token);
    dlock_grant_unref(g);
}

/* Under the mutex: fills the batch with what is due, and ends what is over. */
static void collect(watchdog *w)
{
    w->batch_len = 0;
    while (w->len > 0 && dlock_passed(w->heap[0]->due) && w->batch_len < BATCH_MAX) {
        grant *g = w->heap[0];
        take_out(w, g);
        if (atomic_load(&g->state) != GRANT_HELD) {
            dlock_grant_unref(g);
        } else if (renews(g) && dlock_grant_alive(g)) {
            put_in_batch(w, g);
        } else if (dlock_grant_alive(g)) {
            schedule(g, 0);
            push(w, g);
        } else {
            pthread_mutex_unlock(&w->lock);
            expire(g);
            pthread_mutex_lock(&w->lock);
        }
    }
}

/* ---- renewing -------------------------------------------------------------------------------- */

static dlock_status read_renewal(watchdog *w, dlock_time deadline, bool *no_script)
{
    redisReply *reply = NULL;
    dlock_status status = DLOCK_UNKNOWN;
    dlock_redis_outcome outcome = dlock_redis_read(w->conn, deadline, &reply);
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_INTEGER)
        status = reply->integer == 1 ? DLOCK_OK : DLOCK_NOT_OWNER;
    else if (outcome == DLOCK_REDIS_REFUSED)
        *no_script = strncmp(reply->str, "NOSCRIPT", 8) == 0;
    if (reply)
        freeReplyObject(reply);
    return status;
}

/* A connection that works, and the hashes of the scripts. That comes before the first renewal is
 * queued: the question for a hash has a reply too. */
static bool prepare(watchdog *w, dlock_time deadline, bool *asked)
{
    if (w->conn && dlock_redis_broken(w->conn)) {
        dlock_redis_hang_up(w->conn);
        w->conn = NULL;
    }
    if (!w->conn &&
        dlock_redis_dial(w->client->options.redis, NULL, deadline, &w->conn) != DLOCK_REDIS_OK)
        return false;
    for (int i = 0; i < w->batch_len; i++) {
        dlock_script *script = w->batch[i].g->lock->kind->renew_script;
        asked[i] = script && dlock_redis_learn(w->conn, script, deadline) == DLOCK_REDIS_OK;
    }
    return true;
}

/* Scripts of the whole batch in one pipeline; those that the server did not know, once more with
 * their text. */
static void renew_in_pipeline(watchdog *w, bool by_text, bool *again)
{
    dlock_time deadline = dlock_in_ms(w->patience_ms);
    bool asked[BATCH_MAX] = {false};
    if (!prepare(w, deadline, asked))
        return;
    for (int i = 0; i < w->batch_len; i++) {
        renewal *r = &w->batch[i];
        dlock_script *script = r->g->lock->kind->renew_script;
        asked[i] = asked[i] && (!by_text || again[i]);
        if (!asked[i])
            continue;
        r->asked = dlock_now();
        dlock_redis_queue_script(w->conn, script, r->keys, &r->args, by_text);
    }
    if (dlock_redis_flush(w->conn, deadline) != DLOCK_REDIS_OK)
        return;
    for (int i = 0; i < w->batch_len; i++) {
        again[i] = false;
        if (asked[i])
            w->batch[i].status = read_renewal(w, deadline, &again[i]);
    }
}

static void renew_batch(watchdog *w)
{
    bool again[BATCH_MAX] = {false}, any = false;
    renew_in_pipeline(w, false, again);
    for (int i = 0; i < w->batch_len; i++)
        any = any || again[i];
    if (any)
        renew_in_pipeline(w, true, again);
    for (int i = 0; i < w->batch_len; i++) {
        renewal *r = &w->batch[i];
        dlock_lock *lock = r->g->lock;
        if (lock->kind->renew_script)
            continue;
        r->asked = dlock_now();
        r->status = lock->kind->renew(lock, r->g->token);
    }
}

static void conclude(watchdog *w, renewal *r)
{
    grant *g = r->g;
    const dlock_options *options = &g->lock->options;
    int64_t next_ms = options->renew_ms;
    dlock_args_free(&r->args);
    if (r->status == DLOCK_OK && dlock_grant_alive(g)) { /* else it is over and stays so */
        dlock_client_count(w->client, &w->client->stats.renewals, 1);
        g->claimed = true;
        dlock_grant_confirm(g, r->asked, options->lease_ms);
    } else {
        dlock_client_count(w->client, &w->client->stats.renewals_failed, 1);
        next_ms = next_ms > 0 && next_ms < RETRY_MS ? next_ms : RETRY_MS;
        if (r->status == DLOCK_NOT_OWNER)
            lose(g, GRANT_TAKEN);
    }
    pthread_mutex_lock(&w->lock);
    if (atomic_load(&g->state) == GRANT_HELD) {
        schedule(g, next_ms);
        push(w, g);
    } else {
        dlock_grant_unref(g);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void sleep_until_due(watchdog *w)
{
    int64_t far = dlock_in_ms(60000).us;
    w->asleep_until.us = w->len > 0 && w->heap[0]->due.us < far ? w->heap[0]->due.us : far;
    dlock_cond_wait(&w->changed, &w->lock, w->asleep_until);
    w->asleep_until.us = 0;
}

static void *watch(void *arg)
{
    watchdog *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        collect(w);
        if (w->batch_len == 0) {
            sleep_until_due(w);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        renew_batch(w);
        for (int i = 0; i < w->batch_len; i++)
            conclude(w, &w->batch[i]);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

watchdog *dlock_watchdog_new(dlock_client *client)
{
    watchdog *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->client = client;
    atomic_init(&w->patience_ms, client->options.io_ms);
    pthread_mutex_init(&w->lock, NULL);
    dlock_cond_init(&w->changed);
    if (pthread_create(&w->thread, NULL, watch, w) != 0) {
        free(w);
        return NULL;
    }
    return w;
}

void dlock_watchdog_free(watchdog *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (int i = 0; i < w->len; i++)
        dlock_grant_unref(w->heap[i]);
    dlock_redis_hang_up(w->conn);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w->heap);
    free(w);
}

void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms)
{
    int64_t patience_ms = g->lock->options.lease_ms / 4;
    if (patience_ms < PATIENCE_MIN_MS)
        patience_ms = PATIENCE_MIN_MS;
    dlock_grant_ref(g);
    schedule(g, first_renewal_ms);
    pthread_mutex_lock(&w->lock);
    if (patience_ms < w->patience_ms)
        w->patience_ms = patience_ms;
    push(w, g);
    if (g->due.us < w->asleep_until.us)
        pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void dlock_watchdog_remove(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->lock);
    bool in_heap = g->heap_at >= 0;
    if (in_heap)
        take_out(w, g);
    pthread_mutex_unlock(&w->lock);
    if (in_heap)
        dlock_grant_unref(g);
}
