/*
 * leaders.h - the threads that lead batches: a pool shared by all batches of the process.
 *
 *     batch with buyers ----.
 *     batch with buyers -----+---> one leader each, while buyers come
 *     batch without buyers        none
 *     batch without buyers        none
 *
 * An idle leader stays for a moment in case another batch needs it, and then ends. So there are
 * never more leaders than there were batches with buyers at one time, however many items are on
 * sale; and under load no buyer waits for a thread to start.
 */
#ifndef FLASHSALE_LEADERS_H
#define FLASHSALE_LEADERS_H

#include <stdbool.h>

/* A task for a leader. The caller keeps it in memory until `run` has been called. */
typedef struct leader_task {
    struct leader_task *next;
    void (*run)(void *arg);
    void *arg;
} leader_task;

/* Runs the task on a leader at once. False: no leader is free, and no thread could be started. */
bool leaders_run(leader_task *task);

#endif
