/*
 * old_sale.h - a small sale right before a run's own, so that its ids belong to an old sale when
 * the run begins. A key belongs to one sale: its buyer gets the same order again, and nobody can
 * buy in that sale any more. It has its own history, for the same judge.
 */
#ifndef LOADTEST_OLD_SALE_H
#define LOADTEST_OLD_SALE_H

#include "loadtest/base/plan.h"
#include "loadtest/service/http_client.h"

typedef struct lt_old_sale lt_old_sale;

/* Starts it and has two users buy. NULL: it could not be held, so its races were not tried. */
lt_old_sale *old_sale_hold(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec,
                           const char *key_prefix);

/* After the next sale has begun: asks for the old orders, sends their requests again, and tries
 * to buy. */
void old_sale_ask(lt_old_sale *old);

/* Ends its history. Returns its path, valid until old_sale_free(). */
const char *old_sale_end(lt_old_sale *old);

void old_sale_free(lt_old_sale *old); /* NULL is allowed */

#endif
