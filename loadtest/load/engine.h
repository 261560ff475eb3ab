/*
 * engine.h - what moves the buyers through a run.
 *
 * Two engines, one interface. Up to PLAN_THREADED_MAX users of a closed or flash model get a
 * thread each, which blocks in libcurl: exact concurrency, and the cheapest request. More users,
 * or an open model, are driven by events: a few threads, each with an epoll set and a multi handle.
 *
 *     engine_start()  threads open their connections and wait at the gate
 *     run_state_start() opens the gate
 *     ...             the run ends by itself or is stopped; threads finish the requests under way
 *     engine_cut()    when that takes too long: what is under way is given up as unfinished
 *     engine_join()   waits for the threads and frees everything
 */
#ifndef LOADTEST_ENGINE_H
#define LOADTEST_ENGINE_H

#include "loadtest/load/run_state.h"

typedef struct lt_engine lt_engine;

/* What the threads of an engine collect: one tally and one list of receipts for each. */
typedef struct lt_fleet {
    int threads;
    lt_tally **tallies;
    lt_receipts *receipts;
} lt_fleet;

/* The number of threads that a plan needs. */
int engine_threads(const lt_plan *plan);

/* An empty fleet for so many threads. False when memory is short. */
bool fleet_init(lt_fleet *fleet, int threads);
void fleet_release(lt_fleet *fleet);

/* All tallies in one new tally, also while they grow. NULL when memory is short. */
lt_tally *fleet_sum(const lt_fleet *fleet);

/* Starts the threads. NULL, with a sentence in `err`, when that fails. */
lt_engine *engine_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len);

/* Gives up the requests under way. Any thread. */
void engine_cut(lt_engine *engine);

/* Waits for all threads; frees the engine. */
void engine_join(lt_engine *engine);

#endif
