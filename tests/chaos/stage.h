/*
 * stage.h - what a cell stands on: Redis in the form that its row and its fault need, a fault proxy
 * before it, the servers of redlock, three instances.
 */
#ifndef TESTS_CHAOS_STAGE_H
#define TESTS_CHAOS_STAGE_H

#include "tests/chaos/cell.h"

void stage_up(cell *c);
void stage_down(cell *c); /* takes what is there */

#endif
