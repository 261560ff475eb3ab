/*
 * audit.h - the buyers' receipts against the service's ledger.
 *
 * The invariants that GET /stock can not show: one order per request id (I3), every 201 has its
 * order (I4), no refused request has one, and every unknown outcome turns out to be one or the
 * other (I5).
 */
#ifndef LOADTEST_AUDIT_H
#define LOADTEST_AUDIT_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/http_client.h"

typedef struct lt_audit {
    bool available;      /* the service lists its orders (GET /orders) */
    bool complete;       /* and all pages could be read */
    int64_t strangers;   /* orders of this sale that this run did not make */
    int64_t matched;     /* sold requests whose order is there, with the id the buyer was told */
    int64_t missing;     /* sold requests without */
    int64_t differing;   /* sold requests whose order has another id */
    int64_t duplicates;  /* orders beyond the first of a request */
    int64_t unannounced; /* refused requests that do have an order */
    int64_t unknown_sold, unknown_not_sold, unknown_open; /* what became of unknown outcomes */
} lt_audit;

/*
 * Reads the ledger and compares it with the receipts of a run whose threads were joined. Requests
 * whose outcome is unknown are asked for one by one first, until their answer is final or
 * `patience` is over.
 */
lt_audit audit_check(lt_http *http, const lt_run_state *state, mono_ns patience);

#endif
