/*
 * threads.h - the engine of one thread a user; see engine.h.
 */
#ifndef LOADTEST_THREADS_H
#define LOADTEST_THREADS_H

#include "loadtest/load/engine.h"

typedef struct lt_threads lt_threads;

lt_threads *threads_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len);
void threads_cut(lt_threads *threads);
void threads_join(lt_threads *threads);

#endif
