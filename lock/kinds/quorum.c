/*
 * Kind QUORUM: Redlock. The lock counts as taken when a majority of N independent servers gave it
 * and enough of the lease is left after the last reply.
 *
 * All servers are asked at the same time, and answers are read as they come. Once the result is
 * decided, the remaining servers have as long again as that took. So a silent server does not cost
 * each call its whole limit, and an unreachable one does not use up the time of the others. A
 * server that does not answer counts as a refusal. After a failed try the token is removed from all
 * servers that gave their vote, or may have. A waiter that leaves without the lock goes on with
 * that until every server has answered; a release needs only a majority.
 *
 * A vote must not come too late. For us its time ends with the validity, counted from before the
 * first server was asked; an answer that is read later lengthens nothing. For the server it ends at
 * the moment that the request carries, by that server's own clock; it refuses a later request. A
 * server whose clock is not known is first asked with a moment that is long past: its refusal tells
 * the time, and the request is repeated. So only one useless vote is possible: a request that
 * arrives before its moment but after the release. That server is then lost to the lock for one
 * lease, like a server that has crashed.
 *
 * A renewal may take a vote that a server has lost with its memory, or never gave. Without that, a
 * hold would lose a vote for good with each restart. It does so only if nobody has the lock there,
 * and only until its own limit or the end of the current validity, whichever is sooner, by that
 * server's clock. Only servers that refused the renewal before are asked to. So it leaves a useless
 * vote only if a release overtakes it and it still arrives in time. That server is lost for one
 * lease; it is never a majority, because a majority has its votes and is not asked.
 * tests/model/quorum.pml shows what goes wrong without each of these rules.
 *
 * What it can not do: a server that comes back empty within the lease of a lock that it has given,
 * or whose clock jumps ahead by a lease, votes once more, and that may make a second majority. Such
 * a server must stay away for one lease before it is started again, or sync its votes to disk
 * (appendfsync always).
 *
 * No fence: each server has a counter of its own, and their maximum over changing majorities does
 * not rise strictly. For the same reason there is no guard.
 *
 * Source: "Distributed Locks with Redis", the Redlock algorithm, in the Redis documentation.
 */
#include <stdlib.h>

#include "core/client.h"
#include "core/grant.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "redis/pipeline.h"

#include "kinds/quorum_acquire.lua.h"
#include "kinds/quorum_renew.lua.h"
#include "kinds/string_release.lua.h"

static dlock_script acquire =
    DLOCK_SCRIPT("quorum_acquire", "#!lua\n" OWNER_LUA FENCE_LUA QUORUM_ACQUIRE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("quorum_release", "#!lua flags=allow-oom\n" OWNER_LUA STRING_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("quorum_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA QUORUM_RENEW_LUA);

#define LAGGARD_MS 20 /* at least, for those who answer after it is decided */
#define LONG_AGO   1  /* by any clock */

enum { REFUSED = 0, GIVEN = 1, LATE = 2 }; /* or, of a release, -1: somebody else's */

/* Servers by their places in the quorum: bit i is server i. */
typedef uint32_t servers;

/* What one question to all, or some, of the servers has brought. */
typedef struct votes {
    int yes;       /* GIVEN, or released */
    int no;        /* another definite answer */
    int unknown;   /* sent, no reply */
    servers given; /* or maybe: yes and unknown */
    servers told;  /* yes and no */
} votes;

/* Shared with the answers that may still come when nobody waits for them any more. */
typedef struct ballot_round {
    pthread_mutex_t mutex; /* guards each ballot's `answered` */
    pthread_cond_t heard;
    atomic_int refs; /* the caller's, and each ballot's */
    dlock_lock *lock;
    const char *token;
    int64_t lease_ms;
    bool acquires; /* else it releases */
    int enough;    /* so many yes decide; of a release, answers */
    dlock_time deadline;
    votes votes;
    struct ballot *ballots[QUORUM_MAX]; /* NULL: nothing is open */
} ballot_round;

/* The question to one server. */
typedef struct ballot {
    pipeline_call call; /* first, so that the one is the other */
    ballot_round *round;
    dlock_time asked;
    bool repeated, answered;
} ballot;

static int majority(const dlock_client *client)
{
    return client->options.quorum_len / 2 + 1;
}

static servers all_of(const dlock_client *client)
{
    return (1u << client->options.quorum_len) - 1;
}

static bool is_decided(const ballot_round *q)
{
    const votes *v = &q->votes;
    int most = q->lock->client->options.quorum_len;
    return q->acquires ? v->yes >= q->enough || v->no > most - q->enough
                       : v->yes + v->no >= q->enough;
}

static void unref(ballot_round *q)
{
    if (atomic_fetch_sub(&q->refs, 1) != 1)
        return;
    pthread_cond_destroy(&q->heard);
    pthread_mutex_destroy(&q->mutex);
    free(q);
}

static void take_answer(pipeline_call *call)
{
    ballot *b = (ballot *)call;
    pthread_mutex_lock(&b->round->mutex);
    b->answered = true;
    pthread_cond_signal(&b->round->heard);
    pthread_mutex_unlock(&b->round->mutex);
}

static void free_ballot(pipeline_call *call)
{
    ballot *b = (ballot *)call;
    unref(b->round);
    free(b);
}

/* Asks one server. Out of memory: it counts as silent. */
static void put(ballot_round *q, int i, bool repeated)
{
    dlock_client *client = q->lock->client;
    ballot *b = q->ballots[i] = calloc(1, sizeof(*b));
    if (!b)
        return;
    atomic_fetch_add(&q->refs, 1);
    *b = (ballot){.round = q, .asked = dlock_now(), .repeated = repeated};
    b->call = (pipeline_call){.script = q->acquires ? &acquire : &release,
                              .keys = 1,
                              .until = q->deadline,
                              .decided = take_answer,
                              .over = free_ballot};
    dlock_pipeline_call_init(&b->call);
    dlock_args_text(&b->call.args, dlock_lock_name(q->lock, 0));
    dlock_args_text(&b->call.args, q->token);
    if (q->acquires) {
        int64_t not_after = dlock_server_clock_at(&client->of_quorum[i], q->deadline);
        dlock_args_int(&b->call.args, q->lease_ms);
        dlock_args_int(&b->call.args, not_after ? not_after : LONG_AGO);
    }
    dlock_pipeline_ask(client->options.quorum[i], &b->call);
}

/* A vote is told with the server's clock. False: a reply of another shape. */
static bool read_vote(const dlock_lock *lock, int i, dlock_time asked, const redisReply *reply,
                      int64_t *ret)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_INTEGER ||
        reply->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    dlock_server_clock_learn(&lock->client->of_quorum[i], reply->element[1]->integer, asked);
    *ret = reply->element[0]->integer;
    return true;
}

static bool read_answer(const ballot_round *q, int i, const redisReply *reply, int64_t *ret)
{
    if (q->acquires)
        return read_vote(q->lock, i, q->ballots[i]->asked, reply, ret);
    *ret = reply->integer;
    return reply->type == REDIS_REPLY_INTEGER;
}

static void count(votes *v, int i, int64_t vote)
{
    v->yes += vote == GIVEN;
    v->no += vote != GIVEN;
    v->told |= 1u << i;
    v->given |= (vote == GIVEN ? 1u : 0u) << i;
}

/* Ends the question to one server, if there is one. A question that came too late is repeated once,
 * because the clock is known now. */
static void hear(ballot_round *q, int i, bool last)
{
    ballot *b = q->ballots[i];
    int64_t vote = 0;
    if (!b)
        return;
    bool open = !b->answered && !dlock_pipeline_withdraw(&b->call);
    dlock_redis_outcome outcome = open          ? DLOCK_REDIS_UNKNOWN
                                  : b->answered ? b->call.outcome
                                                : DLOCK_REDIS_NOT_SENT;
    bool again = false;
    if (outcome == DLOCK_REDIS_UNKNOWN) {
        q->votes.unknown++;
        q->votes.given |= 1u << i;
    } else if (outcome == DLOCK_REDIS_OK &&
               dlock_redis_check(q->lock->client->options.quorum[i], "a vote", b->call.reply,
                                 read_answer(q, i, b->call.reply, &vote))) {
        again = q->acquires && vote == LATE && !b->repeated && !last;
        if (!q->acquires || vote != LATE)
            count(&q->votes, i, vote);
    }
    q->ballots[i] = NULL;
    dlock_pipeline_call_unref(&b->call);
    if (again)
        put(q, i, true);
}

/* Whether any question is still open. Under the mutex, which it releases meanwhile. */
static bool hear_some(ballot_round *q, int len)
{
    bool open = false;
    for (int i = 0; i < len; i++) {
        if (q->ballots[i] && q->ballots[i]->answered) {
            pthread_mutex_unlock(&q->mutex);
            hear(q, i, false);
            pthread_mutex_lock(&q->mutex);
        }
        open = open || q->ballots[i];
    }
    return open;
}

/* Hears the answers as they come, until all are there, or it is decided and the others have had
 * their time. The servers that are left count as silent. */
static void gather(ballot_round *q, int len)
{
    dlock_time start = dlock_now(), until = q->deadline;
    bool decided = false;
    pthread_mutex_lock(&q->mutex);
    while (hear_some(q, len) && !dlock_passed(until)) {
        if (!decided && is_decided(q)) {
            int64_t grace_ms = (dlock_now().us - start.us) / 1000 + LAGGARD_MS;
            until = dlock_sooner(until, dlock_in_ms(grace_ms));
            decided = true;
        }
        bool any = false;
        for (int i = 0; i < len; i++)
            any = any || (q->ballots[i] && q->ballots[i]->answered);
        if (!any)
            dlock_cond_wait(&q->heard, &q->mutex, until);
    }
    for (int i = 0; i < len; i++)
        hear(q, i, true);
    pthread_mutex_unlock(&q->mutex);
}

/* Asks these servers at once. */
static votes ask(ballot_round round, servers whom)
{
    int len = round.lock->client->options.quorum_len;
    ballot_round *q = malloc(sizeof(*q));
    if (!q)
        return (votes){0};
    *q = round;
    atomic_init(&q->refs, 1);
    pthread_mutex_init(&q->mutex, NULL);
    dlock_cond_init(&q->heard);
    for (int i = 0; i < len; i++)
        if (whom >> i & 1)
            put(q, i, false);
    gather(q, len);
    votes result = q->votes;
    unref(q);
    return result;
}

/* Takes the token back from these servers. */
static votes take_back(dlock_lock *lock, const char *token, servers whom, int enough)
{
    return ask((ballot_round){.lock = lock,
                              .token = token,
                              .enough = enough,
                              .deadline = dlock_in_ms(lock->client->options.io_ms)},
               whom);
}

static dlock_status silence(votes v)
{
    return v.unknown > 0 ? DLOCK_UNKNOWN : DLOCK_UNAVAILABLE;
}

/* EXPIRED: a majority did not have it. Otherwise a majority does not have it any more, though some
 * of those may never have given it. */
static dlock_status quorum_release(dlock_lock *lock, const char *token)
{
    int need = majority(lock->client);
    votes v = take_back(lock, token, all_of(lock->client), need);
    if (v.no >= need)
        return DLOCK_EXPIRED;
    return v.yes + v.no >= need ? DLOCK_OK : silence(v);
}

/* OK: every server has answered, and none has it any more. */
static dlock_status quorum_leave(dlock_lock *lock, const char *token)
{
    servers all = all_of(lock->client);
    votes v = take_back(lock, token, all, majority(lock->client));
    return v.told == all ? DLOCK_OK : silence(v);
}

static dlock_status quorum_acquire(dlock_lock *lock, const asker *who, answer *ret)
{
    const dlock_client *client = lock->client;
    *ret = (answer){.asked = dlock_now(), .retry_ms = -1};
    dlock_time end = {ret->asked.us + dlock_grant_validity_us(who->lease_ms)};
    ballot_round q = {.lock = lock,
                      .token = who->token,
                      .lease_ms = who->lease_ms,
                      .acquires = true,
                      .enough = majority(client),
                      .deadline = dlock_sooner(end, dlock_in_ms(client->options.io_ms))};
    votes v = ask(q, all_of(client));
    ret->granted = ret->claimed = v.yes >= majority(client) && !dlock_passed(end);
    if (ret->granted)
        return DLOCK_OK;
    /* Waits for as many answers as there were votes, not for the silent servers. */
    ret->left_over = v.given && (v.given & ~take_back(lock, who->token, v.given, v.yes).told);
    return v.yes + v.no >= majority(client) ? DLOCK_OK : silence(v);
}

/* A server whose clock is not known is asked for its vote with the next renewal. */
static int renew_args(const dlock_lock *lock, const asker *who, int i, dlock_time takes,
                      dlock_args *args)
{
    dlock_args_text(args, dlock_lock_name(lock, 0));
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    dlock_args_int(args, takes.us ? dlock_server_clock_at(&lock->client->of_quorum[i], takes) : 0);
    return 1;
}

static const kind_everywhere everywhere = {quorum_acquire, quorum_release, quorum_leave, renew_args,
                                           read_vote};

const kind dlock_kind_quorum = {.renew = {&renew, NULL}, .everywhere = &everywhere};
