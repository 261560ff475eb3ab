/*
 * Kinds READ and WRITE: the two sides of a read/write lock, in the protocol of shares.c; and the
 * downgrade from one to the other.
 *
 * A downgrade exchanges the writer's token for a reader's in one script. If there is no answer,
 * each of them may be left in Redis, or the exchange may still come. Then both are released, the
 * writer's token first: without it a late exchange does nothing. A guarded script that comes late
 * does not find the writer's token either.
 */
#include "shares/shares.h"

#include <stdlib.h>

#include "core/acquire.h"
#include "core/ask.h"
#include "core/attempt.h"
#include "core/client.h"
#include "core/release.h"
#include "core/retried_release.h"
#include "kinds/fence.lua.h"
#include "kinds/queue.lua.h"
#include "shares/rw_downgrade.lua.h"
#include "shares/shares.lua.h"

const kind dlock_kind_read = {.family = FAMILY_RW, DLOCK_SHARES_KIND};
const kind dlock_kind_write = {.family = FAMILY_RW, DLOCK_SHARES_KIND, .token_end = "*w"};

static dlock_script downgrade = DLOCK_SCRIPT(
    "rw_downgrade", "#!lua flags=allow-oom\n" FENCE_LUA QUEUE_LUA SHARES_LUA RW_DOWNGRADE_LUA);

/* OK: the reader's token is in, as `ret` says. EXPIRED, NOT_OWNER: the writer's was not; and else
 * as dlock_ask_acquire(), whose reasons for a second try are these too. */
static dlock_status ask_exchange(dlock_lock *read, const char *writer, const waiter *reader,
                                 answer *ret)
{
    dlock_client *client = read->client;
    dlock_status status = DLOCK_UNAVAILABLE;
    for (int tries = 0; tries < 2 && status == DLOCK_UNAVAILABLE; tries++) {
        redisReply *reply = NULL;
        dlock_args args = {0};
        dlock_time asked = dlock_now();
        int keys = dlock_shares_keys(read, &args);
        dlock_args_text(&args, writer);
        dlock_args_text(&args, reader->token);
        dlock_args_int(&args, reader->lease_ms);
        dlock_args_int(&args, dlock_lock_claim_ms(read));
        dlock_ask_add_limit(read, asked, &args);
        status = dlock_ask_script(client, client->options.redis, &downgrade, keys, &args,
                                  read->options.wait_replicas, &reply);
        if (status != DLOCK_OK)
            break;
        status = dlock_ask_read_acquired(read, reader->lease_ms, asked, reply, ret);
        freeReplyObject(reply);
    }
    if (status == DLOCK_OK && !ret->granted)
        status = ret->retry_ms > 0 ? DLOCK_NOT_OWNER : DLOCK_EXPIRED;
    return status;
}

static bool other_side(const dlock_lock *write, const dlock_lock *read)
{
    return read->options.kind == DLOCK_READ && read->client == write->client &&
           dlock_identity_same(&read->ids[0], &write->ids[0]);
}

/* The write grant is given back already as far as this process is concerned. */
static dlock_status exchange(grant_release *r, dlock_lock *read, grant **ret)
{
    answer a;
    waiter w = {0};
    grant *write = r->grant;
    dlock_acquire_waiter(read, &(dlock_wait){0}, &w);
    dlock_status status = ask_exchange(read, write->token, &w, &a);
    if (status == DLOCK_OK) {
        a.fence = write->fence;
        *ret = dlock_attempt_grant(read, &w, &a);
        if (!*ret)
            status = DLOCK_NO_MEMORY;
    }
    if (dlock_status_open(status) || status == DLOCK_FAILED || status == DLOCK_NO_MEMORY)
        dlock_retried_releases_add(read, w.token, w.lease_ms);
    if (status == DLOCK_FAILED)
        dlock_retried_releases_add(write->lock, write->token, write->lease_ms);
    dlock_status ended = dlock_release_end(r, status == DLOCK_NO_MEMORY ? DLOCK_OK : status);
    return status == DLOCK_NO_MEMORY ? status : ended;
}

/* There is nothing to exchange, or nothing to exchange it for: what is left is given back. */
static dlock_status give_back(grant_release *r)
{
    dlock_status status = r->status;
    if (r->grant)
        status = dlock_release_end(r, dlock_ask_release(r->grant->lock, r->grant->token));
    return status == DLOCK_OK ? DLOCK_EXPIRED : status;
}

dlock_status dlock_downgrade(dlock_hold *hold, dlock_lock *read, dlock_hold **ret)
{
    if (dlock_client_forked(hold->lock->client))
        return DLOCK_FORKED;
    if (hold->lock->options.kind != DLOCK_WRITE || !other_side(hold->lock, read))
        return DLOCK_INVALID;
    grant_release r;
    uint64_t context = hold->context;
    bool of_thread = hold->of_thread;
    if (!dlock_release_begin_exchange(hold, &r))
        return DLOCK_INVALID;
    dlock_hold *reads = dlock_acquire_hold(read, context, of_thread);
    if (!reads) {
        give_back(&r);
        return DLOCK_NO_MEMORY;
    }
    dlock_status status = r.grant && r.was_ours ? exchange(&r, read, &reads->grant) : give_back(&r);
    if (status != DLOCK_OK) {
        free(reads);
        return status;
    }
    dlock_acquire_has(reads);
    *ret = reads;
    return DLOCK_OK;
}
