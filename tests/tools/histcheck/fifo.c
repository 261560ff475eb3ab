/*
 * Waiters that were granted the lock in the end stand in a list in the order of their invokes.
 * Each grant takes its operation out; if another that came more than the tolerance earlier still
 * stands in front, that one has been overtaken. The time of an invoke is not yet a place in the
 * queue, so there is a tolerance.
 * Two that may hold the lock together may also be given it together, and hear of it in any order:
 * one that hears of it within the tolerance of the other has not been overtaken by it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/tools/histcheck/checks.h"

struct line {
    const hc_history *history;
    size_t *next, *previous; /* by operation + 1; 0: nobody */
    size_t *first, *last;    /* by lock: operation + 1; 0: nobody waits */
};

/* Whoever was stopped, or died, may be passed over. */
static bool counts(const hc_history *history, const hc_operation *operation,
                   const hc_options *options)
{
    bool fair = !options->fair[0];
    for (int i = 0; i < HC_FAIR_MAX && options->fair[i]; i++)
        fair = fair || strcmp(history->locks[operation->lock], options->fair[i]) == 0;
    if (!fair)
        return false;
    return operation->outcome == OUTCOME_OK && !operation->reentry && !operation->stopped;
}

static void join(struct line *line, size_t index)
{
    size_t *last = &line->last[line->history->operations[index - 1].lock];
    line->previous[index] = *last;
    if (*last)
        line->next[*last] = index;
    else
        line->first[line->history->operations[index - 1].lock] = index;
    *last = index;
}

static void leave(struct line *line, size_t index)
{
    int lock = line->history->operations[index - 1].lock;
    size_t next = line->next[index], previous = line->previous[index];
    if (next)
        line->previous[next] = previous;
    else
        line->last[lock] = previous;
    if (previous)
        line->next[previous] = next;
    else
        line->first[lock] = next;
}

/* Whether the first may have been given the lock together with the second, which heard sooner. */
static bool together(const hc_operation *first, const hc_operation *second,
                     const hc_options *options)
{
    hc_taken taken = {0};
    taken_add(&taken, second->share);
    return taken_fits(&taken, first->share) && first->end_ns - second->end_ns <= options->fifo_ns;
}

static void check_grant(struct line *line, size_t index, const hc_options *options,
                        hc_report *report_to)
{
    const hc_operation *granted = &line->history->operations[index - 1], *waiting = NULL;
    size_t at = line->first[granted->lock];
    for (; at; at = line->next[at]) {
        waiting = &line->history->operations[at - 1];
        if (!together(waiting, granted, options))
            break;
    }
    if (at && granted->invoke_ns - waiting->invoke_ns > options->fifo_ns)
        report(report_to, VIOLATION_FIFO, granted->lock,
               "%s came at %.3f ms and got it at %.3f ms, before %s, which waited since %.3f ms",
               report_name(granted), report_ms(report_to, granted->invoke_ns),
               report_ms(report_to, granted->end_ns), report_name(waiting),
               report_ms(report_to, waiting->invoke_ns));
}

static size_t *zeros(size_t len)
{
    size_t *ret = calloc(len, sizeof(*ret));
    if (!ret) {
        perror("histcheck");
        exit(2);
    }
    return ret;
}

void check_fifo(const hc_history *history, const hc_options *options, hc_report *report_to)
{
    if (!options->fifo_ns)
        return;
    struct line line = {.history = history,
                        .next = zeros(history->operations_len + 1),
                        .previous = zeros(history->operations_len + 1),
                        .first = zeros((size_t)history->locks_len + 1),
                        .last = zeros((size_t)history->locks_len + 1)};
    for (size_t i = 0; i < history->events_len; i++) {
        const hc_event *event = &history->events[i];
        if (event->target == NO_OPERATION ||
            !counts(history, &history->operations[event->target], options))
            continue;
        if (event->kind == EVENT_INVOKE)
            join(&line, event->target + 1);
        if (event->kind != EVENT_OK)
            continue;
        leave(&line, event->target + 1);
        check_grant(&line, event->target + 1, options, report_to);
    }
    free(line.next);
    free(line.previous);
    free(line.first);
    free(line.last);
}
