/*
 * history.h - writes down what a test program does with locks, for histcheck to judge.
 *
 * tests/tools/histcheck/event.h has the format. Every thread writes into a mapped file of its own:
 * an event costs one formatting and no system call, and what was written survives SIGKILL.
 */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include <stdint.h>

#include "tests/tools/histcheck/event.h"

typedef struct hist_event {
    event_kind kind;
    int64_t ns;       /* 0: now */
    int64_t process;  /* 0: this one */
    uint64_t context; /* 0: the calling thread */
    uint64_t op, hold, fence;
    int depth;
    int takes, of; /* of an invoke; 0: all */
    const char *lock;
} hist_event;

/* All histories of this process go to files in the directory `dir`, which exists. 0, or -1 and
 * errno. A forked child calls it anew; called again it goes on in the new directory. */
int hist_open(const char *dir);

/* Writes one event down. Any thread. Nothing happens before hist_open(). */
void hist_write(const hist_event *event);

/* A number for an operation, unique within the process. */
uint64_t hist_op(void);

int64_t hist_now_ns(void);

#endif
