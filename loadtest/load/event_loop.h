/*
 * event_loop.h - the engine of a few threads that each drive many users; see engine.h.
 */
#ifndef LOADTEST_EVENT_LOOP_H
#define LOADTEST_EVENT_LOOP_H

#include "loadtest/load/engine.h"

typedef struct lt_events lt_events;

lt_events *events_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len);
void events_cut(lt_events *events);
void events_join(lt_events *events);

#endif
