/* ticker.c - the thread, with a pause that a stop interrupts. */
#include "server/base/ticker.h"

#include <stdlib.h>

#include "lock/dlock_redis.h"

struct ticker {
    void (*tick)(void *arg);
    void *arg;
    int64_t pause_ms;
    pthread_t thread;
    pthread_mutex_t lock; /* guards stop */
    pthread_cond_t stopped;
    bool stop;
};

static void *run(void *arg)
{
    ticker *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        pthread_mutex_unlock(&t->lock);
        t->tick(t->arg);
        dlock_time until = dlock_in_ms(t->pause_ms);
        pthread_mutex_lock(&t->lock);
        while (!t->stop && !dlock_passed(until))
            dlock_cond_wait(&t->stopped, &t->lock, until);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void ticker_free(ticker *t)
{
    pthread_cond_destroy(&t->stopped);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

ticker *ticker_start(void (*tick)(void *arg), void *arg, int64_t pause_ms)
{
    ticker *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->tick = tick;
    t->arg = arg;
    t->pause_ms = pause_ms;
    pthread_mutex_init(&t->lock, NULL);
    dlock_cond_init(&t->stopped);
    if (pthread_create(&t->thread, NULL, run, t) == 0)
        return t;
    ticker_free(t);
    return NULL;
}

void ticker_stop(ticker *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->stopped);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    ticker_free(t);
}
