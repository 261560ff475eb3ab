/*
 * timer_wheel.c - the slots, the hand, and the thread that turns it.
 *
 * The thread sleeps while there are no timers, and catches up with the clock when it is late. A
 * timer started meanwhile counts from the clock, not from the position of the hand. So a timer is
 * never early, and at most two ticks late on a machine that keeps up.
 */
#include "server/selling/timer_wheel.h"

#include <pthread.h>
#include <time.h>

#include "lock/dlock_redis.h"

#define SLOTS   512
#define TICK_US 10000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a first timer, or a fired one */
    wheel_timer *slots[SLOTS];
    wheel_timer *firing; /* the one whose function runs now */
    int hand;
    dlock_time hand_at; /* the time that the hand has come to */
    int timers;
    bool turning; /* there is a thread */
} wheel = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- under the lock -------------------------------------------------------------------------- */

static void insert(wheel_timer *timer, int64_t in_ms)
{
    int64_t ticks = (dlock_in_ms(in_ms).us - wheel.hand_at.us) / TICK_US + 1;
    timer->slot = (int)((wheel.hand + ticks) % SLOTS);
    timer->rounds = (ticks - 1) / SLOTS;
    timer->prev = NULL;
    timer->next = wheel.slots[timer->slot];
    if (timer->next)
        timer->next->prev = timer;
    wheel.slots[timer->slot] = timer;
    wheel.timers++;
}

static void take_out(wheel_timer *timer)
{
    if (timer->prev)
        timer->prev->next = timer->next;
    else
        wheel.slots[timer->slot] = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    timer->slot = -1;
    wheel.timers--;
}

/* The next timer of the hand's slot that is due. The others lose no round here. */
static wheel_timer *due(void)
{
    for (wheel_timer *timer = wheel.slots[wheel.hand]; timer; timer = timer->next)
        if (timer->rounds == 0)
            return timer;
    return NULL;
}

/* Fires one timer with the lock open meanwhile. */
static void fire(wheel_timer *timer)
{
    take_out(timer);
    wheel.firing = timer;
    pthread_mutex_unlock(&wheel.lock);
    int64_t again_ms = timer->fire(timer->arg);
    pthread_mutex_lock(&wheel.lock);
    if (again_ms >= 0)
        insert(timer, again_ms);
    wheel.firing = NULL;
    pthread_cond_broadcast(&wheel.changed);
}

static void tick(void)
{
    wheel.hand_at.us += TICK_US;
    wheel.hand = (wheel.hand + 1) % SLOTS;
    for (wheel_timer *timer; (timer = due());)
        fire(timer);
    for (wheel_timer *timer = wheel.slots[wheel.hand]; timer; timer = timer->next)
        timer->rounds--;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *turn(void *unused)
{
    pthread_mutex_lock(&wheel.lock);
    for (;;) {
        if (wheel.timers == 0) {
            pthread_cond_wait(&wheel.changed, &wheel.lock);
            continue;
        }
        pthread_mutex_unlock(&wheel.lock);
        nanosleep(&(struct timespec){.tv_nsec = TICK_US * 1000L}, NULL);
        pthread_mutex_lock(&wheel.lock);
        /* As many ticks as time has passed, for a sleep may have taken longer. */
        while (wheel.hand_at.us + TICK_US <= dlock_now().us)
            tick();
    }
    return unused;
}

/* Under the lock. It turns as long as the process lives. */
static bool is_turning(void)
{
    pthread_t thread;
    if (!wheel.turning && pthread_create(&thread, NULL, turn, NULL) == 0) {
        pthread_detach(thread);
        wheel.turning = true;
    }
    return wheel.turning;
}

bool wheel_start(wheel_timer *timer, int64_t in_ms, wheel_fire *fire_it, void *arg)
{
    timer->fire = fire_it;
    timer->arg = arg;
    pthread_mutex_lock(&wheel.lock);
    bool turning = is_turning();
    if (turning && wheel.timers == 0 && !wheel.firing)
        wheel.hand_at = dlock_now(); /* it stood still while there was none */
    if (turning)
        insert(timer, in_ms);
    pthread_cond_broadcast(&wheel.changed);
    pthread_mutex_unlock(&wheel.lock);
    return turning;
}

void wheel_stop(wheel_timer *timer)
{
    pthread_mutex_lock(&wheel.lock);
    while (wheel.firing == timer)
        pthread_cond_wait(&wheel.changed, &wheel.lock);
    if (timer->slot >= 0)
        take_out(timer);
    pthread_mutex_unlock(&wheel.lock);
}
