/* waiting.c - a binary heap of replies that are not due yet. */
#include "tests/tools/stubserver/waiting.h"

#include <stdio.h>
#include <stdlib.h>

static void swap(struct waiting_reply *a, struct waiting_reply *b)
{
    struct waiting_reply c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(struct waiting *waiting, size_t i)
{
    while (i > 0 && waiting->heap[i].due < waiting->heap[(i - 1) / 2].due) {
        swap(&waiting->heap[i], &waiting->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct waiting *waiting, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < waiting->count; child++) {
            if (waiting->heap[child].due < waiting->heap[least].due)
                least = child;
        }
        if (least == i)
            return;
        swap(&waiting->heap[i], &waiting->heap[least]);
        i = least;
    }
}

void waiting_push(struct waiting *waiting, const struct waiting_reply *reply)
{
    if (waiting->count == waiting->room) {
        waiting->room = waiting->room == 0 ? 64 : waiting->room * 2;
        waiting->heap = realloc(waiting->heap, waiting->room * sizeof(waiting->heap[0]));
        if (waiting->heap == NULL) {
            fputs("stubserver: out of memory\n", stderr);
            exit(1);
        }
    }
    waiting->heap[waiting->count] = *reply;
    sift_up(waiting, waiting->count++);
}

bool waiting_pop(struct waiting *waiting, int64_t now, struct waiting_reply *ret_reply)
{
    if (waiting->count == 0 || waiting->heap[0].due > now)
        return false;
    *ret_reply = waiting->heap[0];
    waiting->heap[0] = waiting->heap[--waiting->count];
    sift_down(waiting, 0);
    return true;
}

int64_t waiting_next(const struct waiting *waiting)
{
    return waiting->count == 0 ? 0 : waiting->heap[0].due;
}

void waiting_forget(struct waiting *waiting, const struct connection *connection)
{
    size_t kept = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->heap[i].connection != connection)
            waiting->heap[kept++] = waiting->heap[i];
    }
    if (kept == waiting->count)
        return;
    waiting->count = kept;
    for (size_t i = kept; i-- > 0;)
        sift_down(waiting, i);
}

void waiting_clear(struct waiting *waiting)
{
    free(waiting->heap);
    *waiting = (struct waiting){0};
}
