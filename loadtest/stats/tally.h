/*
 * tally.h - what one thread counted and was told: outcomes, latencies, bytes, receipts.
 *
 * Each thread of the engine has its own; they are added up for the progress display (while they
 * grow) and at the end. Every latency is counted twice: from the moment the request was due, and
 * from the moment it was sent. When the generator, or an answer that did not come, holds a request
 * back, only the first of the two tells (the omission of which is called coordinated omission).
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

/*
 * What a buyer was told, kept to be compared with the service's ledger afterwards: of sales, of
 * requests whose outcome is unknown, and of those refused by a limit. Every other request was
 * refused for certain too; all that were must have no order at all.
 */
typedef enum lt_receipt_kind {
    RECEIPT_NONE, /* refused, or never issued */
    RECEIPT_SOLD,
    RECEIPT_UNKNOWN,
    RECEIPT_LIMITED /* refused, because the user has all that the sale allows */
} lt_receipt_kind;

typedef struct lt_receipt {
    int64_t ticket;      /* number of the request within the run */
    uint64_t order_hash; /* of the order's id; 0 when it was told none */
    int64_t remaining;   /* units left, as it was told; -1 when it was not */
    lt_receipt_kind kind;
} lt_receipt;

typedef _Atomic(lt_histogram *) lt_histogram_slot; /* made when first needed */

typedef struct lt_target_tally {
    lt_counter sold, failed, unfinished;
    lt_histogram_slot latency; /* from send, all answers */
} lt_target_tally;

typedef struct lt_tally {
    lt_counter issued, completed, failed, unfinished;
    lt_counter outcomes[OUT_COUNT];
    lt_counter retries;    /* attempts beyond a request's first */
    lt_counter told_less;  /* 201 without all that the contract lists */
    lt_counter told_other; /* 201 that contradict what was asked for */
    lt_counter replays;    /* sold requests sent again */
    /* Of these (the others were answered with nothing that tells, such as "busy"): */
    lt_counter replays_same;    /* with the same order */
    lt_counter replays_other;   /* with another one */
    lt_counter replays_refused; /* refused for good, as if nothing had been sold */
    lt_counter connects;        /* connections opened */
    lt_counter receipts_lost;   /* memory was short */
    lt_counter waited;          /* open model: were due while all connections were busy */
    lt_counter unsent;          /* of these, never sent, because the run was over */
    lt_counter bytes_received, bytes_sent;
    lt_histogram_slot from_due[OUT_COUNT]; /* of completed requests */
    lt_histogram_slot from_send;           /* likewise, all outcomes together */
    lt_histogram_slot lag;                 /* sent - due, of all */
    lt_target_tally targets[PLAN_TARGETS_MAX];

    /* Not added up, and not to be read before the thread was joined. */
    lt_receipt *receipts;
    size_t receipt_count, receipt_room;
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

void tally_keep_receipt(lt_tally *tally, lt_receipt receipt);

/* FNV-1a of an order's id, to compare ids without keeping them. */
uint64_t receipt_hash(const char *order);

/* Latencies from due, of all outcomes, in one new histogram. NULL when memory is short. */
lt_histogram *tally_all(const lt_tally *tally);

/* The histogram in a slot, or NULL while nothing was recorded there. */
static inline const lt_histogram *tally_histogram(const lt_histogram_slot *slot)
{
    return atomic_load_explicit((lt_histogram_slot *)slot, memory_order_acquire);
}

#endif
