/*
 * events.h - the engine of a few threads that each drive many users; see engine.h.
 */
#ifndef LOADTEST_EVENTS_H
#define LOADTEST_EVENTS_H

#include "loadtest/engine.h"

struct events;

struct events *events_start(struct course *course, struct fleet *fleet, char *err, size_t err_size);
void events_cut(struct events *events);
void events_join(struct events *events);

#endif
