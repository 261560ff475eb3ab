/*
 * due_jobs.h - what is to be done at a time, by whichever thread is free then: a heap of jobs, the
 * next one first. One of them a program.
 */
#ifndef TESTS_E2E_DUE_JOBS_H
#define TESTS_E2E_DUE_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct race;

static inline int64_t unix_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* Redis's: it is this machine's */
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

typedef struct job {
    int64_t due_us;
    struct race *race;
    int runner; /* -1: reserves */
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *heap; /* of those not begun, the next one first */
    int count, running;
    uint64_t random;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline int64_t drawn(int64_t below)
{
    jobs.random = jobs.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((jobs.random >> 33) % (uint64_t)below);
}

static inline void swap(int a, int b)
{
    job kept = jobs.heap[a];
    jobs.heap[a] = jobs.heap[b];
    jobs.heap[b] = kept;
}

/* With the lock: adds one, for which there is room. */
static inline void put(int64_t due_us, struct race *of, int runner)
{
    int i = jobs.count++;
    jobs.heap[i] = (job){due_us, of, runner};
    for (; i > 0 && jobs.heap[i].due_us < jobs.heap[(i - 1) / 2].due_us; i = (i - 1) / 2)
        swap(i, (i - 1) / 2);
    pthread_cond_broadcast(&jobs.changed);
}

static inline job take_first(void)
{
    job first = jobs.heap[0];
    jobs.heap[0] = jobs.heap[--jobs.count];
    for (int i = 0, next; (next = 2 * i + 1) < jobs.count; i = next) {
        if (next + 1 < jobs.count && jobs.heap[next + 1].due_us < jobs.heap[next].due_us)
            next++;
        if (jobs.heap[i].due_us <= jobs.heap[next].due_us)
            break;
        swap(i, next);
    }
    return first;
}

/* The next job that is due. False: there is none, and none will come. */
static inline bool next_job(job *ret)
{
    pthread_mutex_lock(&jobs.lock);
    for (;;) {
        int64_t due_us = jobs.count > 0 ? jobs.heap[0].due_us : INT64_MAX;
        if (jobs.count == 0 && jobs.running == 0)
            break;
        if (due_us <= unix_us()) {
            *ret = take_first();
            jobs.running++;
            pthread_mutex_unlock(&jobs.lock);
            return true;
        }
        struct timespec until = {.tv_sec = due_us / 1000000, .tv_nsec = due_us % 1000000 * 1000};
        if (jobs.count == 0)
            pthread_cond_wait(&jobs.changed, &jobs.lock);
        else
            pthread_cond_timedwait(&jobs.changed, &jobs.lock, &until);
    }
    pthread_cond_broadcast(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
    return false;
}

/* The one that next_job() has given is done. */
static inline void end_job(void)
{
    pthread_mutex_lock(&jobs.lock);
    jobs.running--;
    pthread_cond_broadcast(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
}

/* Whether all are done. */
static inline bool are_over(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&jobs.lock);
    bool over = jobs.count == 0 && jobs.running == 0;
    pthread_mutex_unlock(&jobs.lock);
    return over;
}

#endif
