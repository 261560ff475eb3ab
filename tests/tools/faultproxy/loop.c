/*
 * Timers are a binary heap in an array, so that a hundred thousand delayed messages a second cost
 * little; epoll waits until the first of them is due, with the resolution of a timerfd, as
 * epoll_wait() itself only knows milliseconds.
 */
#include "tests/tools/faultproxy/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_A_ROUND 256

struct later {
    void (*fn)(void *arg);
    void *arg;
};

struct fp_loop {
    int epoll_fd, timer_fd;
    int64_t armed_us;  /* what timer_fd is set to; -1: nothing */
    loop_timer **heap; /* heap[1..timers], earliest first (each borrowed) */
    size_t timers, heap_cap;
    struct later *later;
    size_t laters, later_cap;
    volatile sig_atomic_t stop;
};

static void *grown(void *array, size_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 64;
    void *ret = realloc(array, *cap * size);
    if (!ret)
        abort(); /* a test tool without memory has nothing left to say */
    return ret;
}

fp_loop *loop_new(void)
{
    fp_loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return NULL;
    loop->armed_us = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &event) != 0) {
        loop_free(loop);
        return NULL;
    }
    return loop;
}

void loop_free(fp_loop *loop)
{
    if (!loop)
        return;
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    if (loop->timer_fd >= 0)
        close(loop->timer_fd);
    free(loop->heap);
    free(loop->later);
    free(loop);
}

int64_t loop_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void loop_set_events(fp_loop *loop, loop_watch *watch, uint32_t events)
{
    if (watch->events == events)
        return;
    int what = !events ? EPOLL_CTL_DEL : watch->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    struct epoll_event event = {.events = events, .data.ptr = watch};
    epoll_ctl(loop->epoll_fd, what, watch->fd, &event);
    watch->events = events;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static void heap_put(fp_loop *loop, size_t slot, loop_timer *timer)
{
    loop->heap[slot] = timer;
    timer->slot = slot;
}

static void heap_up(fp_loop *loop, size_t slot, loop_timer *timer)
{
    for (; slot > 1 && loop->heap[slot / 2]->due_us > timer->due_us; slot /= 2)
        heap_put(loop, slot, loop->heap[slot / 2]);
    heap_put(loop, slot, timer);
}

static void heap_down(fp_loop *loop, size_t slot, loop_timer *timer)
{
    for (size_t child; (child = slot * 2) <= loop->timers; slot = child) {
        if (child < loop->timers && loop->heap[child + 1]->due_us < loop->heap[child]->due_us)
            child++;
        if (loop->heap[child]->due_us >= timer->due_us)
            break;
        heap_put(loop, slot, loop->heap[child]);
    }
    heap_put(loop, slot, timer);
}

static void heap_remove(fp_loop *loop, loop_timer *timer)
{
    size_t slot = timer->slot;
    timer->slot = 0;
    loop_timer *last = loop->heap[loop->timers--];
    if (last == timer)
        return;
    heap_up(loop, slot, last);
    heap_down(loop, last->slot, last);
}

void loop_set_timer(fp_loop *loop, loop_timer *timer, int64_t due_us)
{
    if (timer->slot)
        heap_remove(loop, timer);
    if (due_us < 0)
        return;
    if (loop->timers + 1 >= loop->heap_cap)
        loop->heap = grown(loop->heap, &loop->heap_cap, sizeof(loop->heap[0]));
    timer->due_us = due_us;
    heap_up(loop, ++loop->timers, timer);
}

static void fire_due_timers(fp_loop *loop)
{
    int64_t now_us = loop_now_us();
    while (loop->timers && loop->heap[1]->due_us <= now_us) {
        loop_timer *timer = loop->heap[1];
        heap_remove(loop, timer);
        timer->fire(timer);
    }
}

/* ---- the rounds ------------------------------------------------------------------------------ */

static void arm(fp_loop *loop)
{
    int64_t due_us = loop->timers ? loop->heap[1]->due_us : -1;
    if (due_us == loop->armed_us)
        return;
    loop->armed_us = due_us;
    struct itimerspec when = {0}; /* all-zero disarms */
    if (due_us >= 0) {
        when.it_value.tv_sec = due_us / 1000000;
        when.it_value.tv_nsec = due_us % 1000000 * 1000 + 1;
    }
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void disarmed(fp_loop *loop)
{
    uint64_t expirations;
    if (read(loop->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
        loop->armed_us = -1;
}

void loop_later(fp_loop *loop, void (*fn)(void *arg), void *arg)
{
    if (loop->laters == loop->later_cap)
        loop->later = grown(loop->later, &loop->later_cap, sizeof(loop->later[0]));
    loop->later[loop->laters++] = (struct later){fn, arg};
}

static void run_later(fp_loop *loop)
{
    for (size_t i = 0; i < loop->laters; i++)
        loop->later[i].fn(loop->later[i].arg);
    loop->laters = 0;
}

void loop_run(fp_loop *loop)
{
    struct epoll_event events[EVENTS_A_ROUND];
    while (!loop->stop) {
        arm(loop);
        int count = epoll_wait(loop->epoll_fd, events, EVENTS_A_ROUND, -1);
        for (int i = 0; i < count; i++) {
            loop_watch *watch = events[i].data.ptr;
            if (!watch)
                disarmed(loop);
            else if (watch->events)
                watch->ready(watch, events[i].events);
        }
        fire_due_timers(loop);
        run_later(loop);
    }
    run_later(loop);
}

void loop_stop(fp_loop *loop)
{
    loop->stop = 1;
}
