/*
 * run_state.h - what the buyers of one run share: the start, the tickets, the end.
 *
 * Every request takes a ticket, its number within the run, which also makes its Idempotency-Key;
 * plan.h says which user it belongs to. Once the run is stopped nobody gets a ticket: all are used
 * up, the time is over, the stock is sold out, or somebody pressed Ctrl-C. Open requests are then
 * awaited, and cut off only if that takes too long.
 */
#ifndef LOADTEST_RUN_STATE_H
#define LOADTEST_RUN_STATE_H

#include "loadtest/base/clock.h"
#include "loadtest/base/plan.h"
#include "loadtest/history/recorder.h"
#include "loadtest/load/followups.h"
#include "loadtest/stats/errors.h"
#include "loadtest/stats/tally.h"
#include "loadtest/stats/timeline.h"

#include <pthread.h>
#include <stdio.h>

typedef enum lt_stop_reason {
    STOP_NOT_YET,
    STOP_REQUESTS,
    STOP_DURATION,
    STOP_SOLD_OUT,
    STOP_INTERRUPTED
} lt_stop_reason;

const char *stop_reason_name(lt_stop_reason reason);

/* What one user of the closed and flash models got; in an open model, one connection. */
typedef struct lt_user_record {
    lt_counter issued, answered, served;
    lt_counter sold;
    lt_counter sold_early;        /* in the first half of the requests, see fairness.h */
    _Atomic mono_ns first_answer; /* 0: none yet */
} lt_user_record;

typedef struct lt_run_state {
    /* Set by the caller, all borrowed. */
    const lt_plan *plan;
    const char *key_prefix; /* of every Idempotency-Key of the run */
    const char *sale;       /* the only one to buy in */
    lt_recorder *recorder;
    FILE *log; /* one line a settled request, or NULL */

    lt_tallies tallies; /* one for each thread of the engine */
    lt_followups *followups;
    lt_timeline *timeline;
    lt_errors errors;
    lt_user_record *users; /* plan->users of them */

    mono_ns started_at;      /* written before the gate opens, constant afterwards */
    _Atomic int64_t tickets; /* taken so far */
    _Atomic int stop_reason;
    _Atomic bool cut;              /* give up open requests now */
    _Atomic mono_ns stopped_at;    /* 0 until stopped */
    _Atomic mono_ns first_through; /* when the first user's share was used up; 0: not yet */
    _Atomic mono_ns last_done;     /* the last answer */
    _Atomic mono_ns last_sold;     /* the last 201 */
    _Atomic mono_ns last_ended;    /* the last request that was settled, answered or not */

    /* The longest span without any answer while requests were open. */
    _Atomic int64_t underway;   /* tickets that are not yet settled */
    _Atomic mono_ns open_since; /* when requests became open again after there were none */
    _Atomic mono_ns silence;    /* its length; 0: nothing was settled */
    mono_ns silence_from;       /* guarded by mutex */

    pthread_mutex_t mutex;
    pthread_cond_t opened;   /* wakes the engine's threads */
    pthread_cond_t reported; /* wakes the one that waits for them */
    int ready;               /* engine threads waiting at the gate */
    bool open;               /* the gate */
    int finished;            /* engine threads that are done */
} lt_run_state;

/* Prepares the rest for so many threads. False when memory is short; release it in any case. */
bool run_state_init(lt_run_state *state, int threads);
void run_state_release(lt_run_state *state);

/* Engine threads: reports as ready, then waits until the gate opens. */
void run_state_wait_for_start(lt_run_state *state);

/* Waits until `threads` are ready, then opens the gate: the run starts now. */
void run_state_start(lt_run_state *state, int threads);

/* Engine threads: this one is done. */
void run_state_finish(lt_run_state *state);

/* Waits until all are done, but not beyond `until`. Returns whether they are. */
bool run_state_wait_finished(lt_run_state *state, mono_ns until);

/* Takes the next ticket of this user (in an open model: of all). False: none is left, because
 * the run is over or the user's share used up. */
bool run_state_ticket(lt_run_state *state, int user, int64_t *ret);

/* How many tickets the user has taken; in an open model, with user 0, how many all have. */
int64_t run_state_taken(const lt_run_state *state, int user);

#define REQUEST_ID_MAX 64

/* The request id of a ticket, which is also its Idempotency-Key. */
void run_state_request_id(const lt_run_state *state, int64_t ticket, char ret[REQUEST_ID_MAX]);

/* Stops the run; the first reason counts. */
void run_state_stop(lt_run_state *state, lt_stop_reason reason);

static inline bool run_state_stopped(lt_run_state *state)
{
    return atomic_load_explicit(&state->stop_reason, memory_order_relaxed) != STOP_NOT_YET;
}

static inline bool run_state_is_cut(lt_run_state *state)
{
    return atomic_load_explicit(&state->cut, memory_order_relaxed);
}

/* Records a settled request: in the timeline, the marks above, the user's record, the log, and
 * the follow-ups. */
void run_state_note(lt_run_state *state, int user, int64_t ticket, const lt_settled *settled);

#endif
