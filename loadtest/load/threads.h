/*
 * threads.h - the engine of one thread a user; see engine.h.
 */
#ifndef LOADTEST_THREADS_H
#define LOADTEST_THREADS_H

#include "loadtest/load/engine.h"

struct threads;

struct threads *threads_start(struct course *course, struct fleet *fleet, char *err,
                              size_t err_len);
void threads_cut(struct threads *threads);
void threads_join(struct threads *threads);

#endif
