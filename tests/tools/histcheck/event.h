/*
 * event.h - one line of a history: something that happened to one operation on one lock.
 *
 *     NS PROCESS CONTEXT OP EVENT LOCK FENCE DEPTH HOLD [TAKES/OF]
 *
 *   NS       CLOCK_MONOTONIC in ns, so all processes run on one machine
 *   PROCESS  a number, the pid for one
 *   CONTEXT  the thread, or the context id that re-enters; an outcome has its invoke's
 *   OP       a number for this call of acquire, unique within the process
 *   EVENT    see below
 *   LOCK     the name, without blanks; "*" in the last group: all locks
 *   FENCE    0: none; with guard-*: the hold's
 *   DEPTH    with ok: the depth it brought; with release-*: the depth left behind; otherwise 0
 *   HOLD     the OP that opened the hold (the same as OP, but for a re-entry); 0: no hold yet
 *   TAKES/OF with invoke, of a lock that several may hold: how much of how much is asked for, 2/5
 *            for two of five permits. 1/0 is a reader's: of as many as like. Without it: all. OF
 *            is the same for all of a lock; without TAKES/OF it counts as 0
 *
 * An operation is an invoke, then exactly one of ok, fail, unknown. Its line carries the time
 * right before the call for an invoke, and right after it for an outcome.
 *
 *   invoke           acquire is about to be called
 *   ok               it returned a hold
 *   fail             it returned that nothing is held
 *   unknown          it returned that nobody knows
 *   held             the hold was ours at NS: the time is taken first, then the hold is asked. So
 *                    a process that is stopped in between does not claim too much
 *   lost             the hold was reported lost
 *   release-invoke   release is about to be called
 *   release-ok       it returned that the lock was ours until then
 *   release-fail     it returned that the lock was not ours any more
 *   release-unknown  it returned that nobody knows
 *   guard-invoke, guard-ok, guard-stale, guard-fail, guard-unknown
 *                    a guarded write: run, refused as stale, certainly not run, not known
 *
 * Of a hold one release and one guarded write are under way at a time, and each has one end.
 *
 * Whoever makes the faults says so, with the victim in PROCESS:
 *
 *   killed, stopped, continued     SIGKILL (once the process has ended: it has no line after
 *                                  this one), SIGSTOP (before it), SIGCONT (after it)
 *   void-invoke, void-ok           the lock is about to be taken away from outside; it was
 *   fence-set                      FENCE was set from outside: no older one may write any more
 *   outage-begin, outage-end       nobody can be expected to get a lock
 */
#ifndef HISTCHECK_EVENT_H
#define HISTCHECK_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum event_kind {
    EVENT_INVOKE,
    EVENT_OK,
    EVENT_FAIL,
    EVENT_UNKNOWN,
    EVENT_HELD,
    EVENT_LOST,
    EVENT_RELEASE_INVOKE,
    EVENT_RELEASE_OK,
    EVENT_RELEASE_FAIL,
    EVENT_RELEASE_UNKNOWN,
    EVENT_GUARD_INVOKE,
    EVENT_GUARD_OK,
    EVENT_GUARD_STALE,
    EVENT_GUARD_FAIL,
    EVENT_GUARD_UNKNOWN,
    EVENT_KILLED,
    EVENT_STOPPED,
    EVENT_CONTINUED,
    EVENT_VOID_INVOKE,
    EVENT_VOID_OK,
    EVENT_FENCE_SET,
    EVENT_OUTAGE_BEGIN,
    EVENT_OUTAGE_END,
    EVENT_KINDS
} event_kind;

/* The words for the kinds, in their order. */
#define EVENT_NAMES                                                                                \
    {                                                                                              \
        "invoke", "ok", "fail", "unknown", "held", "lost", "release-invoke", "release-ok",         \
            "release-fail", "release-unknown", "guard-invoke", "guard-ok", "guard-stale",          \
            "guard-fail", "guard-unknown", "killed", "stopped", "continued", "void-invoke",        \
            "void-ok", "fence-set", "outage-begin", "outage-end"                                   \
    }

#define EVENT_LOCK_MAX 128 /* bytes of a lock's name, with its NUL */
#define EVENT_LINE_MAX 384

#endif
