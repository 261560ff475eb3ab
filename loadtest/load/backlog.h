/*
 * backlog.h - requests of an open model that are due while every connection is busy, first in,
 * first out.
 */
#ifndef LOADTEST_BACKLOG_H
#define LOADTEST_BACKLOG_H

#include "loadtest/base/clock.h"

#include <stdbool.h>
#include <stddef.h>

#define BACKLOG_MAX ((size_t)1 << 20) /* more than that, and the run says nothing anyway */

struct due_request {
    int64_t ticket;
    mono_ns due;
};

struct backlog {
    struct due_request *ring;
    size_t head, count, room; /* room is a power of two, or 0 */
};

/* False when the backlog is full, or memory short. */
bool backlog_push(struct backlog *backlog, struct due_request request);
bool backlog_pop(struct backlog *backlog, struct due_request *ret_request);
void backlog_release(struct backlog *backlog);

#endif
