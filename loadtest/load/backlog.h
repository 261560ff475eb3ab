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

typedef struct lt_due_request {
    int64_t ticket;
    mono_ns due;
} lt_due_request;

typedef struct lt_backlog {
    lt_due_request *ring;
    size_t head, count, room; /* room is a power of two, or 0 */
} lt_backlog;

/* False when the backlog is full, or memory short. */
bool backlog_push(lt_backlog *backlog, lt_due_request request);
bool backlog_pop(lt_backlog *backlog, lt_due_request *ret_request);
void backlog_release(lt_backlog *backlog);

#endif
