/* Asking Redis from the lock core: outcomes become statuses. */
#include "core/internal.h"

dlock_status dlock_status_of(dlock_redis_outcome outcome)
{
    switch (outcome) {
    case DLOCK_REDIS_OK:
        return DLOCK_OK;
    case DLOCK_REDIS_NOT_SENT:
    case DLOCK_REDIS_REFUSED:
        return DLOCK_UNAVAILABLE;
    case DLOCK_REDIS_ERROR:
        return DLOCK_FAILED;
    case DLOCK_REDIS_UNKNOWN:
        break;
    }
    return DLOCK_UNKNOWN;
}

dlock_status dlock_script_call(dlock_client *client, dlock_redis *redis, dlock_script *script,
                               int keys, const dlock_args *args, redisReply **ret)
{
    dlock_time deadline = dlock_in_ms(client->options.io_ms);
    dlock_status status =
        dlock_status_of(dlock_redis_eval(redis, script, keys, args, deadline, ret));
    if (status != DLOCK_OK && *ret) {
        freeReplyObject(*ret);
        *ret = NULL;
    }
    return status;
}
