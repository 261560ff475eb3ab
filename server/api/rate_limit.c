/* rate_limit.c - one script a key. The address comes first: it is what somebody who makes up users
 * can not make up. */
#include "server/api/rate_limit.h"

#include <stdio.h>

#include "server/api/rate_limit.lua.h"

static dlock_script take = DLOCK_SCRIPT("limit", "#!lua\n" RATE_LIMIT_LUA);

static int check_key(const fs_limit *limit, const char *kind, const char *who, int64_t rate,
                     dlock_time deadline)
{
    char key[192];
    if (rate == 0)
        return 0;
    snprintf(key, sizeof(key), "fs:rate:%s:{%.128s}", kind, who);
    if (!node_takes_writes(
            store_node(limit->store, key))) /* no item waits for another one's server */
        return 0;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    dlock_args_int(&args, 1000000 / rate);
    dlock_args_int(&args, limit->burst);
    redisReply *reply = store_read_script(limit->store, deadline, &take, 1, &args, store_is_number);
    int64_t wait_us = reply ? reply->integer : 0;
    freeReplyObject(reply);
    return (int)((wait_us + 999999) / 1000000);
}

int limit_check(const fs_limit *limit, const char *user, const char *address, dlock_time deadline)
{
    dlock_time until = dlock_sooner(deadline, dlock_in_ms(LIMIT_MS));
    int wait_s = check_key(limit, "address", address, limit->address_rate, until);
    return wait_s > 0 ? wait_s : check_key(limit, "user", user, limit->user_rate, until);
}
