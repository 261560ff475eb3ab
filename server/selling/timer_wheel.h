/*
 * timer_wheel.h - a hashed timer wheel, for the two articles whose watchdogs run on timers of their
 * own.
 *
 *     slot 0   slot 1   slot 2  ...  slot 511        the hand moves one slot every 10 ms
 *       |                 |
 *     timer             timer - timer                due when the hand comes by and no rounds
 *                                                    are left
 *
 * Starting and stopping a timer cost the same however many there are, which suits locks: nearly
 * all timers are stopped long before they are due. (Varghese and Lauck, 1987.) A process has one
 * wheel, so that a sale costs no thread.
 */
#ifndef FLASHSALE_TIMER_WHEEL_H
#define FLASHSALE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

/* What a timer does when it is due, on the wheel's thread. Returns the ms until it is due again,
 * or -1. */
typedef int64_t wheel_fire(void *arg);

/* A timer, in the caller's memory from wheel_start() to wheel_stop(). */
typedef struct wheel_timer {
    struct wheel_timer *next, *prev;
    wheel_fire *fire;
    void *arg;
    int64_t rounds; /* of the whole wheel, still to go */
    int slot;       /* -1: not in the wheel */
} wheel_timer;

/* False: there is no thread to turn the wheel, and nothing was started. */
bool wheel_start(wheel_timer *timer, int64_t in_ms, wheel_fire *fire, void *arg);

/* The timer does nothing any more when this returns. Not from within a timer. */
void wheel_stop(wheel_timer *timer);

#endif
