/*
 * loop.h - one thread's event loop: epoll for sockets, a heap of timers for delays.
 *
 * A watch and a timer are embedded in their owner and must stay where they are while in use. An
 * owner may be freed only by loop_later(): epoll may already have reported it in the round that is
 * being worked on.
 */
#ifndef FAULTPROXY_LOOP_H
#define FAULTPROXY_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fp_loop fp_loop;

typedef struct loop_watch {
    int fd;
    uint32_t events; /* what epoll is asked for; 0: not watched */
    void (*ready)(struct loop_watch *watch, uint32_t events);
} loop_watch;

typedef struct loop_timer {
    int64_t due_us; /* CLOCK_MONOTONIC */
    size_t slot;    /* place in the heap, from 1; 0: not set */
    void (*fire)(struct loop_timer *timer);
} loop_timer;

fp_loop *loop_new(void); /* NULL: errno */
void loop_free(fp_loop *loop);

int64_t loop_now_us(void);

/* Watches for EPOLLIN, EPOLLOUT; 0 stops it. Hang-ups are reported only while it is watched. */
void loop_set_events(fp_loop *loop, loop_watch *watch, uint32_t events);

/* Sets, moves or (due_us < 0) clears the timer. Fires once. */
void loop_set_timer(fp_loop *loop, loop_timer *timer, int64_t due_us);

/* Calls fn(arg) once all events of this round are done. */
void loop_later(fp_loop *loop, void (*fn)(void *arg), void *arg);

/* Runs until loop_stop(), which a signal handler may call. */
void loop_run(fp_loop *loop);
void loop_stop(fp_loop *loop);

#endif
