/* What the kinds with a queue in Redis have in common on this side. */
#include "kinds/queue.h"

#include <stdio.h>

#include "core/client.h"
#include "core/engine.h"

int64_t dlock_queue_next_beat(const dlock_lock *lock, int64_t end_ms)
{
    int64_t recheck_ms = lock->client->options.recheck_ms;
    return end_ms >= 0 && end_ms < recheck_ms ? end_ms + 1 : recheck_ms;
}

void dlock_queue_decline(dlock_lock *lock, const kind_call *decline, const char *token)
{
    dlock_engine_tell(dlock_engine_of(lock->client), lock, decline, token);
}

void dlock_queue_channel(const dlock_lock *lock, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s%s", lock->ids[0].keys[KEY_WAKE], lock->client->id);
}
