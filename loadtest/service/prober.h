/*
 * prober.h - asks again during the load, as users do: a thread that works off the follow-ups
 * (load/followups.h), each at another target than the one that answered first.
 */
#ifndef LOADTEST_PROBER_H
#define LOADTEST_PROBER_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/asker.h"

typedef struct lt_prober lt_prober;

/* Starts the prober. Borrows the pointers. NULL when memory, or threads, are short. */
lt_prober *prober_start(const lt_run_state *state);

/* Lets it work off what is left, until the deadline; ends it and frees it. Returns how many
 * requests it sent again. */
int64_t prober_stop(lt_prober *prober, mono_ns deadline);

/* Asks about the request of this ticket, at the target after `target`. A retry is repeated a few
 * times while it is answered "busy". FOLLOW_END confirms an order that its user neither confirms
 * nor cancels. */
void probe_ask(lt_asker *asker, const lt_run_state *state, lt_followup_kind kind, int64_t ticket,
               int target, lt_answer *ret);

#endif
