/*
 * Asking Redis for a lock: the questions of its kind, and what the replies mean. Kinds on one
 * server describe their scripts (kind.h), which all give the same replies; kind QUORUM asks by
 * itself.
 */
#ifndef DLOCK_CORE_ASK_H
#define DLOCK_CORE_ASK_H

#include "core/lock.h"

/* One question each. OK (see answer.granted), UNAVAILABLE, UNKNOWN, FAILED. The token makes it
 * idempotent: asked again after an unknown outcome it finds what it got. */
dlock_status dlock_ask_acquire(dlock_lock *lock, const char *token, entry_mode entry, answer *ret);

/* OK, EXPIRED, NOT_OWNER, UNAVAILABLE, UNKNOWN, FAILED. */
dlock_status dlock_ask_release(dlock_lock *lock, const char *token);

/* Takes back a waiter's entry and whatever it was granted meanwhile. Same answers, and UNAVAILABLE
 * or UNKNOWN as long as one server did not answer. */
dlock_status dlock_ask_leave(dlock_lock *lock, const char *token);

/* The same in two halves, for whoever has a pipeline ask (not for kind QUORUM): what the script is
 * given, the keys first, which are counted; and what it replied, NULL: with something else than a
 * reply. */
int dlock_ask_acquire_args(const dlock_lock *lock, const char *token, entry_mode entry,
                           dlock_time asked, dlock_args *args);
dlock_status dlock_ask_read_acquired(const dlock_lock *lock, dlock_time asked,
                                     const redisReply *reply, answer *ret);
dlock_status dlock_ask_read_released(const redisReply *reply);

/* Adds an acquire's last argument: the moment after which it is to do nothing. */
void dlock_ask_add_limit(const dlock_lock *lock, dlock_time asked, dlock_args *args);

/* Runs a script within the client's io_ms and, where `replicas` is not 0, waits until so many have
 * its writes. *ret is the reply with DLOCK_OK, NULL otherwise. */
dlock_status dlock_ask_script(const dlock_client *client, dlock_redis *redis, dlock_script *script,
                              int keys, const dlock_args *args, int replicas, redisReply **ret);

#endif
