/*
 * flow.c - a buffer whose front is passed on while its end still fills, and the segments of it
 * that have a time.
 */
#include "tests/tools/faultproxy/flow.h"

#include <stdlib.h>
#include <string.h>

void flow_free(fp_flow *flow)
{
    free(flow->buf);
    free(flow->segments);
    memset(flow, 0, sizeof(*flow));
}

char *flow_room(fp_flow *flow, size_t want)
{
    if (flow->start == flow->end)
        flow->start = flow->end = 0;
    if (flow->cap - flow->end < want && flow->start > 0) {
        memmove(flow->buf, flow->buf + flow->start, flow->end - flow->start);
        flow->end -= flow->start;
        flow->start = 0;
    }
    if (flow->cap - flow->end < want) {
        size_t cap = 2 * (flow->end + want);
        flow->buf = realloc(flow->buf, cap);
        if (!flow->buf)
            abort();
        flow->cap = cap;
    }
    return flow->buf + flow->end;
}

void flow_received(fp_flow *flow, size_t len)
{
    flow->end += len;
}

ssize_t flow_next(fp_flow *flow, const char **ret_message)
{
    size_t at = flow->start + flow->admitted;
    if (at == flow->end)
        return 0;
    *ret_message = flow->buf + at;
    return resp_frame_end(&flow->frame, flow->buf + at, flow->end - at);
}

static flow_segment *segment_at(const fp_flow *flow, size_t index)
{
    return &flow->segments[(flow->first + index) & (flow->segments_cap - 1)];
}

static void more_segments(fp_flow *flow)
{
    size_t cap = flow->segments_cap ? 2 * flow->segments_cap : 16;
    flow_segment *segments = calloc(cap, sizeof(*segments));
    if (!segments)
        abort();
    for (size_t i = 0; i < flow->count; i++)
        segments[i] = *segment_at(flow, i);
    free(flow->segments);
    flow->segments = segments;
    flow->segments_cap = cap;
    flow->first = 0;
}

void flow_admit(fp_flow *flow, size_t len, int64_t due_us)
{
    if (due_us < flow->last_due_us)
        due_us = flow->last_due_us;
    flow->last_due_us = due_us;
    flow->admitted += len;
    if (flow->count && segment_at(flow, flow->count - 1)->due_us == due_us) {
        segment_at(flow, flow->count - 1)->len += len;
        return;
    }
    if (flow->count == flow->segments_cap)
        more_segments(flow);
    *segment_at(flow, flow->count++) = (flow_segment){len, due_us};
}

void flow_remove(fp_flow *flow, size_t len)
{
    char *at = flow->buf + flow->start + flow->admitted;
    flow->end -= len;
    memmove(at, at + len, (size_t)(flow->buf + flow->end - at));
}

void flow_forget(fp_flow *flow)
{
    flow->end = flow->start + flow->admitted;
    flow->frame = (resp_frame){0};
}

size_t flow_due(const fp_flow *flow, int64_t now_us)
{
    size_t due = 0;
    for (size_t i = 0; i < flow->count && segment_at(flow, i)->due_us <= now_us; i++)
        due += segment_at(flow, i)->len;
    return due;
}

void flow_sent(fp_flow *flow, size_t len)
{
    flow->start += len;
    flow->admitted -= len;
    while (len > 0) {
        flow_segment *head = segment_at(flow, 0);
        size_t taken = len < head->len ? len : head->len;
        head->len -= taken;
        len -= taken;
        if (head->len > 0)
            return;
        flow->first++;
        flow->count--;
    }
}

int64_t flow_first_due_us(const fp_flow *flow)
{
    return flow->count ? segment_at(flow, 0)->due_us : -1;
}
