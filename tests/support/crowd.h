/*
 * crowd.h - buyers that go on buying in the background while a test breaks something.
 *
 * Each buyer is a thread with a request id of its own for every buy, and a connection of its own
 * for every request, and a short pause after it. (For load and latencies there is build/loadtest.)
 */
#ifndef TESTS_SUPPORT_CROWD_H
#define TESTS_SUPPORT_CROWD_H

#include <stdbool.h>

typedef struct fx_crowd fx_crowd;

typedef struct fx_crowd_sum {
    int bought;             /* 201 */
    int refused;            /* definite: 409, 429, 503 */
    int unknown;            /* 504, 502, or no answer at all: bought or not */
    int other;              /* anything else, which nobody should see */
    int longest_gap_ms;     /* the longest time without any 201 */
    char last_failure[256]; /* what the latest answer but 201 was; "" = there was none */
} fx_crowd_sum;

/* Starts buyers of P0001 at base_url. */
fx_crowd *fx_crowd_start(const char *base_url, int buyers);

/* So far; any time. */
fx_crowd_sum fx_crowd_look(fx_crowd *crowd);

/* Waits until it has bought this many more; false when deadline_ms was not enough for it. */
bool fx_crowd_sells(fx_crowd *crowd, int more, int deadline_ms);

/* Ends them after the request each is at; the final sum. Frees the crowd. */
fx_crowd_sum fx_crowd_stop(fx_crowd *crowd);

#endif
