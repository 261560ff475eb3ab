/*
 * The time between the runs of a command on many machines: --at-least and --once-per of dlock run.
 *
 * Both are decided in Redis, under the lock, and by durations or Redis's clock: no machine's time
 * of day counts.
 *
 *   --at-least  The lock's lease is no shorter, so whoever dies leaves the name taken for that
 * long. At the end the lock's key gets another token, which nobody renews or releases, and the rest
 * as its time to live; in one script that does so for the owner alone.
 *   --once-per  The record of a run that succeeded is the companion key "ran" of the name (dlock.h,
 *               "Layout in Redis"). It is read after the grant, and written before the lock is
 * given back; each in a script that does so for the owner alone. So the next holder finds it or it
 * will never be written.
 *
 * What Redis does not answer is asked again for a lease, a minute at most, and as long as the lock
 * is ours; before the command a signal ends that. If it stays open after the command then the lock
 * is not handed on: for --at-least it is left to its lease, which is no shorter than the rest. A
 * run that succeeded may then count or not: the command may run twice in a period, one run after
 * the other, but is never left out for a run that failed.
 */
#ifndef DLOCK_CMD_SPACING_H
#define DLOCK_CMD_SPACING_H

#include "cmd/command.h"
#include "cmd/run_options.h"

typedef struct spacing {
    const run_options *options;     /* (borrowed) */
    const command_session *session; /* (borrowed) */
    dlock_time granted;
    int64_t began_us; /* by Redis's clock; only with --once-per */
    int signo;        /* the signal that ended the question before the command; 0 = none */
} spacing;

typedef enum spacing_end {
    SPACING_RELEASE, /* the lock is to be released, if it still is ours */
    SPACING_KEPT,    /* the name stays taken; the lock is not ours any more */
    SPACING_OPEN     /* not known: complained of */
} spacing_end;

/* The lease that the lock needs. */
int64_t spacing_lease_ms(const run_options *options);

/* To be called right after the grant. True: the command is to run. False, and the exit code: after
 * a complaint, or, of a signal from the signalfd while Redis did not answer, 128 + its number. */
bool spacing_begin(spacing *ret, const run_options *options, const command_session *session,
                   dlock_hold *hold, int signals, int *code);

/* To be called once nobody of the command's descendants is left. *code is the command's exit code;
 * 0 becomes EXIT_UNREACHABLE if it is not known whether the run counts. */
spacing_end spacing_finish(const spacing *self, dlock_hold *hold, int *code);

#endif
