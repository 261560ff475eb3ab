/*
 * flow.h - the bytes on their way in one direction of a connection.
 *
 *     sent | admitted: whole messages, each with the time it is due | not yet judged
 *          start                                      start + admitted              end
 *
 * A message is admitted once it has been judged, and is passed on no sooner than it is due; never
 * before the one ahead of it, since TCP keeps the order.
 */
#ifndef FAULTPROXY_FLOW_H
#define FAULTPROXY_FLOW_H

#include "tests/tools/faultproxy/resp.h"

typedef struct flow_segment {
    size_t len;
    int64_t due_us;
} flow_segment;

/* All-zero is an empty flow. */
typedef struct fp_flow {
    char *buf;
    size_t start, end, cap;
    size_t admitted;
    resp_frame frame;       /* progress within the first message not yet judged */
    flow_segment *segments; /* a ring; cap is a power of two */
    size_t first, count, segments_cap;
    int64_t last_due_us;
} fp_flow;

void flow_free(fp_flow *flow);

/* Room for at least `want` bytes; flow_received() then says how many came. */
char *flow_room(fp_flow *flow, size_t want);
void flow_received(fp_flow *flow, size_t len);

/* The first message that is not yet judged: its length when it is whole, 0, or -1: not RESP. */
ssize_t flow_next(fp_flow *flow, const char **ret_message);

/* What becomes of it: passed on when due, taken out, or looked at once more by flow_next(). */
void flow_admit(fp_flow *flow, size_t len, int64_t due_us);
void flow_remove(fp_flow *flow, size_t len);

/* Forgets all bytes not yet judged. */
void flow_forget(fp_flow *flow);

/* How many bytes at `start` are due; flow_sent() then says how many went. */
size_t flow_due(const fp_flow *flow, int64_t now_us);
void flow_sent(fp_flow *flow, size_t len);

/* When the first admitted message is due; -1: there is none. */
int64_t flow_first_due_us(const fp_flow *flow);

#endif
