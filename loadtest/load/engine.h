/*
 * engine.h - the threads that move the buyers through a run: a few workers, whatever the number of
 * users, who are spread over them evenly; see worker.h. By default there is one for two cores: on
 * two cores, shared with the service, one worker needed a tenth less processor time a request than
 * two did (10 to 1,000 users), and got as many answers.
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

/* The number of workers that a plan needs. */
int engine_workers(const lt_plan *plan);

/* Starts the threads, one for each tally. NULL, with a sentence in `err`, when that fails. */
lt_engine *engine_start(lt_run_state *state, char *err, size_t err_len);

/* Gives up the open requests. Any thread. */
void engine_cut(lt_engine *engine);

/* Waits for all threads; frees the engine. */
void engine_join(lt_engine *engine);

#endif
