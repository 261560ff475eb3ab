/*
 * What the kinds with several holders share: READ and WRITE (rw.c), SEMAPHORE. shares.c begins with
 * their protocol.
 */
#ifndef DLOCK_KINDS_SHARES_H
#define DLOCK_KINDS_SHARES_H

#include "kinds/queue.h"

extern dlock_script dlock_shares_acquire, dlock_shares_release, dlock_shares_leave,
    dlock_shares_renew, dlock_shares_beat;

/* The keys of shares.lua; returns their number. */
int dlock_shares_keys(const dlock_lock *lock, dlock_args *args);

int dlock_shares_acquire_args(const dlock_lock *lock, const asker *who, dlock_args *args);
int dlock_shares_go_args(const dlock_lock *lock, const asker *who, dlock_args *args);
int dlock_shares_renew_args(const dlock_lock *lock, const asker *who, dlock_args *args);
int64_t dlock_shares_beaten(dlock_lock *lock, dlock_time asked, const redisReply *reply);
void dlock_shares_heard(dlock_lock *lock, const char *token);

/* The members of such a kind. */
#define DLOCK_SHARES_KIND                                                                          \
    .queues = true, .acquire = {&dlock_shares_acquire, dlock_shares_acquire_args},                 \
    .release = {&dlock_shares_release, dlock_shares_go_args},                                      \
    .leave = {&dlock_shares_leave, dlock_shares_go_args},                                          \
    .renew = {&dlock_shares_renew, dlock_shares_renew_args}, .channel = dlock_queue_channel,       \
    .heard = dlock_shares_heard, .beat = {&dlock_shares_beat, dlock_shares_go_args},               \
    .beaten = dlock_shares_beaten

#endif
