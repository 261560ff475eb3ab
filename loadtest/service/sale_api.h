/*
 * sale_api.h - what a run asks of the service besides buying: create the sale, and wait until every
 * target sells it.
 *
 * Functions return false with a sentence in `err` when the service did not answer as its contract
 * says.
 */
#ifndef LOADTEST_SALE_API_H
#define LOADTEST_SALE_API_H

#include "loadtest/base/plan.h"
#include "loadtest/service/stock.h"

/* A sale as it was started. */
typedef struct lt_sale {
    char id[SALE_ID_MAX];
    char previous[SALE_ID_MAX]; /* the item's sale before it; "" = not told */
    int64_t lease_ms;           /* 0 where it is not told */
    int64_t wait_ms;            /* the longest that a request waits for a lock */
    int64_t segments;           /* that its stock is split into: 1 when it is not */
} lt_sale;

/* Closes the item's sale and starts one as `spec` says, at the first target. Terms that the
 * answer does not name are as in `spec`, or at their maximum; terms that it names must be those
 * asked for. */
bool sale_create(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec, lt_sale *ret,
                 char *err, size_t err_len);

/* How long after the first attempt the service may need to say with certainty that there will be
 * no order: the time of a request, which follows from the sale's wait, and a margin. */
mono_ns sale_final_after(const lt_sale *sale);

/* Waits until every target serves `sale`: 3 s at most, as the service promises 1 s. */
bool sale_wait_everywhere(lt_http *http, const lt_plan *plan, const char *sale, char *err,
                          size_t err_len);

/* Whether every target answers HTTP at all; names the first that does not. */
bool sale_targets_alive(lt_http *http, const lt_plan *plan, char *err, size_t err_len);

#endif
