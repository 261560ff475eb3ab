/*
 * asker.h - sends one recorded request to one target: a buy, or a lookup. For everything besides
 * the load: follow-ups and evidence. A request takes 5 s at most, or --timeout-ms if that is less.
 */
#ifndef LOADTEST_ASKER_H
#define LOADTEST_ASKER_H

#include "loadtest/base/plan.h"
#include "loadtest/load/answer.h"

#include <signal.h>

typedef struct lt_asker lt_asker; /* used by one thread at a time */

/* Set when the run is interrupted: then no question takes much longer than a second. */
extern volatile sig_atomic_t asker_interrupted;

/* For this item's sale (borrowed, like the plan); each question is a line of the history. NULL
 * when memory is short. */
lt_asker *asker_new(const lt_plan *plan, const char *sale, lt_recorder *recorder);
void asker_free(lt_asker *asker);

/* `POST /buy`, by the question's request, user, quantity, asked, not_after_us and target. */
void asker_buy(lt_asker *asker, lt_question question, lt_answer *ret);

/* `POST /orders/{request}/confirm`, or `/cancel`, by its request, user, ending and target. */
void asker_end(lt_asker *asker, lt_question question, lt_answer *ret);

/* `GET /orders/{request}`, by its request and target. */
void asker_look(lt_asker *asker, const char *request, int target, lt_answer *ret);

/* No question lasts beyond this instant; an answer that comes later counts as none. */
void asker_limit(lt_asker *asker, mono_ns deadline);
bool asker_is_late(const lt_asker *asker);

/* Runs `work` on this thread with this asker, and on others with askers like it: `threads` at
 * most in all. Returns when all have returned. */
void asker_share(lt_asker *asker, int threads, void (*work)(lt_asker *asker, void *arg), void *arg);

/* Its pen, for other lines. */
lt_pen *asker_pen(lt_asker *asker);

#endif
