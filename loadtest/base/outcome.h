/*
 * outcome.h - what became of a request to buy, as its buyer sees it.
 *
 * The outcomes exclude each other; every request that was issued and not cut off ends in exactly
 * one. UNKNOWN is an outcome of its own: the request was sent and may have bought or not. It is
 * never counted as a yes or as a no.
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

/* What latencies and the timeline keep apart: the outcomes of answers, and, as one more, requests
 * that got no answer: failed, timed out, cut off. */
#define SERIES_UNANSWERED OUT_COUNT
#define SERIES_COUNT      (OUT_COUNT + 1)

/* An outcome's name, or "unanswered". */
const char *series_name(int series);

/*
 * Classifies an answer by its HTTP status and the "code" of its problem body ("" when none). Only
 * what the service's contract calls a definite no is one; every other answer to a request that was
 * sent is UNKNOWN.
 */
lt_outcome outcome_of_response(long status, const char *code);

/* The codes that make a 503 a definite no, by number; NULL behind the last. */
const char *outcome_code_of_503(size_t i);

/*
 * Whether the service did its work for the buyer: a sale, or the final word that there is none.
 * Otherwise the buyer was turned away, although the stock may have had a unit left.
 */
bool outcome_is_served(lt_outcome outcome);

#endif
