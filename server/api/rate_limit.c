/* rate_limit.c - see rate_limit.h. */
#include "server/api/rate_limit.h"

#include <stdio.h>

#include "server/api/rate_limit.lua.h"
#include "server/store/outcome.h"

static dlock_script take = DLOCK_SCRIPT("limit", "#!lua\n" RATE_LIMIT_LUA);

static int check_key(const fs_limit *limit, const char *kind, const char *who, int64_t rate)
{
    char key[192];
    if (rate == 0)
        return 0;
    snprintf(key, sizeof(key), "fs:rate:%s:{%.128s}", kind, who);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    dlock_args_int(&args, 1000000 / rate);
    dlock_args_int(&args, limit->burst);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(limit->store->redis, &take, 1, &args, dlock_in_ms(STORE_READ_MS), &reply);
    dlock_args_free(&args);
    int64_t wait_us = 0;
    if (outcome == DLOCK_REDIS_OK)
        wait_us = reply->integer;
    else
        outcome_of_read(limit->store, outcome);
    freeReplyObject(reply);
    return (int)((wait_us + 999999) / 1000000);
}

int limit_check(const fs_limit *limit, const char *user, const char *address)
{
    if (!limit)
        return 0;
    int wait_s = check_key(limit, "address", address, limit->address_rate);
    return wait_s > 0 ? wait_s : check_key(limit, "user", user, limit->user_rate);
}
