/*
 * leaders.h - the threads that lead batches, shared by all batches of the process.
 *
 *     batch with buyers ----.
 *     batch with buyers -----+---> a leader each, for as long as buyers come
 *     batch, nobody there         none
 *     batch, nobody there         none
 *
 * A leader that has nothing to do any more stays for a moment, in case another batch needs it, and
 * then ends. So there are never more leaders than batches with buyers at a time, however many items
 * are on sale, and under load nobody waits for a thread to start.
 */
#ifndef FLASHSALE_LEADERS_H
#define FLASHSALE_LEADERS_H

#include <stdbool.h>

/* What a leader is to do. In the caller's memory until `run` has been called. */
typedef struct leader_task {
    struct leader_task *next;
    void (*run)(void *arg);
    void *arg;
} leader_task;

/* Has a leader run it at once, whatever the others do meanwhile. False: there is none free, and no
 * thread for a new one. */
bool leaders_run(leader_task *task);

#endif
