/*
 * Kind QUORUM: Redlock. The lock counts as taken when a majority of N independent servers gave it
 * and enough of the lease is left after the last reply.
 *
 * All servers are asked at the same time: send to each, then read whoever answers. Once a majority
 * says the same, the others have as long again as that took: a silent server must not cost each
 * call its whole limit, nor may one that can not be reached use up the time of the others.
 * A server that does not answer counts as a refusal. Whatever the result of a failed try, the
 * token is taken back everywhere, also where no answer came; a waiter that goes without the lock
 * sees to that until every server has answered. Who releases is content with a majority.
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
    DLOCK_SCRIPT("quorum_acquire", "#!lua\n" OWNER_LUA QUORUM_ACQUIRE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("quorum_release", "#!lua flags=allow-oom\n" OWNER_LUA STRING_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("quorum_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA STRING_RENEW_LUA);

#define LAGGARD_MS 20 /* at least, for those who answer after the majority */

/* How many servers gave each reply. */
typedef struct votes {
    int yes;     /* 1 */
    int no;      /* 0 or -1: a definite answer */
    int unknown; /* sent, no reply */
} votes;

static int majority(const dlock_client *client)
{
    return client->options.quorum_len / 2 + 1;
}

/* Ends the question, if it is open. */
static void read_vote(votes *v, dlock_redis_pending **pending, dlock_time deadline)
{
    redisReply *reply;
    dlock_redis_outcome outcome = dlock_redis_eval_finish(*pending, deadline, &reply);
    *pending = NULL;
    if (outcome == DLOCK_REDIS_UNKNOWN)
        v->unknown++;
    else if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_INTEGER)
        *(reply->integer == 1 ? &v->yes : &v->no) += 1;
    if (reply)
        freeReplyObject(reply);
}

/* Reads the answers as they come, until all are there, or one of them has won and the others have
 * had their time. The servers that are left count as silent. */
static void gather(const dlock_client *client, dlock_redis_pending **pending, votes *v,
                   dlock_time deadline)
{
    struct pollfd fds[QUORUM_MAX];
    int servers = client->options.quorum_len, open = 0;
    dlock_time start = dlock_now();
    bool decided = false;
    for (int i = 0; i < servers; i++) {
        fds[i] = (struct pollfd){.fd = dlock_redis_eval_fd(pending[i]), .events = POLLIN};
        open += fds[i].fd >= 0;
    }
    for (int n; open > 0 && (n = poll(fds, (nfds_t)servers, dlock_left_ms(deadline))) != 0;) {
        if (n < 0 && errno != EINTR)
            break;
        for (int i = 0; i < servers; i++) {
            if (n < 0 || fds[i].fd < 0 || !fds[i].revents)
                continue;
            read_vote(v, &pending[i], deadline);
            fds[i].fd = -1;
            open--;
        }
        if (!decided && (v->yes >= majority(client) || v->no >= majority(client))) {
            int64_t grace_ms = (dlock_now().us - start.us) / 1000 + LAGGARD_MS;
            deadline = dlock_sooner(deadline, dlock_in_ms(grace_ms));
            decided = true;
        }
    }
    for (int i = 0; i < servers; i++)
        read_vote(v, &pending[i], dlock_now());
}

/* Asks all servers at once, on a pooled connection each. */
static votes ask_all(dlock_lock *lock, dlock_script *script, const char *token)
{
    dlock_client *client = lock->client;
    dlock_redis_pending *pending[QUORUM_MAX];
    dlock_time deadline = dlock_in_ms(client->options.io_ms);
    votes v = {0};
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, lock->names[0]);
    dlock_args_text(&args, token);
    dlock_args_int(&args, lock->options.lease_ms);
    int servers = client->options.quorum_len;
    for (int i = 0; i < servers; i++) {
        dlock_time start_by = dlock_in_ms(client->options.io_ms / (2 * servers) + 1);
        pending[i] = dlock_redis_eval_start(client->options.quorum[i], script, 1, &args, start_by);
    }
    gather(client, pending, &v, deadline);
    dlock_args_free(&args);
    return v;
}

static dlock_status by_majority(const dlock_lock *lock, votes v)
{
    int need = majority(lock->client);
    if (v.yes >= need)
        return DLOCK_OK;
    if (v.yes + v.no >= need)
        return DLOCK_EXPIRED;
    return v.unknown > 0 ? DLOCK_UNKNOWN : DLOCK_UNAVAILABLE;
}

static dlock_status quorum_release(dlock_lock *lock, const char *token)
{
    return by_majority(lock, ask_all(lock, &release, token));
}

static dlock_status quorum_leave(dlock_lock *lock, const char *token)
{
    votes v = ask_all(lock, &release, token);
    bool all = v.yes + v.no == lock->client->options.quorum_len;
    return all ? by_majority(lock, v) : v.unknown > 0 ? DLOCK_UNKNOWN : DLOCK_UNAVAILABLE;
}

static dlock_status quorum_try(dlock_lock *lock, const char *token, entry_mode entry, answer *ret)
{
    (void)entry; /* nothing queues */
    *ret = (answer){.asked = dlock_now(), .retry_ms = -1};
    votes v = ask_all(lock, &acquire, token);
    int64_t left_us =
        ret->asked.us + dlock_grant_validity_us(lock->options.lease_ms) - dlock_now().us;
    ret->granted = ret->claimed = v.yes >= majority(lock->client) && left_us > 0;
    if (ret->granted)
        return DLOCK_OK;
    if (v.yes > 0 || v.unknown > 0)
        ret->left_over = dlock_status_open(quorum_leave(lock, token));
    if (v.yes + v.no >= majority(lock->client))
        return DLOCK_OK;
    return v.unknown > 0 ? DLOCK_UNKNOWN : DLOCK_UNAVAILABLE;
}

static int quorum_renew_args(dlock_lock *lock, const char *token, dlock_args *args)
{
    dlock_args_text(args, lock->names[0]);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    dlock_args_int(args, 1); /* one name, no fence counter */
    return 1;
}

const kind dlock_kind_quorum = {
    .everywhere = true,
    .try = quorum_try,
    .release = quorum_release,
    .leave = quorum_leave,
    .renew_script = &renew,
    .renew_args = quorum_renew_args,
};
