/*
 * followups.h - which requests are asked about again, as users do it: a share of those that bought
 * is sent again at another target, at once or later; a sample of what was sold and refused is
 * looked up right after; and whose outcome is unknown is looked up once the load is over.
 *
 * The engine's threads note every settled request; a prober (service/prober.h) takes what is due
 * while the run lasts, some 200 a second, and the samples when it is over.
 */
#ifndef LOADTEST_FOLLOWUPS_H
#define LOADTEST_FOLLOWUPS_H

#include "loadtest/base/outcome.h"
#include "loadtest/base/plan.h"

typedef struct lt_followups lt_followups;

typedef enum lt_followup_kind {
    FOLLOW_LOOK,     /* looked up */
    FOLLOW_RETRY,    /* sent again */
    FOLLOW_OTHER,    /* sent again for somebody else, or for more, which must not buy */
    FOLLOW_END,      /* confirmed, or cancelled, as its user does it (plan_ending()) */
    FOLLOW_OTHER_END /* the other way round */
} lt_followup_kind;

typedef struct lt_followup {
    int64_t ticket;
    int target; /* that answered it */
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

/* Notes a request that was settled at `done`. Any thread. */
void followups_note(lt_followups *followups, int64_t ticket, lt_outcome outcome, int target,
                    mono_ns done);

/* Notes a confirm that was answered "busy" at `done`: now and then such a one is sent again. */
void followups_put_off(lt_followups *followups, int64_t ticket, int target, mono_ns done);

/* Takes one that is due; or, with `all`, any. False: there is none. */
bool followups_take(lt_followups *followups, bool all, lt_followup *ret);

/* After the run: a sample of those that bought, of those that were refused; and all whose outcome
 * is unknown. */
lt_tickets followups_sold(const lt_followups *followups);
lt_tickets followups_refused(const lt_followups *followups);
lt_tickets followups_unknown(const lt_followups *followups);

#endif
