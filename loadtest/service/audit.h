/*
 * audit.h - the buyers' receipts against the service's ledger.
 *
 * The invariants that GET /stock can not show: one order per request id (I3), every 201 has its
 * order, which says what was asked for (I4), no refused request has one, and every unknown outcome
 * turns out to be one or the other (I5).
 */
#ifndef LOADTEST_AUDIT_H
#define LOADTEST_AUDIT_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/http_client.h"
#include "loadtest/service/ledger.h"
#include "loadtest/service/sale_api.h"

typedef struct lt_audit {
    lt_ledger ledger;
    char broken[200]; /* why it is LEDGER_BROKEN */

    /* By a whole ledger; else 0. */
    int64_t orders;      /* that it lists */
    int64_t units;       /* what their quantities add up to */
    int64_t first_units; /* likewise, of the first order of each request only */
    int64_t incomplete;  /* of these, leave out id, user, item, sale or quantity */
    int64_t strangers;   /* orders of this sale that this run did not make */
    int64_t matched;    /* sold requests whose order is there, with the id (and the units left) that
                           the buyer was told */
    int64_t other;      /* orders that name another user, item, sale or quantity than asked for */
    int64_t duplicates; /* orders beyond the first of a request */
    int64_t unannounced; /* refused for certain, or never made, and yet there */
    int64_t unknown_sold, unknown_not_sold, unknown_open; /* what became of unknown outcomes */
    int64_t contradicted; /* of these, what GET /orders/{request} said and the ledger says not */

    /* By the receipts, and by a ledger that is whole. */
    int64_t unknown;     /* requests whose outcome is unknown */
    int64_t shared;      /* requests that were told, or have, the order of another one */
    int64_t most_units;  /* that one user has bought, whether or not it was told so */
    int64_t wrong_limit; /* refused by a limit that their user had not reached */
} lt_audit;

/*
 * Reads the ledger and compares it with the receipts of a run whose threads were joined. Requests
 * whose outcome is unknown are asked for one by one first, until their answer is final or
 * `patience` is over.
 */
lt_audit audit_check(lt_http *http, const lt_run_state *state, const lt_sale_spec *spec,
                     mono_ns patience);

#endif
