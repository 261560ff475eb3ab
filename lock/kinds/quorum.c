/*
 * Kind QUORUM: Redlock. The lock counts as taken when a majority of N independent servers gave it
 * and enough of the lease is left after the last reply.
 *
 * All servers are asked at the same time: send to each, then read whoever answers. Once it is
 * decided, the others have as long again as that took: a silent server must not cost each call its
 * whole limit, nor may one that can not be reached use up the time of the others.
 * A server that does not answer counts as a refusal. Whatever the result of a failed try, the
 * token is taken back from all that gave their vote, or may have; a waiter that goes without the
 * lock sees to that until every server has answered. Who releases is content with a majority.
 *
 * A vote must not come after its time. Ours ends with the validity, counted from before the first
 * server was asked: what is read later lengthens nothing. The server's ends with the moment that
 * the question carries, by that server's own clock: what arrives after it is refused. A server
 * whose clock is not known is first asked with a moment that is long past: its refusal tells the
 * time, and the question is repeated. So no vote is given when nobody counts it any more, but one
 * that arrives before its moment and after the release: that server is lost to the lock for one
 * lease, as one that has crashed.
 *
 * What it can not do: a server that comes back empty within the lease of a lock that it has given,
 * or whose clock jumps ahead by as much, gives it once more, and its vote may make a second
 * majority. Such a server must stay away for one lease before it is started again, or sync its
 * votes to disk (appendfsync always).
 *
 * No fence: each server has a counter of its own, and their maximum over changing majorities does
 * not rise strictly. For the same reason there is no guard.
 *
 * Source: "Distributed Locks with Redis", the Redlock algorithm, in the Redis documentation.
 */
#include <errno.h>
#include <poll.h>

#include "core/client.h"
#include "core/grant.h"
#include "core/status.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"

#include "kinds/quorum_acquire.lua.h"
#include "kinds/string_release.lua.h"
#include "kinds/string_renew.lua.h"

static dlock_script acquire =
    DLOCK_SCRIPT("quorum_acquire", "#!lua\n" OWNER_LUA FENCE_LUA QUORUM_ACQUIRE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("quorum_release", "#!lua flags=allow-oom\n" OWNER_LUA STRING_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("quorum_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA STRING_RENEW_LUA);

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

typedef struct question {
    dlock_lock *lock;
    const char *token;
    bool acquires; /* else it releases */
    int enough;    /* so many yes decide; of a release, answers */
    dlock_time deadline;
    votes votes;
    struct ballot {
        dlock_redis_pending *pending; /* NULL: nothing is open */
        dlock_args args;
        dlock_time asked;
        bool repeated;
    } ballots[QUORUM_MAX];
} question;

static int majority(const dlock_client *client)
{
    return client->options.quorum_len / 2 + 1;
}

static servers all_of(const dlock_client *client)
{
    return (1u << client->options.quorum_len) - 1;
}

static bool is_decided(const question *q)
{
    const votes *v = &q->votes;
    int most = q->lock->client->options.quorum_len;
    return q->acquires ? v->yes >= q->enough || v->no > most - q->enough
                       : v->yes + v->no >= q->enough;
}

/* Puts the question to one server, on a pooled connection. */
static void put(question *q, int i)
{
    dlock_client *client = q->lock->client;
    struct ballot *b = &q->ballots[i];
    b->asked = dlock_now();
    dlock_args_clear(&b->args);
    dlock_args_text(&b->args, q->lock->names[0]);
    dlock_args_text(&b->args, q->token);
    if (q->acquires) {
        int64_t not_after = dlock_server_clock_at(&client->of_quorum[i], q->deadline);
        dlock_args_int(&b->args, q->lock->options.lease_ms);
        dlock_args_int(&b->args, not_after ? not_after : LONG_AGO);
    }
    dlock_time start_by = dlock_in_ms(client->options.io_ms / (2 * client->options.quorum_len) + 1);
    b->pending =
        dlock_redis_eval_start(client->options.quorum[i], q->acquires ? &acquire : &release, 1,
                               &b->args, dlock_sooner(start_by, q->deadline));
}

/* An acquire's reply also tells the server's clock. False: a reply of another shape. */
static bool read_vote(question *q, int i, const redisReply *reply, int64_t *ret)
{
    const redisReply *vote = reply;
    if (q->acquires) {
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[1]->type != REDIS_REPLY_INTEGER)
            return false;
        dlock_server_clock_learn(&q->lock->client->of_quorum[i], reply->element[1]->integer,
                                 q->ballots[i].asked);
        vote = reply->element[0];
    }
    *ret = vote->integer;
    return vote->type == REDIS_REPLY_INTEGER;
}

static void count(votes *v, int i, int64_t vote)
{
    v->yes += vote == GIVEN;
    v->no += vote != GIVEN;
    v->told |= 1u << i;
    v->given |= (vote == GIVEN ? 1u : 0u) << i;
}

/* Ends the question to one server, if it is open; or repeats it, once, where it came too late: the
 * clock is known now. */
static void hear(question *q, int i, dlock_time deadline)
{
    struct ballot *b = &q->ballots[i];
    redisReply *reply;
    int64_t vote = 0;
    dlock_redis_outcome outcome = dlock_redis_eval_finish(b->pending, deadline, &reply);
    b->pending = NULL;
    if (outcome == DLOCK_REDIS_UNKNOWN) {
        q->votes.unknown++;
        q->votes.given |= 1u << i;
    } else if (outcome == DLOCK_REDIS_OK &&
               dlock_redis_check(q->lock->client->options.quorum[i], "a vote", reply,
                                 read_vote(q, i, reply, &vote))) {
        if (q->acquires && vote == LATE && !b->repeated) {
            b->repeated = true;
            put(q, i);
        } else if (!q->acquires || vote != LATE) {
            count(&q->votes, i, vote);
        }
    }
    if (reply)
        freeReplyObject(reply);
}

/* Whoever has something to read. How many questions are open then. */
static int hear_some(question *q, struct pollfd *fds, int len)
{
    int open = 0;
    for (int i = 0; i < len; i++) {
        if (fds[i].fd >= 0 && fds[i].revents) {
            hear(q, i, q->deadline);
            fds[i].fd = dlock_redis_eval_fd(q->ballots[i].pending);
        }
        open += fds[i].fd >= 0;
    }
    return open;
}

/* Reads the answers as they come, until all are there, or it is decided and the others have had
 * their time. The servers that are left count as silent. */
static void gather(question *q)
{
    struct pollfd fds[QUORUM_MAX];
    int len = q->lock->client->options.quorum_len, open = 0;
    dlock_time start = dlock_now(), until = q->deadline;
    bool decided = false;
    for (int i = 0; i < len; i++) {
        fds[i] =
            (struct pollfd){.fd = dlock_redis_eval_fd(q->ballots[i].pending), .events = POLLIN};
        open += fds[i].fd >= 0;
    }
    while (open > 0) {
        if (!decided && is_decided(q)) {
            int64_t grace_ms = (dlock_now().us - start.us) / 1000 + LAGGARD_MS;
            until = dlock_sooner(until, dlock_in_ms(grace_ms));
            decided = true;
        }
        int n = poll(fds, (nfds_t)len, dlock_left_ms(until));
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n > 0)
            open = hear_some(q, fds, len);
    }
    for (int i = 0; i < len; i++) {
        q->ballots[i].repeated = true;
        hear(q, i, dlock_now());
    }
}

/* Asks these servers at once. */
static votes ask(question *q, servers whom)
{
    int len = q->lock->client->options.quorum_len;
    for (int i = 0; i < len; i++) {
        dlock_args_init(&q->ballots[i].args);
        if (whom >> i & 1)
            put(q, i);
    }
    gather(q);
    for (int i = 0; i < len; i++)
        dlock_args_free(&q->ballots[i].args);
    return q->votes;
}

/* Takes the token back from these servers. */
static votes take_back(dlock_lock *lock, const char *token, servers whom, int enough)
{
    question q = {.lock = lock,
                  .token = token,
                  .enough = enough,
                  .deadline = dlock_in_ms(lock->client->options.io_ms)};
    return ask(&q, whom);
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

static dlock_status quorum_acquire(dlock_lock *lock, const char *token, answer *ret)
{
    const dlock_client *client = lock->client;
    *ret = (answer){.asked = dlock_now(), .retry_ms = -1};
    dlock_time end = {ret->asked.us + dlock_grant_validity_us(lock->options.lease_ms)};
    question q = {.lock = lock,
                  .token = token,
                  .acquires = true,
                  .enough = majority(client),
                  .deadline = dlock_sooner(end, dlock_in_ms(client->options.io_ms))};
    votes v = ask(&q, all_of(client));
    ret->granted = ret->claimed = v.yes >= majority(client) && !dlock_passed(end);
    if (ret->granted)
        return DLOCK_OK;
    /* Those that answered will do so again; for the others there is no waiting. */
    ret->left_over = v.given && (v.given & ~take_back(lock, token, v.given, v.yes).told);
    return v.yes + v.no >= majority(client) ? DLOCK_OK : silence(v);
}

static int renew_args(const dlock_lock *lock, const char *token, entry_mode entry, dlock_args *args)
{
    (void)entry;
    dlock_args_text(args, lock->names[0]);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    dlock_args_int(args, 1); /* one name, no fence counter */
    return 1;
}

static const kind_everywhere everywhere = {quorum_acquire, quorum_release, quorum_leave};

const kind dlock_kind_quorum = {.renew = {&renew, renew_args}, .everywhere = &everywhere};
