/* Statuses: in words, from an outcome of the connection, and as the end of a script call. */
#include "core/status.h"

#include "core/client.h"

const char *dlock_status_text(dlock_status status)
{
    static const char *const texts[] = {
        [DLOCK_OK] = "ok",
        [DLOCK_BUSY] = "held by another",
        [DLOCK_CANCELLED] = "cancelled",
        [DLOCK_EXPIRED] = "its time was over",
        [DLOCK_NOT_OWNER] = "not the owner",
        [DLOCK_STALE] = "stale: not the owner, or a later fence was issued",
        [DLOCK_UNAVAILABLE] = "Redis could not be asked",
        [DLOCK_UNKNOWN] = "unknown: asked, but no reply",
        [DLOCK_FAILED] = "Redis answered with an error",
        [DLOCK_INVALID] = "bad argument",
        [DLOCK_NO_MEMORY] = "out of memory or descriptors",
        [DLOCK_FORKED] = "called in a forked child",
        [DLOCK_PENDING] = "not decided as yet",
    };
    size_t i = (size_t)status;
    return i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : "no such status";
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
                               int keys, const dlock_args *args, int replicas, redisReply **ret)
{
    dlock_time deadline = dlock_in_ms(client->options.io_ms);
    dlock_status status =
        dlock_status_of(dlock_redis_eval_wait(redis, script, keys, args, replicas, deadline, ret));
    if (status != DLOCK_OK && *ret) {
        freeReplyObject(*ret);
        *ret = NULL;
    }
    return status;
}
