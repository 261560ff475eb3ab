/*
 * followups.h - which requests are asked about again, as users do: a share of those that bought is
 * sent again to another target, at once or later; a sample of sold and refused requests is looked
 * up right after the answer; and unknown outcomes are looked up after the load.
 *
 * The engine's threads add every settled request; a prober (service/prober.h) takes those that are
 * due during the run, about 200 a second, and the samples after it.
 */
#ifndef LOADTEST_FOLLOWUPS_H
#define LOADTEST_FOLLOWUPS_H

#include "loadtest/base/outcome.h"
#include "loadtest/base/plan.h"

typedef struct lt_followups lt_followups;

typedef enum lt_followup_kind {
    FOLLOW_LOOK,     /* looked up */
    FOLLOW_RETRY,    /* sent again */
    FOLLOW_OTHER,    /* sent again for another user, or for more units; must not buy */
    FOLLOW_END,      /* confirmed or cancelled, as its user does (plan_ending()) */
    FOLLOW_OTHER_END /* the opposite of that */
} lt_followup_kind;

typedef struct lt_followup {
    int64_t ticket;
    int target; /* the target that answered it */
    lt_followup_kind kind;
    mono_ns due;
} lt_followup;

/* Tickets, in memory of the follow-ups. */
typedef struct lt_tickets {
    const int64_t *items;
    size_t count;
} lt_tickets;

lt_followups *followups_new(const lt_plan *plan); /* NULL when memory is short */
void followups_free(lt_followups *followups);

/* Adds a request that was settled at `done`. Any thread. */
void followups_note(lt_followups *followups, int64_t ticket, lt_outcome outcome, int target,
                    mono_ns done);

/* Adds a confirm that was answered "busy" at `done`: some of these are sent again. */
void followups_put_off(lt_followups *followups, int64_t ticket, int target, mono_ns done);

/* Takes a follow-up that is due; with `all`, any. False: there is none. */
bool followups_take(lt_followups *followups, bool all, lt_followup *ret);

/* After the run: samples of sold and refused requests, and all with an unknown outcome. */
lt_tickets followups_sold(const lt_followups *followups);
lt_tickets followups_refused(const lt_followups *followups);
lt_tickets followups_unknown(const lt_followups *followups);

#endif
