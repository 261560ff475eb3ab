/*
 * What the kinds with a queue in Redis share in this process: the channel on which it hears of
 * grants, its heartbeat, and the treatment of a wake-up that is too late.
 */
#ifndef DLOCK_KINDS_QUEUE_H
#define DLOCK_KINDS_QUEUE_H

#include "core/lock.h"

/* A kind's channel(): one per process. All its locks of one name share it. */
void dlock_queue_channel(const dlock_lock *lock, char *ret, size_t ret_len);

/* In how many ms the next heartbeat is due: a re-check later, or as soon as the lock may be free,
 * in `end_ms`; -1: not known. */
int64_t dlock_queue_next_beat(const dlock_lock *lock, int64_t end_ms);

/* A wake-up for a waiter that does not wait any more: a heartbeat that crossed its leaving has put
 * its entry back. Hands the grant on at once, unless it was taken up. Does not wait for Redis. */
void dlock_queue_decline(dlock_lock *lock, const kind_call *decline, const char *token);

#endif
