#include "loadtest/load/backlog.h"

#include <stdlib.h>

#define FIRST_ROOM 256

static bool grow(struct backlog *backlog)
{
    size_t room = backlog->room == 0 ? FIRST_ROOM : backlog->room * 2;
    struct due_request *ring = room > BACKLOG_MAX ? NULL : malloc(room * sizeof(*ring));
    if (!ring)
        return false;
    for (size_t i = 0; i < backlog->count; i++)
        ring[i] = backlog->ring[(backlog->head + i) & (backlog->room - 1)];
    free(backlog->ring);
    *backlog = (struct backlog){.ring = ring, .count = backlog->count, .room = room};
    return true;
}

bool backlog_push(struct backlog *backlog, struct due_request request)
{
    if (backlog->count == backlog->room && !grow(backlog))
        return false;
    backlog->ring[(backlog->head + backlog->count++) & (backlog->room - 1)] = request;
    return true;
}

bool backlog_pop(struct backlog *backlog, struct due_request *ret_request)
{
    if (backlog->count == 0)
        return false;
    *ret_request = backlog->ring[backlog->head];
    backlog->head = (backlog->head + 1) & (backlog->room - 1);
    backlog->count--;
    return true;
}

void backlog_release(struct backlog *backlog)
{
    free(backlog->ring);
    *backlog = (struct backlog){0};
}
