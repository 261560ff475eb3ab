/*
 * What the kinds with a queue in Redis have in common on this side: the channel on which a process
 * is told of grants, its heartbeat, and what comes of a wake-up that is too late.
 */
#ifndef DLOCK_KINDS_QUEUE_H
#define DLOCK_KINDS_QUEUE_H

#include "core/lock.h"

/* A kind's channel(): the process's. All its locks of one name have it in common. */
void dlock_queue_channel(const dlock_lock *lock, char *ret, size_t ret_len);

/* In how many ms the next heartbeat is due: a re-check later, or as soon as the lock may be free,
 * in `end_ms`; -1: not known. */
int64_t dlock_queue_next_beat(const dlock_lock *lock, int64_t end_ms);

/* A wake-up for somebody who does not wait any more, put back by a heartbeat that crossed its
 * leaving: the grant goes on at once, unless it was taken up after all. Does not wait for Redis. */
void dlock_queue_decline(dlock_lock *lock, const kind_call *decline, const char *token);

#endif
