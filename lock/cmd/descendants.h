/*
 * The descendants of this process, found by the parents that /proc names, and their end.
 *
 * Descent is what a process can not get rid of below a subreaper (PR_SET_CHILD_SUBREAPER): whoever
 * leaves its process group or session, or loses its parent, becomes the subreaper's child.
 */
#ifndef DLOCK_CMD_DESCENDANTS_H
#define DLOCK_CMD_DESCENDANTS_H

#include "dlock.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The most that is waited between two rounds of descendants_kill(). */
#define DESCENDANTS_ROUND_MS 20

typedef struct descendants {
    pid_t root;
    pid_t *strangers; /* the root's children from before; neither they nor theirs are meant */
    size_t strangers_len;
    unsigned long met;        /* descendants_kill()'s last round: the sum of the pids */
    dlock_time patient_until; /* 0: it has not begun */
    bool complained;
} descendants;

/* This process becomes a subreaper, and the root of a descendants that nobody belongs to yet:
 * children that it has (whoever execs dlock may leave it some) are strangers. Complains and returns
 * false when /proc is missing or another pid namespace's: nobody could be found then. */
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
