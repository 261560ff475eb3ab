/* What a question to Redis came to, as a status. */
#ifndef DLOCK_CORE_STATUS_H
#define DLOCK_CORE_STATUS_H

#include "dlock.h"

/* The status that an outcome of the connection stands for. */
dlock_status dlock_status_of(dlock_redis_outcome outcome);

/* Whether it leaves open what Redis did, or will do: UNAVAILABLE and UNKNOWN. */
bool dlock_status_open(dlock_status status);

/* Runs a script within the client's io_ms and, where `replicas` is not 0, waits until so many have
 * its writes. *ret is the reply with DLOCK_OK, NULL otherwise. */
dlock_status dlock_script_call(const dlock_client *client, dlock_redis *redis, dlock_script *script,
                               int keys, const dlock_args *args, int replicas, redisReply **ret);

#endif
