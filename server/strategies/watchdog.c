/*
 * watchdog - SET NX, and one renewing task per lock with the timing of article 000: the first
 * renewal after a tenth of the lease (1 s of 10), then one every half (5 s). Each renewal adds a
 * whole lease to the time that is left, so the time to live keeps growing. If a holder dies late,
 * its lock blocks all others for a long time. This flaw is the article's; so the code is here and
 * not in the library.
 */
#include <string.h>

#include "server/selling/timed_section.h"
#include "server/strategies/watchdog_release.lua.h"
#include "server/strategies/watchdog_renew.lua.h"

#define LAST_RESORT_MS "30000" /* set when a renewal failed, as the article does */

static dlock_script renewal = TIMED_SCRIPT("watchdog_renew", WATCHDOG_RENEW_LUA);
static dlock_script deletion = TIMED_SCRIPT("watchdog_release", WATCHDOG_RELEASE_LUA);

static timed_try try(timed_hold *hold)
{
    const char *key = hold->sale->keys->lock;
    char answer[24];
    if (!timed_ask(hold, WORDS("SET", key, hold->value, "NX", "PX", hold->lease_ms), answer))
        return TRY_FAILED;
    return strcmp(answer, "OK") == 0 ? TRY_TAKEN : TRY_HELD;
}

static bool renew(timed_hold *hold)
{
    const char *key = hold->sale->keys->lock;
    char answer[24];
    int renewed = timed_script(hold, &renewal, WORDS(hold->value, hold->lease_ms));
    if (renewed >= 0)
        return renewed == 1;
    hold->deadline = dlock_in_ms(TIMED_IO_MS);
    return timed_ask(hold, WORDS("PEXPIRE", key, LAST_RESORT_MS), answer);
}

static void release(timed_hold *hold)
{
    timed_script(hold, &deletion, WORDS(hold->value)); /* if this fails, the lease ends the lock */
}

const fs_strategy strategy_watchdog = {
    .name = "watchdog",
    .summary = "SET NX; a task renews it by what is left plus a lease",
    .source = "article 000",
    .weakness = "the lock of a holder that dies late blocks others for long; "
                "oversells when a holder stops or a write comes late",
    .place = 3,
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 10000,
    .timed = &(const timed_lock){.tenths = {1, 5}, .try = try, .renew = renew, .release = release},
    .buy = timed_section_buy,
};
