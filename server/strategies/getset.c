/*
 * getset - SETNX of an expiry time; once that has passed, GETSET takes the lock over. (Article
 * 004.)
 *
 * A buyer that reads an expired value, by Redis's clock, replaces it with GETSET. It holds the lock
 * if GETSET returns the value that it had read. Timers extend the lock at n x lease x 9/10, three
 * times at most; a failed extension cancels the sale. A defect of the article is kept: of two
 * GETSETs the loser overwrites the winner's value, so the winner can neither extend nor release.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/selling/timed_section.h"
#include "server/strategies/getset_renew.lua.h"

static dlock_script renewal = TIMED_SCRIPT("getset_renew", GETSET_RENEW_LUA);

static timed_try try(timed_hold *hold)
{
    const char *key = hold->sale->keys->lock;
    char answer[24], seen[24];
    int64_t now;
    if (!store_time(hold->sale->store, key, hold->deadline, &now))
        return TRY_FAILED;
    snprintf(hold->value, 24, "%lld", (long long)now + hold->sale->terms.lease_ms * 1000);
    if (!timed_ask(hold, WORDS("SETNX", key, hold->value), answer))
        return TRY_FAILED;
    if (strcmp(answer, "1") != 0) {
        if (!timed_ask(hold, WORDS("GET", key), seen))
            return TRY_FAILED;
        if (seen[0] == '\0' || strtoll(seen, NULL, 10) > now)
            return TRY_HELD;
        if (!timed_ask(hold, WORDS("GETSET", key, hold->value), answer))
            return TRY_FAILED;
        if (strcmp(answer, seen) != 0) /* another buyer was faster; our value is in its lock */
            return TRY_HELD;
    }
    return timed_ask(hold, WORDS("PEXPIRE", key, hold->lease_ms), seen) ? TRY_TAKEN : TRY_FAILED;
}

static bool renew(timed_hold *hold)
{
    char later[24];
    long long lease_us = hold->sale->terms.lease_ms * 1000;
    snprintf(later, sizeof(later), "%lld", strtoll(hold->value, NULL, 10) + lease_us);
    if (timed_script(hold, &renewal, WORDS(hold->value, later, hold->lease_ms)) != 1)
        return false;
    memcpy(hold->value, later, sizeof(later));
    return true;
}

static void release(timed_hold *hold)
{
    const char *key = hold->sale->keys->lock;
    char seen[24];
    if (timed_ask(hold, WORDS("GET", key), seen) && strcmp(seen, hold->value) == 0)
        timed_ask(hold, WORDS("DEL", key), seen);
}

const fs_strategy strategy_getset = {
    .name = "getset",
    .summary = "SETNX of an expiry time, GETSET once it has passed; extended on a timer wheel",
    .source = "article 004",
    .weakness = "the loser of a race overwrites the winner's value; renewed three times at most; "
                "oversells when a holder stops or a write comes late",
    .place = 4,
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .timed = &(const timed_lock){.tenths = {9, 9},
                                 .renewals_most = 3,
                                 .loss_cancels = true,
                                 .try = try,
                                 .renew = renew,
                                 .release = release},
    .buy = timed_section_buy,
};
