/*
 * timer_wheel.h - a hashed timer wheel (Varghese and Lauck, 1987), for the watchdogs of two
 * articles.
 *
 *     slot 0   slot 1   slot 2  ...  slot 511        the hand moves one slot every 10 ms
 *       |                 |
 *     timer             timer - timer                due when the hand arrives and no rounds
 *                                                    are left
 *
 * Starting and stopping a timer takes O(1). That suits locks, as nearly all timers are stopped long
 * before they are due. A process has one wheel, so a sale needs no thread.
 */
#ifndef FLASHSALE_TIMER_WHEEL_H
#define FLASHSALE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

/* Called on the wheel's thread when a timer is due. Returns the ms until it is due again, or -1. */
typedef int64_t wheel_fire(void *arg);

/* A timer, in the caller's memory from wheel_start() to wheel_stop(). */
typedef struct wheel_timer {
    struct wheel_timer *next, *prev;
    wheel_fire *fire;
    void *arg;
    int64_t rounds; /* turns of the wheel that are left */
    int slot;       /* -1: not in the wheel */
} wheel_timer;

/* False: the wheel's thread could not be started; the timer was not started either. */
bool wheel_start(wheel_timer *timer, int64_t in_ms, wheel_fire *fire, void *arg);

/* After this returns the timer does not run. Do not call it from a timer. */
void wheel_stop(wheel_timer *timer);

#endif
