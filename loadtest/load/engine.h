/*
 * engine.h - the threads that move the buyers through a run.
 *
 * Up to PLAN_THREADED_MAX users of a closed or flash model get a thread each. More users, or an
 * open model, are spread over a few workers; see driver.h.
 *
 *     engine_start()     threads open their connections and wait at the gate
 *     run_state_start()  opens the gate
 *     ...                the run ends by itself or is stopped; threads await their answers
 *     engine_cut()       when that takes too long: open requests are given up as unfinished
 *     engine_join()      waits for the threads and frees everything
 */
#ifndef LOADTEST_ENGINE_H
#define LOADTEST_ENGINE_H

#include "loadtest/load/run_state.h"

typedef struct lt_engine lt_engine;

/* The number of threads that a plan needs. */
int engine_threads(const lt_plan *plan);

/* Starts the threads, one for each tally. NULL, with a sentence in `err`, when that fails. */
lt_engine *engine_start(lt_run_state *state, char *err, size_t err_len);

/* Gives up the open requests. Any thread. */
void engine_cut(lt_engine *engine);

/* Waits for all threads; frees the engine. */
void engine_join(lt_engine *engine);

#endif
