/*
 * What the kinds with a queue in Redis have in common on this side: the wake-up list of the
 * process, its sign of life, and what comes of a wake-up that is too late.
 */
#ifndef DLOCK_KINDS_QUEUE_H
#define DLOCK_KINDS_QUEUE_H

#include "core/lock.h"

/* A kind's listen(): a sign of life for all who sleep when it is due, and otherwise waiting for a
 * message on the wake-up list. */
bool dlock_queue_listen(dlock_lock *lock, dlock_time until);

/* A kind's channel(), for those without a thread: the wake-up list's name. Locks of one name whose
 * tokens end alike have it in common. */
void dlock_queue_wake_list(const dlock_lock *lock, char *ret, size_t ret_len);

/* In how many ms the next sign of life is due: a re-check later, or as soon as the lock may be
 * free, in `end_ms`; -1: not known. */
int64_t dlock_queue_next_beat(const dlock_lock *lock, int64_t end_ms);

/* A wake-up for somebody who does not wait any more, put back by a sign of life that crossed its
 * leaving: the grant goes on at once, unless it was taken up after all. */
void dlock_queue_decline(dlock_lock *lock, const kind_call *decline, const char *token);

#endif
