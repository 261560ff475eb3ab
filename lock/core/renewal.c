/*
 * How a grant is renewed: one question to its server, or to each server of the quorum.
 *
 * Renewal is by token and never creates a lock; in a quorum it may take a lost vote again
 * (quorum.c). A release that crosses a renewal is harmless: the grant's state is then RELEASED, and
 * the renewal's answer does not change that.
 */
#include "core/renewal.h"

#include <stdlib.h>

#include "core/cohort.h"

#define PATIENCE_MIN_MS 100
#define LAZY_FROM_MS    100 /* with more validity left, the answer may be read later */

struct renewal {
    renewals *all;
    grant *g; /* (a reference) */
    dlock_time asked, until;
    atomic_int refs; /* the starter's, one for each server, the list's */
    int servers, need;
    int written, yes, no, answers; /* so many servers; under the mutex */
    bool is_decided;               /* likewise */
    struct renewal *next;          /* in the list of those that are decided */
    struct renewal_call {
        pipeline_call call; /* first, so that the one is the other */
        renewal *of;
    } calls[]; /* one to each server */
};

/* ---- what the servers say -------------------------------------------------------------------- */

static void let_go(pipeline_call *call)
{
    dlock_renewal_unref(((struct renewal_call *)call)->of);
}

/* Under the mutex. `server` has given its vote, or refused it. */
static void count(renewal *r, int server, bool yes)
{
    r->yes += yes;
    r->no += !yes;
    if (yes)
        r->g->lacks &= ~(1u << server);
    else
        r->g->lacks |= 1u << server;
}

static dlock_redis *server_of(const renewal *r, int server)
{
    const dlock_client_options *o = &r->all->client->options;
    return r->g->lock->kind->everywhere ? o->quorum[server] : o->redis;
}

/* False: there is no answer, or none that this script gives. */
static bool read_answer(const renewal *r, int server, bool *yes)
{
    const pipeline_call *call = &r->calls[server].call;
    const dlock_lock *lock = r->g->lock;
    const kind_everywhere *everywhere = lock->kind->everywhere;
    const redisReply *reply = call->reply;
    int64_t vote = 0;
    bool fits = false;
    if (call->outcome != DLOCK_REDIS_OK)
        return false;
    if (everywhere) {
        fits = everywhere->read_vote(lock, server, r->asked, reply, &vote);
    } else {
        fits = reply->type == REDIS_REPLY_INTEGER;
        vote = reply->integer;
    }
    *yes = vote == 1;
    return dlock_redis_check(server_of(r, server), call->script->name, reply, fits);
}

static void take_answer(pipeline_call *call)
{
    renewal *r = ((struct renewal_call *)call)->of;
    int server = (int)((struct renewal_call *)call - r->calls);
    bool yes = false, answered = read_answer(r, server, &yes);
    pthread_mutex_lock(&r->all->lock);
    r->answers++;
    if (answered)
        count(r, server, yes);
    bool granted = !r->is_decided && r->yes >= r->need;
    bool ended = !r->is_decided && (r->no >= r->need || r->answers == r->servers);
    r->is_decided = r->is_decided || granted || ended;
    if (ended && !granted) {
        r->next = r->all->decided;
        r->all->decided = r;
        pthread_cond_signal(&r->all->changed);
    }
    if ((granted || ended) && r->written < r->need)
        pthread_cond_broadcast(&r->all->written);
    pthread_mutex_unlock(&r->all->lock);
    if (granted)
        r->all->granted(r->all, r);
}

static void note_written(pipeline_call *call)
{
    renewal *r = ((struct renewal_call *)call)->of;
    pthread_mutex_lock(&r->all->lock);
    if (++r->written == r->need)
        pthread_cond_broadcast(&r->all->written);
    pthread_mutex_unlock(&r->all->lock);
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* The limit of a question: io_ms, or a quarter of the lease, so that a lost reply does not cost the
 * lease. */
static int64_t patience_ms(const grant *g)
{
    int64_t ms = g->lease_ms / 4, io_ms = g->lock->client->options.io_ms;
    ms = ms > PATIENCE_MIN_MS ? ms : PATIENCE_MIN_MS;
    return ms < io_ms ? ms : io_ms;
}

static pipeline **pipeline_to(const renewal *r, int server)
{
    return r->g->lock->kind->everywhere ? &r->all->to_quorum[server] : &r->all->to_redis;
}

/* Under the mutex. A server that lacks the vote may give it only while somebody counts on it. */
static void prepare(renewal *r, int server)
{
    const grant *g = r->g;
    const kind *how = g->lock->kind;
    const asker who = {.token = g->token, .lease_ms = g->lease_ms};
    dlock_time end = {atomic_load(&g->valid_until_us)};
    pipeline_call *call = &r->calls[server].call;
    pipeline **to = pipeline_to(r, server);
    if (!*to)
        *to = dlock_pipeline_new(server_of(r, server));
    r->calls[server].of = r;
    dlock_args_init(&call->args);
    if (how->everywhere)
        call->keys = how->everywhere->renew_args(
            g->lock, &who, server,
            g->lacks >> server & 1 ? dlock_sooner(r->until, end) : (dlock_time){0}, &call->args);
    else
        call->keys = how->renew.args(g->lock, &who, &call->args);
    call->script = how->renew.script;
    call->until = r->until;
    call->lazy = end.us - dlock_now().us > LAZY_FROM_MS * 1000;
    call->written = note_written;
    call->decided = take_answer;
    call->over = let_go;
    dlock_pipeline_call_init(call);
}

/* Under the mutex. */
static renewal *new_renewal(renewals *all, grant *g)
{
    int servers = g->lock->kind->everywhere ? all->client->options.quorum_len : 1;
    renewal *r = calloc(1, sizeof(*r) + (size_t)servers * sizeof(r->calls[0]));
    if (!r)
        return NULL;
    *r = (renewal){.all = all,
                   .g = g,
                   .asked = dlock_now(),
                   .until = dlock_in_ms(patience_ms(g)),
                   .servers = servers,
                   .need = servers / 2 + 1};
    dlock_grant_ref(g);
    atomic_init(&r->refs, servers + 2);
    for (int i = 0; i < servers; i++)
        prepare(r, i);
    return r;
}

void dlock_renewal_unref(renewal *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    dlock_grant_unref(r->g);
    free(r);
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

renewal *dlock_renewal_start(renewals *all, grant *g)
{
    pthread_mutex_lock(&all->lock);
    renewal *r = new_renewal(all, g);
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; r && i < r->servers; i++) {
        dlock_pipeline_put(*pipeline_to(r, i), &r->calls[i].call);
        dlock_pipeline_call_unref(&r->calls[i].call);
    }
    return r;
}

bool dlock_renewal_is_written(renewal *r)
{
    if (!r)
        return false;
    dlock_time end = {atomic_load(&r->g->valid_until_us)};
    dlock_time until = dlock_sooner(r->until, end);
    pthread_mutex_lock(&r->all->lock);
    while (r->written < r->need && !r->is_decided && !dlock_passed(until))
        dlock_cond_wait(&r->all->written, &r->all->lock, until);
    bool written = r->is_decided ? r->yes >= r->need : r->written >= r->need;
    pthread_mutex_unlock(&r->all->lock);
    if (written)
        atomic_store(&r->g->extended_us, r->asked.us);
    return written;
}

renewal *dlock_renewals_take(renewals *all)
{
    renewal *r = all->decided;
    if (r)
        all->decided = r->next;
    return r;
}

grant *dlock_renewal_grant(const renewal *r)
{
    return r->g;
}

bool dlock_renewal_conclude(const renewal *r)
{
    pthread_mutex_lock(&r->all->lock);
    int yes = r->yes, no = r->no;
    pthread_mutex_unlock(&r->all->lock);
    bool good = yes >= r->need && dlock_grant_confirm(r->g, r->asked, r->g->lease_ms);
    if (good) {
        dlock_lock_count(r->g->lock, renewals, 1);
        atomic_store(&r->g->extended_us, r->asked.us);
    } else {
        dlock_lock_count(r->g->lock, renewals_failed, 1);
        if (no >= r->need)
            dlock_cohort_end(r->g, GRANT_TAKEN);
    }
    return good;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void dlock_renewals_init(renewals *all, dlock_client *client,
                         void (*granted)(renewals *all, renewal *r))
{
    all->client = client;
    all->granted = granted;
    pthread_mutex_init(&all->lock, NULL);
    dlock_cond_init(&all->changed);
    dlock_cond_init(&all->written);
}

void dlock_renewals_free(renewals *all)
{
    dlock_pipeline_stop(all->to_redis);
    for (int i = 0; i < QUORUM_MAX; i++)
        dlock_pipeline_stop(all->to_quorum[i]);
    dlock_pipeline_free(all->to_redis);
    for (int i = 0; i < QUORUM_MAX; i++)
        dlock_pipeline_free(all->to_quorum[i]);
    for (renewal *r; (r = dlock_renewals_take(all));) /* every one is decided by now */
        dlock_renewal_unref(r);
    pthread_cond_destroy(&all->changed);
    pthread_cond_destroy(&all->written);
    pthread_mutex_destroy(&all->lock);
}
