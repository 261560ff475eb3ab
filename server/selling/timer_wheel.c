/*
 * timer_wheel.c - slots, a hand, and a thread that turns it.
 *
 * The thread sleeps when there is no timer, and catches up with the clock when it was late. What is
 * started meanwhile counts from the clock, not from where the hand still is: so a timer is never
 * early, and at most two ticks late on a machine that keeps up.
 */
#include "server/selling/timer_wheel.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "lock/dlock_redis.h"

#define SLOTS   512
#define TICK_US 10000

struct fs_wheel {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a first timer, a fired one, or the end */
    wheel_timer *slots[SLOTS];
    wheel_timer *firing; /* the one whose function runs now */
    int hand;
    dlock_time hand_at; /* the time that the hand has come to */
    int timers;
    bool stop;
    pthread_t thread;
};

/* ---- under the lock -------------------------------------------------------------------------- */

static void insert(fs_wheel *wheel, wheel_timer *timer, int64_t in_ms)
{
    int64_t ticks = (dlock_in_ms(in_ms).us - wheel->hand_at.us) / TICK_US + 1;
    timer->slot = (int)((wheel->hand + ticks) % SLOTS);
    timer->rounds = (ticks - 1) / SLOTS;
    timer->prev = NULL;
    timer->next = wheel->slots[timer->slot];
    if (timer->next)
        timer->next->prev = timer;
    wheel->slots[timer->slot] = timer;
    wheel->timers++;
}

static void take_out(fs_wheel *wheel, wheel_timer *timer)
{
    if (timer->prev)
        timer->prev->next = timer->next;
    else
        wheel->slots[timer->slot] = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    timer->slot = -1;
    wheel->timers--;
}

/* The next timer of the hand's slot that is due. The others lose no round here. */
static wheel_timer *due(fs_wheel *wheel)
{
    for (wheel_timer *timer = wheel->slots[wheel->hand]; timer; timer = timer->next)
        if (timer->rounds == 0)
            return timer;
    return NULL;
}

/* Fires one timer with the lock open meanwhile. */
static void fire(fs_wheel *wheel, wheel_timer *timer)
{
    take_out(wheel, timer);
    wheel->firing = timer;
    pthread_mutex_unlock(&wheel->lock);
    int64_t again_ms = timer->fire(timer->arg);
    pthread_mutex_lock(&wheel->lock);
    if (again_ms >= 0)
        insert(wheel, timer, again_ms);
    wheel->firing = NULL;
    pthread_cond_broadcast(&wheel->changed);
}

static void tick(fs_wheel *wheel)
{
    wheel->hand_at.us += TICK_US;
    wheel->hand = (wheel->hand + 1) % SLOTS;
    for (wheel_timer *timer; (timer = due(wheel));)
        fire(wheel, timer);
    for (wheel_timer *timer = wheel->slots[wheel->hand]; timer; timer = timer->next)
        timer->rounds--;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *turn(void *arg)
{
    fs_wheel *wheel = arg;
    pthread_mutex_lock(&wheel->lock);
    while (!wheel->stop) {
        if (wheel->timers == 0) {
            pthread_cond_wait(&wheel->changed, &wheel->lock);
            continue;
        }
        pthread_mutex_unlock(&wheel->lock);
        nanosleep(&(struct timespec){.tv_nsec = TICK_US * 1000L}, NULL);
        pthread_mutex_lock(&wheel->lock);
        /* As many ticks as time has passed, for a sleep may have taken longer. */
        while (wheel->hand_at.us + TICK_US <= dlock_now().us)
            tick(wheel);
    }
    pthread_mutex_unlock(&wheel->lock);
    return NULL;
}

fs_wheel *wheel_open(void)
{
    fs_wheel *wheel = calloc(1, sizeof(*wheel));
    if (!wheel)
        return NULL;
    pthread_mutex_init(&wheel->lock, NULL);
    pthread_cond_init(&wheel->changed, NULL);
    if (pthread_create(&wheel->thread, NULL, turn, wheel) != 0) {
        free(wheel);
        return NULL;
    }
    return wheel;
}

void wheel_close(fs_wheel *wheel)
{
    if (!wheel)
        return;
    pthread_mutex_lock(&wheel->lock);
    wheel->stop = true;
    pthread_cond_broadcast(&wheel->changed);
    pthread_mutex_unlock(&wheel->lock);
    pthread_join(wheel->thread, NULL);
    pthread_cond_destroy(&wheel->changed);
    pthread_mutex_destroy(&wheel->lock);
    free(wheel);
}

void wheel_start(fs_wheel *wheel, wheel_timer *timer, int64_t in_ms, wheel_fire *fire_it, void *arg)
{
    timer->fire = fire_it;
    timer->arg = arg;
    pthread_mutex_lock(&wheel->lock);
    if (wheel->timers == 0 && !wheel->firing)
        wheel->hand_at = dlock_now(); /* it stood still while there was none */
    insert(wheel, timer, in_ms);
    if (wheel->timers == 1)
        pthread_cond_broadcast(&wheel->changed);
    pthread_mutex_unlock(&wheel->lock);
}

void wheel_stop(fs_wheel *wheel, wheel_timer *timer)
{
    pthread_mutex_lock(&wheel->lock);
    while (wheel->firing == timer)
        pthread_cond_wait(&wheel->changed, &wheel->lock);
    if (timer->slot >= 0)
        take_out(wheel, timer);
    pthread_mutex_unlock(&wheel->lock);
}
