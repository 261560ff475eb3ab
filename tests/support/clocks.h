/*
 * clocks.h - a time of day that steps, of all servers of one program that are started from now on:
 * of Redis, or of the instances. It is preloaded (tests/tools/shims/clock.c), so that nobody else's
 * clock steps.
 */
#ifndef TESTS_SUPPORT_CLOCKS_H
#define TESTS_SUPPORT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Gives such clocks to "redis-server" or "flashsale": each process takes the next one, from 0 on,
 * in the order of their starts. NULL: to the program that $REDIS_SERVER names. */
void fx_clocks_give(const char *program);

/* So many seconds ahead of the machine's time, or behind it where it is negative. -1: all clocks.
 */
void fx_clocks_set(int which, int64_t ahead_s);

/* Whether the clock has been asked since it was set, other than to the machine's time. */
bool fx_clocks_told(int which);

/* Nobody who is started from now on gets one. May be called where none was given. */
void fx_clocks_end(void);

#endif
