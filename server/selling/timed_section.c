/*
 * timed_section.c - acquires the lock, starts its timer, sells, stops the timer, releases the lock.
 *
 * The articles keep a registry of renewing tasks by owner; here the task is in the buyer's stack
 * frame, and ends with it.
 */
#include "server/selling/timed_section.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/selling/read_then_write.h"

#define POLL_MS 10

static _Atomic uint64_t tokens; /* so far: no two of them are the same */

/* ---- for the steps --------------------------------------------------------------------------- */

bool timed_ask(const timed_hold *hold, const char *const *words, char ret[24])
{
    redisReply *reply = store_read(hold->sale->store, hold->deadline, words);
    bool answered = reply;
    ret[0] = '\0';
    if (answered && reply->type == REDIS_REPLY_INTEGER)
        snprintf(ret, 24, "%lld", reply->integer);
    else if (answered && reply->str)
        snprintf(ret, 24, "%s", reply->str);
    freeReplyObject(reply);
    return answered;
}

int timed_script(const timed_hold *hold, dlock_script *script, const char *const *arguments)
{
    fs_store *store = hold->sale->store;
    dlock_args args = store_words(WORDS(hold->sale->keys->lock));
    store_put(&args, arguments);
    redisReply *reply = store_eval(store->redis, script, 1, &args, hold->deadline, store_is_number);
    int number = reply ? (int)reply->integer : -1;
    freeReplyObject(reply);
    if (number < 0)
        store_log_failure(store, script->name, "not answered");
    return number;
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* Tries until the lock is acquired or the wait is over. False: answered. */
static bool take(timed_hold *hold, const purchase *request, purchase_result *result)
{
    const open_sale *sale = hold->sale;
    dlock_time until = dlock_sooner(dlock_in_ms(sale->terms.wait_ms), request->deadline);
    for (;;) {
        hold->deadline = store_read_deadline(request->deadline);
        timed_try attempt = sale->strategy->timed->try(hold);
        if (attempt == TRY_TAKEN)
            return true;
        if (attempt == TRY_FAILED || dlock_passed(until)) {
            purchase_answer(result, attempt == TRY_FAILED ? BUY_UNAVAILABLE : BUY_BUSY);
            return false;
        }
        dlock_sleep(dlock_in_ms(POLL_MS));
    }
}

/* The timer's task: renews, and says when it is due again. */
static int64_t renew(void *arg)
{
    timed_hold *hold = arg;
    const timed_lock *lock = hold->sale->strategy->timed;
    hold->deadline = dlock_in_ms(TIMED_IO_MS);
    if (!lock->renew(hold)) {
        atomic_store(&hold->lost, true);
        return -1;
    }
    bool more = lock->renewals_most == 0 || ++hold->renewals < lock->renewals_most;
    return more ? hold->sale->terms.lease_ms * lock->tenths[1] / 10 : -1;
}

void timed_section_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result)
{
    (void)state;
    const timed_lock *lock = sale->strategy->timed;
    timed_hold hold = {.sale = sale};
    snprintf(hold.lease_ms, sizeof(hold.lease_ms), "%" PRId64, sale->terms.lease_ms);
    snprintf(hold.value, sizeof(hold.value), "%s:%" PRIu64, dlock_client_id(sale->store->locks),
             atomic_fetch_add(&tokens, 1));
    if (!take(&hold, request, result))
        return;
    if (wheel_start(&hold.timer, sale->terms.lease_ms * lock->tenths[0] / 10, renew, &hold)) {
        fs_section section = {.locked = true, .cancelled = lock->loss_cancels ? &hold.lost : NULL};
        read_then_write(sale, request, section, result);
        wheel_stop(&hold.timer);
    } else {
        purchase_answer(result, BUY_UNAVAILABLE);
    }
    hold.deadline = dlock_in_ms(TIMED_IO_MS);
    lock->release(&hold);
}
