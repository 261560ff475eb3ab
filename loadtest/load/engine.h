/*
 * engine.h - what moves the buyers through a run.
 *
 * Two engines, one interface. Up to PLAN_THREADED_MAX users of a closed or flash model get a
 * thread each, which blocks in libcurl: exact concurrency, and the cheapest request. More users,
 * or an open model, are driven by events: a few threads, each with an epoll set and a multi handle.
 *
 *     engine_start()  threads open their connections and wait at the course's gate
 *     course_start()  opens the gate
 *     ...             the course ends by itself or is stopped; threads finish what is in flight
 *     engine_cut()    when that takes too long: what is in flight is given up as unfinished
 *     engine_join()   waits for the threads and frees everything
 */
#ifndef LOADTEST_ENGINE_H
#define LOADTEST_ENGINE_H

#include "loadtest/load/run_state.h"

struct engine;

/* What the threads of an engine collect: one tally and one list of receipts for each. */
struct fleet {
    int threads;
    struct tally **tallies;
    struct receipts *receipts;
};

/* The number of threads that a plan needs. */
int engine_threads(const struct load_plan *plan);

/* An empty fleet for so many threads. False when memory is short. */
bool fleet_init(struct fleet *fleet, int threads);
void fleet_release(struct fleet *fleet);

/* All tallies in one new tally, also while they grow. NULL when memory is short. */
struct tally *fleet_sum(const struct fleet *fleet);

/* Starts the threads. NULL, with a sentence in `err`, when that fails. */
struct engine *engine_start(struct course *course, struct fleet *fleet, char *err, size_t err_len);

/* Gives up what is in flight. Any thread. */
void engine_cut(struct engine *engine);

/* Waits for all threads; frees the engine. */
void engine_join(struct engine *engine);

#endif
