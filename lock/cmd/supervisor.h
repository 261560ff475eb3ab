/*
 * The process between dlock and its command, which sees to it that nobody of the command's
 * descendants runs longer than the lock is held.
 *
 *     dlock ─ holds and renews the lock; says again and again until when it is sure
 *       └ supervisor ─ a subreaper: all that the command starts stays below it
 *           └ command
 *               └ ...
 *
 * The supervisor trusts nobody to tell it of a loss. It knows a time until which the lock is
 * surely ours; unless dlock moves that on, because it renewed, the descendants is ended before:
 * SIGTERM, and after the grace, or shortly before that time, SIGKILL. So it makes no difference
 * whether Redis is silent or dlock stopped. When dlock has died, SIGTERM comes at once. What the
 * command leaves behind gets the grace to end by itself, then the same.
 *
 * Should the supervisor itself be killed, its descendants become dlock's, which ends them, and the
 * kernel ends the command (PR_SET_PDEATHSIG). When both dlock and the supervisor are killed or
 * stopped, the command's own descendants run on, and a stopped pair's command as well; for who
 * kills by name or words (killall, pkill -f), the supervisor has others.
 *
 * It is forked before the library starts threads, so it may do what any process may.
 */
#ifndef DLOCK_CMD_SUPERVISOR_H
#define DLOCK_CMD_SUPERVISOR_H

#include "cmd/descendants.h"
#include "dlock.h"

#include <signal.h>
#include <sys/types.h>

typedef struct supervisor_job {
    const char *name; /* of the lock */
    char **command;
    int64_t lease_ms, grace_ms;
    const sigset_t *mask;    /* the signal mask that the command gets */
    const sigset_t *signals; /* those that are passed on to it; blocked */
} supervisor_job;

typedef struct supervisor {
    pid_t pid;
    int orders; /* a pipe's writing end; its end tells the supervisor of ours */
    int lost;   /* an eventfd, readable when the supervisor has begun to end them for a loss */
    descendants descendants;
} supervisor;

/* Forks the supervisor, which starts nothing yet. Complains and returns false. */
bool supervisor_start(const supervisor_job *job, supervisor *ret);

/* Tells it until when the hold is sure. The first time, it starts the command, whose environment
 * has the hold's fence and owner. */
void supervisor_extend(const supervisor *self, dlock_hold *hold);

/* Passes a signal on: to the command, or all of its group if it has one of its own, because there
 * is no terminal; one that came from a terminal the command has got as well. When the command has
 * ended, a signal that ends programs ends what it left behind. */
void supervisor_signal(const supervisor *self, int signo, bool from_terminal);

/* For a lock that is lost already: SIGKILL to the supervisor and the command's descendants, until
 * nobody is left. */
void supervisor_end(supervisor *self);

/* Whether nobody is left. Then *ret is the command's exit code, 128 + N after signal N; EXIT_LOST
 * when the descendants had to be ended before the lease was; EXIT_SYSTEM when that could not be
 * known. */
bool supervisor_ended(supervisor *self, int *ret);

/* Whether EXIT_LOST is not the command's own. */
bool supervisor_lost(const supervisor *self);

/* Lets go: a supervisor that has not started anything ends. */
void supervisor_close(supervisor *self);

#endif
