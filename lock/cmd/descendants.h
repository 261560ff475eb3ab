/*
 * The descendants of this process, found by the parents that /proc names, and their end.
 *
 * Below a subreaper (PR_SET_CHILD_SUBREAPER) a process can not hide its descent: if it leaves its
 * process group or session, or loses its parent, it becomes the subreaper's child.
 */
#ifndef DLOCK_CMD_DESCENDANTS_H
#define DLOCK_CMD_DESCENDANTS_H

#include "dlock.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The longest pause between two rounds of descendants_kill(). */
#define DESCENDANTS_ROUND_MS 20

typedef struct descendants {
    pid_t root;
    pid_t *strangers; /* the root's earlier children; they and their descendants do not count */
    size_t strangers_len;
    unsigned long met;        /* descendants_kill()'s last round: the sum of the pids */
    dlock_time patient_until; /* 0: it has not begun */
    bool complained;
} descendants;

/* Makes this process a subreaper and the root of its future descendants. Children that it already
 * has (from before dlock was exec'd) are strangers. Complains and returns false if /proc is missing
 * or belongs to another pid namespace: then no descendant could be found. */
bool descendants_begin(descendants *ret);

/* Sends a signal to all of the descendants but the root. Their number, and one of them in *one; -1
 * when /proc can not be read. */
int descendants_signal(const descendants *self, int signo, pid_t *one);

/* A round of SIGKILL; what they started meanwhile is for the next one, *pause_ms from now. Returns
 * as descendants_signal(). Complains once, when a second was not enough. */
int descendants_kill(descendants *self, int *pause_ms);

/* Rounds of SIGKILL until nobody is left; reaps every child of this process that has ended. */
void descendants_end(descendants *self);

void descendants_free(descendants *self);

#endif
