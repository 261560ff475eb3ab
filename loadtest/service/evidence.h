/*
 * evidence.h - what a history needs besides the load: the terms of the sale, the answers to buys in
 * other sales, the resolution of unknown outcomes, and, at rest, what every target says of the
 * stock, the ledger and a sample of the requests.
 */
#ifndef LOADTEST_EVIDENCE_H
#define LOADTEST_EVIDENCE_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/asker.h"
#include "loadtest/service/http_client.h"
#include "loadtest/service/ledger.h"
#include "loadtest/service/sale_api.h"

typedef struct lt_evidence {
    lt_ledger ledger; /* of the first reading */
    bool stock_known;
    lt_stock stock; /* at rest, of the first target */
    char why[200];  /* a sentence on what is missing; "" */
} lt_evidence;

/* Writes the line "sale". */
void evidence_terms(lt_pen *pen, const lt_plan *plan, const lt_sale_spec *spec,
                    const lt_sale *sale);

/* Before the load: buys in sales that are not this one, at each of the first targets. */
void evidence_before(lt_asker *asker, const lt_run_state *state, const lt_sale *sale);

/* After the load. Unknown outcomes are looked up for `patience` at most. */
void evidence_after(lt_asker *asker, lt_http *http, const lt_run_state *state, mono_ns patience,
                    lt_evidence *ret);

#endif
