/*
 * watchdog - SET NX and a renewing task a lock, timed as article 000 times it: the first renewal
 * after a tenth of the lease (1 s of 10), then one every half (5 s), each adding a whole lease to
 * what is left. So the time to live grows and grows: a holder that dies late leaves a lock that
 * nobody gets for a long while. That is the article's, and why it lives here and not in the
 * library.
 *
 * The article keeps a registry from client id to task; here the task is part of the buyer's own
 * frame, and gone with it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "server/selling/timed_section.h"
#include "server/store/command.h"
#include "server/store/outcome.h"
#include "server/strategies/watchdog_release.lua.h"
#include "server/strategies/watchdog_renew.lua.h"

#define POLL_MS        10
#define IO_MS          1000
#define LAST_RESORT_MS "30000" /* set when a renewal failed, as the article does */

static dlock_script renew =
    DLOCK_SCRIPT("watchdog_renew", "#!lua flags=allow-oom\n" WATCHDOG_RENEW_LUA);
static dlock_script release =
    DLOCK_SCRIPT("watchdog_release", "#!lua flags=allow-oom\n" WATCHDOG_RELEASE_LUA);

static _Atomic uint64_t tokens; /* so far: no two of them are the same */

/* One buyer's lock while it has it. */
typedef struct watched {
    const fs_timed *sale;
    char token[192];
    wheel_timer timer;
} watched;

/* ---- the lock -------------------------------------------------------------------------------- */

/* SET NX PX until it succeeds or the wait is over. False: answered. */
static bool lock_take(watched *mine, const buy_request *request, buy_result *result)
{
    const sale_terms *terms = mine->sale->terms;
    dlock_time until = dlock_sooner(dlock_in_ms(terms->wait_ms), request->deadline);
    for (;;) {
        redisReply *reply = NULL;
        dlock_redis_outcome outcome = asking(
            terms->store, store_read_deadline(request->deadline), &reply,
            ASKING("SET", terms->shelves->lock, mine->token, "NX", "PX", mine->sale->lease_ms));
        bool taken = outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
        if (taken)
            return true;
        if (outcome != DLOCK_REDIS_OK || dlock_passed(until)) {
            buy_answer(result, outcome != DLOCK_REDIS_OK ? outcome_of_read(terms->store, outcome)
                                                         : BUY_BUSY);
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

static void lock_release(watched *mine)
{
    const sale_terms *terms = mine->sale->terms;
    dlock_redis_outcome outcome = asking_script(terms->store, dlock_in_ms(IO_MS), NULL, &release,
                                                terms->shelves->lock, ASKING(mine->token));
    if (outcome != DLOCK_REDIS_OK)
        outcome_of_read(terms->store, outcome); /* logged; the lease will end it */
}

/* The task: every half lease, until the lock is not ours any more. */
static int64_t lock_renew(void *arg)
{
    watched *mine = arg;
    const sale_terms *terms = mine->sale->terms;
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        asking_script(terms->store, dlock_in_ms(IO_MS), &reply, &renew, terms->shelves->lock,
                      ASKING(mine->token, mine->sale->lease_ms));
    bool ours = outcome == DLOCK_REDIS_OK && reply->integer == 1;
    freeReplyObject(reply);
    if (outcome != DLOCK_REDIS_OK) {
        outcome = asking(terms->store, dlock_in_ms(IO_MS), NULL,
                         ASKING("PEXPIRE", terms->shelves->lock, LAST_RESORT_MS));
        ours = outcome == DLOCK_REDIS_OK;
    }
    return ours ? terms->lease_ms / 2 : -1;
}

/* ---- the strategy ---------------------------------------------------------------------------- */

static void watchdog_buy(void *state, const buy_request *request, buy_result *result)
{
    const fs_timed *sale = state;
    watched mine = {.sale = sale};
    snprintf(mine.token, sizeof(mine.token), "%s:%" PRIu64,
             dlock_client_id(sale->terms->store->locks), atomic_fetch_add(&tokens, 1));
    if (!lock_take(&mine, request, result))
        return;
    wheel_start(sale->wheel, &mine.timer, sale->terms->lease_ms / 10, lock_renew, &mine);
    read_then_write(sale->terms, request, (fs_section){.locked = true}, result);
    wheel_stop(sale->wheel, &mine.timer);
    lock_release(&mine);
}

const fs_strategy strategy_watchdog = {
    .name = "watchdog",
    .summary = "SET NX; a task renews it by what is left plus a lease",
    .source = "article 000",
    .weakness = "the lock of a holder that died late stays for long; a stopped one still writes",
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 10000,
    .open = timed_open,
    .buy = watchdog_buy,
    .close = timed_close,
};
