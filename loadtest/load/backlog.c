#include "loadtest/load/backlog.h"

#include <stdlib.h>

#define FIRST_ROOM 256

static bool grow(lt_backlog *backlog)
{
    size_t room = backlog->room == 0 ? FIRST_ROOM : backlog->room * 2;
    lt_due_request *ring = room > BACKLOG_MAX ? NULL : malloc(room * sizeof(*ring));
    if (!ring)
        return false;
    for (size_t i = 0; i < backlog->count; i++)
        ring[i] = backlog->ring[(backlog->head + i) & (backlog->room - 1)];
    free(backlog->ring);
    *backlog = (lt_backlog){.ring = ring, .count = backlog->count, .room = room};
    return true;
}

bool backlog_push(lt_backlog *backlog, lt_due_request request)
{
    if (backlog->count == backlog->room && !grow(backlog))
        return false;
    backlog->ring[(backlog->head + backlog->count++) & (backlog->room - 1)] = request;
    return true;
}

bool backlog_pop(lt_backlog *backlog, lt_due_request *ret_request)
{
    if (backlog->count == 0)
        return false;
    *ret_request = backlog->ring[backlog->head];
    backlog->head = (backlog->head + 1) & (backlog->room - 1);
    backlog->count--;
    return true;
}

void backlog_release(lt_backlog *backlog)
{
    free(backlog->ring);
    *backlog = (lt_backlog){0};
}
