/*
 * tally.h - what one thread counted: outcomes, latencies, bytes.
 *
 * A request without an answer counts with its age when it failed, timed out or was cut off. Without
 * these, the slowest requests would be missing and a service would look quick.
 *
 * Each thread of the engine has its own tally; they are added up for the progress display (while
 * they grow) and at the end. Every latency is counted twice: from the moment the request was due,
 * and from the moment it was sent. When the generator, or a missing answer, holds a request back,
 * only the first of the two shows it. Leaving that out is called coordinated omission.
 */
#ifndef LOADTEST_TALLY_H
#define LOADTEST_TALLY_H

#include "loadtest/base/clock.h"
#include "loadtest/base/outcome.h"
#include "loadtest/base/plan.h"
#include "loadtest/stats/histogram.h"

#include <stddef.h>

/* Where a request ended, next to its outcome: issued = completed + failed + unfinished. */
typedef enum lt_ending {
    END_COMPLETED, /* an HTTP answer came */
    END_FAILED,    /* the transport failed */
    END_UNFINISHED /* it was still open when the run was cut off */
} lt_ending;

/* A request that is settled: no attempt will follow. */
typedef struct lt_settled {
    lt_outcome outcome;
    lt_ending ending;
    int target;
    mono_ns due;  /* when it was to start */
    mono_ns sent; /* when its first attempt started */
    mono_ns done;
} lt_settled;

static inline int settled_series(const lt_settled *settled)
{
    return settled->ending == END_COMPLETED ? (int)settled->outcome : SERIES_UNANSWERED;
}

typedef _Atomic(lt_histogram *) lt_histogram_slot; /* made when first needed */

typedef struct lt_target_tally {
    lt_counter sold, failed, unfinished;
    lt_histogram_slot latency; /* from send, of all */
} lt_target_tally;

typedef struct lt_tally {
    lt_counter issued, completed, failed, unfinished;
    lt_counter outcomes[OUT_COUNT];
    lt_counter retries;  /* attempts beyond a request's first */
    lt_counter connects; /* connections opened */
    lt_counter waited;   /* open model: due while all connections were busy */
    lt_counter unsent;   /* of these, never sent because the run was over */
    lt_counter bytes_received, bytes_sent;
    lt_histogram_slot from_due[SERIES_COUNT]; /* of all that were issued, and the unsent */
    lt_histogram_slot from_send;              /* of all that were issued, together */
    lt_histogram_slot lag;                    /* sent - due, likewise */
    lt_target_tally targets[PLAN_TARGETS_MAX];
} lt_tally;

lt_tally *tally_new(void);
void tally_free(lt_tally *tally);

/* The tallies of all threads. */
typedef struct lt_tallies {
    lt_tally *items;
    int count;
} lt_tallies;

/* So many empty ones. False when memory is short. */
bool tallies_init(lt_tallies *tallies, int count);
void tallies_release(lt_tallies *tallies);

/* All in one new tally, also while they grow. NULL when memory is short. */
lt_tally *tallies_sum(const lt_tallies *tallies);

/* Counts a settled request. `issued` was counted when it was taken up. */
void tally_settle(lt_tally *tally, const lt_settled *settled);

/* Counts a request that was due and never sent because the run was over: unanswered. */
void tally_unsent(lt_tally *tally, mono_ns due);

/*
 * Latencies from due in one new histogram, NULL when memory is short: of all requests; and the
 * headline, which leaves out refusals (sold out, limit, busy), because they are quick and would
 * hide the slowness of the others.
 */
lt_histogram *tally_all(const lt_tally *tally);
lt_histogram *tally_headline(const lt_tally *tally);

/* How many answers came from a target. */
static inline int64_t target_answers(const lt_target_tally *target)
{
    lt_histogram *h =
        atomic_load_explicit((lt_histogram_slot *)&target->latency, memory_order_acquire);
    return (!h ? 0 : histogram_count(h)) - counter_get(&target->failed) -
           counter_get(&target->unfinished);
}

/* The histogram in a slot, or NULL while nothing was recorded there. */
static inline const lt_histogram *tally_histogram(const lt_histogram_slot *slot)
{
    return atomic_load_explicit((lt_histogram_slot *)slot, memory_order_acquire);
}

#endif
