/*
 * Holds are looked at in the order in which acquire returned them. Among those seen so far of a
 * lock, only the one that lasts longest can reach into the next.
 */
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

struct certain {
    int64_t from_ns, to_ns;
    const hc_operation *hold;
};

static int by_start(const void *left, const void *right)
{
    const struct certain *a = left, *b = right;
    if (a->hold->lock != b->hold->lock)
        return a->hold->lock < b->hold->lock ? -1 : 1;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static struct certain *certain_holds(const hc_history *history, size_t *ret_len)
{
    struct certain *list = NULL;
    size_t len = 0, cap = 0;
    for (size_t i = 0; i < history->operations_len; i++) {
        struct certain certain = {.hold = &history->operations[i]};
        if (!operation_certain(certain.hold, &certain.from_ns, &certain.to_ns))
            continue;
        list = hc_grown(list, len, &cap, sizeof(*list));
        list[len++] = certain;
    }
    if (len)
        qsort(list, len, sizeof(*list), by_start);
    *ret_len = len;
    return list;
}

void check_overlap(const hc_history *history, hc_report *report_to)
{
    size_t len;
    struct certain *list = certain_holds(history, &len);
    const struct certain *longest = NULL;
    for (size_t i = 0; i < len; i++) {
        const struct certain *next = &list[i];
        if (longest && longest->hold->lock == next->hold->lock && next->from_ns < longest->to_ns)
            report(report_to, VIOLATION_OVERLAP, next->hold->lock,
                   "%s had it from %.3f to %.3f ms, %s from %.3f to %.3f ms",
                   report_name(longest->hold), report_ms(report_to, longest->from_ns),
                   report_ms(report_to, longest->to_ns), report_name(next->hold),
                   report_ms(report_to, next->from_ns), report_ms(report_to, next->to_ns));
        if (!longest || longest->hold->lock != next->hold->lock || next->to_ns > longest->to_ns)
            longest = next;
    }
    free(list);
}
