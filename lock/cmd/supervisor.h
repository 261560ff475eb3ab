/*
 * The process between dlock and its command. It makes sure that no descendant of the command runs
 * longer than the lock is held.
 *
 *     dlock ─ holds and renews the lock; says again and again until when it is sure
 *       └ supervisor ─ a subreaper: all that the command starts stays below it
 *           └ command
 *               └ ...
 *
 * The supervisor does not rely on being told of a loss. It knows until when the lock is surely
 * ours. dlock moves that time on with each renewal. Otherwise the supervisor ends the descendants
 * before it: SIGTERM, then SIGKILL after the grace, or shortly before that time. So it makes no
 * difference whether Redis is silent or dlock is stopped. When dlock dies, SIGTERM comes at once.
 * What the command leaves behind gets the grace to end by itself, then the same signals.
 *
 * If the supervisor itself is killed, its descendants become dlock's, which ends them, and the
 * kernel ends the command (PR_SET_PDEATHSIG). If both dlock and the supervisor are killed or
 * stopped, the command's descendants run on; the command does too if both are stopped. The
 * supervisor has another name and other words than dlock, so killall and pkill -f do not hit both.
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

/* Tells the supervisor until when the hold is sure. The first call starts the command, with the
 * hold's fence and owner in its environment. */
void supervisor_extend(const supervisor *self, dlock_hold *hold);

/* Passes a signal on to the command. Without a terminal the command has a process group of its own,
 * and the whole group gets the signal. A signal from a terminal is not passed on: the command has
 * got it as well. After the command has ended, a signal that ends programs ends what it left
 * behind. */
void supervisor_signal(const supervisor *self, int signo, bool from_terminal);

/* For a lock that is lost already: SIGKILL to the supervisor and the command's descendants, until
 * none is left. */
void supervisor_end(supervisor *self);

/* Whether no process is left. Then *ret is the command's exit code, 128 + N after signal N;
 * EXIT_LOST if the descendants had to be ended before the lease was over; EXIT_SYSTEM if that is
 * not known. */
bool supervisor_ended(supervisor *self, int *ret);

/* Whether EXIT_LOST is not the command's own. */
bool supervisor_lost(const supervisor *self);

/* Lets go: a supervisor that has not started anything ends. */
void supervisor_close(supervisor *self);

#endif
