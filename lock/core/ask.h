/*
 * Asking Redis for a lock: the requests of its kind, and what the replies mean. Kinds on one
 * server describe their scripts (kind.h), which all give the same replies. Kind QUORUM has its own
 * functions.
 */
#ifndef DLOCK_CORE_ASK_H
#define DLOCK_CORE_ASK_H

#include "core/lock.h"

/* One request each. OK (see answer.granted), UNAVAILABLE, UNKNOWN, FAILED. The token makes it
 * idempotent: repeated after an unknown outcome, it finds what the first one got. */
dlock_status dlock_ask_acquire(dlock_lock *lock, const asker *who, answer *ret);

/* OK, EXPIRED, NOT_OWNER, UNAVAILABLE, UNKNOWN, FAILED. */
dlock_status dlock_ask_release(dlock_lock *lock, const char *token);

/* Takes back a waiter's entry and whatever it was granted meanwhile. Same answers, and UNAVAILABLE
 * or UNKNOWN as long as one server did not answer. */
dlock_status dlock_ask_leave(dlock_lock *lock, const char *token);

/* The same in two halves, for callers that use a pipeline (not for kind QUORUM). The first fills in
 * the script's words, keys first, and returns the number of keys. The others read the reply; NULL:
 * there was none. */
int dlock_ask_acquire_args(const dlock_lock *lock, const asker *who, dlock_time asked,
                           dlock_args *args);
dlock_status dlock_ask_read_acquired(const dlock_lock *lock, int64_t lease_ms, dlock_time asked,
                                     const redisReply *reply, answer *ret);
dlock_status dlock_ask_read_released(const redisReply *reply);

/* Adds the last argument of an acquire: the moment after which the script does nothing. */
void dlock_ask_add_limit(const dlock_lock *lock, dlock_time asked, dlock_args *args);

/* Runs a script within the client's io_ms. If `replicas` is not 0, waits until so many have its
 * writes. Frees the words. *ret is the reply with DLOCK_OK, otherwise NULL. */
dlock_status dlock_ask_script(const dlock_client *client, dlock_redis *redis, dlock_script *script,
                              int keys, dlock_args *args, int replicas, redisReply **ret);

#endif
