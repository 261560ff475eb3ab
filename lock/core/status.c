/* Statuses: in words, from an outcome of the connection, and as the end of a script call. */
#include "core/status.h"

#include "core/client.h"

const char *dlock_status_text(dlock_status status)
{
    switch (status) {
    case DLOCK_OK:
        return "ok";
    case DLOCK_BUSY:
        return "held by another";
    case DLOCK_CANCELLED:
        return "cancelled";
    case DLOCK_EXPIRED:
        return "its time was over";
    case DLOCK_NOT_OWNER:
        return "not the owner";
    case DLOCK_STALE:
        return "stale: not the owner, or a later fence was issued";
    case DLOCK_UNAVAILABLE:
        return "Redis could not be asked";
    case DLOCK_UNKNOWN:
        return "unknown: asked, but no reply";
    case DLOCK_FAILED:
        return "Redis answered with an error";
    case DLOCK_INVALID:
        return "bad argument";
    case DLOCK_NO_MEMORY:
        return "out of memory";
    case DLOCK_FORKED:
        return "called in a forked child";
    }
    return "no such status";
}

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

bool dlock_status_open(dlock_status status)
{
    return status == DLOCK_UNAVAILABLE || status == DLOCK_UNKNOWN;
}

dlock_status dlock_script_call(const dlock_client *client, dlock_redis *redis, dlock_script *script,
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
