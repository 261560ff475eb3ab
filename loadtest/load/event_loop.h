/*
 * event_loop.h - the engine of a few threads that each drive many users; see engine.h.
 */
#ifndef LOADTEST_EVENT_LOOP_H
#define LOADTEST_EVENT_LOOP_H

#include "loadtest/load/engine.h"

struct events;

struct events *events_start(struct course *course, struct fleet *fleet, char *err, size_t err_len);
void events_cut(struct events *events);
void events_join(struct events *events);

#endif
