/*
 * outcome.h - how a request to buy ended, as its buyer sees it.
 *
 * The outcomes exclude each other; every request that was issued and not cut off has exactly one.
 * UNKNOWN is an outcome of its own: the request was sent and may have bought or not. It never
 * counts as a yes or as a no.
 */
#ifndef LOADTEST_OUTCOME_H
#define LOADTEST_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

typedef enum lt_outcome {
    OUT_SOLD,        /* 201 */
    OUT_SOLD_OUT,    /* 409 sold_out */
    OUT_LIMIT,       /* 409 limit_reached */
    OUT_BUSY,        /* 503 busy: definitely not bought */
    OUT_UNAVAILABLE, /* 503 store_unavailable, writes_paused: definitely not bought */
    OUT_UNKNOWN,     /* sent, and nothing definite came back: no answer, or one like 502 or 504 */
    OUT_ERROR,       /* any other definite refusal (4xx, ...), or the request never left */
    OUT_COUNT
} lt_outcome;

/* The name in reports and JSON: "sold", "sold_out", ... */
const char *outcome_name(lt_outcome outcome);

/* Latencies and the timeline are kept per series: one for each outcome, and one more for
 * requests without an answer (failed, timed out, cut off). */
#define SERIES_UNANSWERED OUT_COUNT
#define SERIES_COUNT      (OUT_COUNT + 1)

/* An outcome's name, or "unanswered". */
const char *series_name(int series);

/*
 * Classifies an answer by its HTTP status and the "code" of its problem body ("" when none). Only
 * the definite refusals of the service's contract are a no; every other answer to a sent request is
 * UNKNOWN.
 */
lt_outcome outcome_of_response(long status, const char *code);

/* The codes that make a 503 a definite no, by number; NULL after the last. */
const char *outcome_code_of_503(size_t i);

/*
 * Whether the service served the buyer: a sale, or the final answer that nothing is left. Otherwise
 * it turned the buyer away, although the stock may have had a unit.
 */
bool outcome_is_served(lt_outcome outcome);

#endif
