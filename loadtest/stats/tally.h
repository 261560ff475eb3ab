/*
 * tally.h - what one thread counted: outcomes, latencies, bytes.
 *
 * Each thread of an engine has its own; they are merged for the live view (while they grow) and at
 * the end. Every latency is counted twice: from the moment the request was due, and from the moment
 * it was sent. When the generator, or an answer that did not come, holds a request back, only the
 * first of the two tells (the omission of which is called coordinated omission).
 */
#ifndef LOADTEST_TALLY_H
#define LOADTEST_TALLY_H

#include "loadtest/base/clock.h"
#include "loadtest/base/counter.h"
#include "loadtest/base/outcome.h"
#include "loadtest/base/plan.h"
#include "loadtest/stats/histogram.h"

/* Where a request ended, next to its outcome: issued = completed + failed + unfinished. */
typedef enum lt_ending {
    END_COMPLETED, /* an HTTP answer came */
    END_FAILED,    /* the transport failed */
    END_UNFINISHED /* it was still in flight when the run was cut off */
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

typedef _Atomic(lt_histogram *) lt_histogram_slot; /* made when first needed */

typedef struct lt_target_tally {
    counter outcomes[OUT_COUNT];
    counter failed;
    lt_histogram_slot latency; /* from send, all answers */
} lt_target_tally;

typedef struct lt_tally {
    counter issued, completed, failed, unfinished;
    counter outcomes[OUT_COUNT];
    counter retries;        /* attempts beyond a request's first */
    counter replays;        /* sold requests sent again */
    counter replays_broken; /* of these, answered with anything but the same order */
    counter connects;       /* connections opened */
    counter waited;         /* open model: were due while all connections were busy */
    counter unsent;         /* of these, never sent, because the run was over */
    counter bytes_received, bytes_sent;
    lt_histogram_slot from_due[OUT_COUNT]; /* of completed requests */
    lt_histogram_slot from_send[OUT_COUNT];
    lt_histogram_slot lag; /* sent - due, of all */
    lt_target_tally targets[PLAN_TARGETS_MAX];
} lt_tally;

lt_tally *tally_new(void);
void tally_free(lt_tally *tally);

/* Counts a settled request. `issued` was counted when it was taken up. */
void tally_settle(lt_tally *tally, const lt_settled *settled);

/* Adds all of `from`. */
void tally_merge(lt_tally *into, const lt_tally *from);

/* All outcomes' latencies in one new histogram; the caller frees it. NULL when memory is short. */
lt_histogram *tally_all(const lt_histogram_slot slots[OUT_COUNT]);

/* The histogram in a slot, or NULL while nothing was recorded there. */
static inline const lt_histogram *tally_histogram(const lt_histogram_slot *slot)
{
    return atomic_load_explicit((lt_histogram_slot *)slot, memory_order_acquire);
}

#endif
