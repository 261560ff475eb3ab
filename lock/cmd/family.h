/*
 * The descendants of a process, found by the parents that /proc names, and their end.
 *
 * Descent is what a process can not get rid of below a subreaper (PR_SET_CHILD_SUBREAPER): whoever
 * leaves its process group or session, or loses its parent, becomes the subreaper's child.
 */
#ifndef DLOCK_CMD_FAMILY_H
#define DLOCK_CMD_FAMILY_H

#include <sys/types.h>

/* A pause between rounds of family_kill(). */
#define FAMILY_ROUND_MS 20

/* Sends a signal to every descendant of `root`, not to itself. Their number, and one of them in
 * *one; -1 when /proc can not be read. */
int family_signal(pid_t root, int signo, pid_t *one);

/* A round of SIGKILL to every descendant of `root`; what they started meanwhile is for the next
 * round. *rounds counts them, from 0. Returns as family_signal(). Complains once, when a second was
 * not enough: a process of another user can not be signalled, one that is stuck in the kernel does
 * not end. */
int family_kill(pid_t root, int *rounds);

#endif
