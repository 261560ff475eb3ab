/*
 * For every waiter: how long was the lock free for certain while it waited, before it got it or
 * gave up? Whatever may have held the lock counts as holding it: an unknown outcome and a killed
 * process for a lease, an outage while it lasts.
 *
 * One pass over the ends of all waits, in the order of time, with the latest possible end of
 * all ownership begun by then.
 */
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

struct idle {
    const hc_history *history;
    const hc_options *options;
    hc_report *report;
    int64_t *busy_until_ns; /* by lock; the last place: all locks */
};

static void busy(struct idle *idle, int lock, int64_t until_ns)
{
    int64_t *busy_until = &idle->busy_until_ns[lock < 0 ? idle->history->locks_len : lock];
    if (until_ns > *busy_until)
        *busy_until = until_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void check_wait(struct idle *idle, const hc_operation *waiter)
{
    int64_t free_ns =
        later(idle->busy_until_ns[waiter->lock], idle->busy_until_ns[idle->history->locks_len]);
    int64_t from_ns = later(free_ns, waiter->invoke_ns);
    if (waiter->stopped || waiter->end_ns - from_ns <= idle->options->idle_ns)
        return;
    report(idle->report, VIOLATION_IDLE, waiter->lock,
           "free since %.3f ms, %s waited from %.3f ms on and %s at %.3f ms",
           report_ms(idle->report, later(free_ns, idle->history->events[0].ns)),
           report_name(waiter), report_ms(idle->report, waiter->invoke_ns),
           waiter->outcome == OUTCOME_OK ? "got it only" : "gave up",
           report_ms(idle->report, waiter->end_ns));
}

/* What the operation's whole life tells is known from the start; here it is used as it happens. */
static void on_event(struct idle *idle, const hc_event *event)
{
    if (event->kind == EVENT_OUTAGE_BEGIN)
        busy(idle, event->lock, NEVER);
    if (event->kind == EVENT_OUTAGE_END)
        idle->busy_until_ns[event->lock < 0 ? idle->history->locks_len : event->lock] = event->ns;
    if (event->target == NO_OPERATION)
        return;
    const hc_operation *operation = &idle->history->operations[event->target];
    if (event->kind == EVENT_INVOKE &&
        (operation->outcome == OUTCOME_UNKNOWN || operation->outcome == OUTCOME_NONE))
        busy(idle, event->lock, operation_possible_end(operation, idle->options->lease_ns));
    if (event->kind != EVENT_OK && event->kind != EVENT_FAIL)
        return;
    if (!operation->reentry)
        check_wait(idle, operation);
    if (event->kind == EVENT_OK && !operation->reentry)
        busy(idle, event->lock, operation_possible_end(operation, idle->options->lease_ns));
}

void check_idle(const hc_history *history, const hc_options *options, hc_report *report_to)
{
    if (!options->idle_ns)
        return;
    struct idle idle = {.history = history, .options = options, .report = report_to};
    idle.busy_until_ns = calloc((size_t)history->locks_len + 1, sizeof(*idle.busy_until_ns));
    if (!idle.busy_until_ns) {
        perror("histcheck");
        exit(2);
    }
    for (size_t i = 0; i < history->events_len; i++)
        on_event(&idle, &history->events[i]);
    free(idle.busy_until_ns);
}
