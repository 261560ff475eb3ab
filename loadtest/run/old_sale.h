/*
 * old_sale.h - a small sale that is held right before a run's own, so that its ids are an old
 * sale's when the run has begun. A key belongs to one sale: who bought in it gets the same order
 * again, and nobody buys in it any more. It has a history of its own, for the same judge.
 */
#ifndef LOADTEST_OLD_SALE_H
#define LOADTEST_OLD_SALE_H

#include "loadtest/base/plan.h"
#include "loadtest/service/http_client.h"

typedef struct lt_old_sale lt_old_sale;

/* Starts it and has two users buy. NULL: it could not be held, which the run's own sale will tell.
 */
lt_old_sale *old_sale_hold(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec,
                           const char *key_prefix);

/* Once the next sale has begun: asks for its orders, sends their requests again, and tries to buy.
 */
void old_sale_ask(lt_old_sale *old);

/* Ends its history; by which it can be read until old_sale_free(). */
const char *old_sale_end(lt_old_sale *old);

void old_sale_free(lt_old_sale *old); /* NULL is allowed */

#endif
