/*
 * A fence counts as issued once acquire has returned it. A grant that was invoked later must have
 * a higher one, a guarded write that was begun later must not have a lower one. Grants under way at
 * the same time may return in any order, but never with the same fence; which of two that exclude
 * each other came first is known where each was its holder's for certain for a while. A reader
 * issues none: what it is told is no lower than what had been returned before it asked, or 0 where
 * none is known. Where one of a process's grants of a lock has a fence, all have, but readers':
 * guests that know of no fences are processes of their own. And a guarded write is not refused as
 * stale while the lock was its holder's for certain, and no fence was set from outside.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

/* The highest fence of a lock known so far, and whose it is. */
struct issued {
    uint64_t fence;
    size_t by; /* NO_OPERATION: set from outside */
};

/* The grant of the cohort's lock that a process had last. */
struct current {
    int64_t process;
    uint64_t fence;
};

struct fences {
    const hc_history *history;
    hc_report *report;
    struct issued *last;     /* by lock */
    uint64_t *set;           /* by lock: of all that were ever set from outside */
    struct issued *before;   /* by operation: at its invoke, then at its last guard-invoke */
    struct current *current; /* by process */
    size_t current_len, current_cap;
};

static const char *name_of(const struct fences *fences, const struct issued *issued)
{
    return issued->by == NO_OPERATION ? "someone outside"
                                      : report_name(&fences->history->operations[issued->by]);
}

/* Hand-offs inside a process of a cohort go on under the same grant. */
static bool same_grant(const hc_operation *a, const hc_operation *b)
{
    return a->passed_on && a->process == b->process && a->fence == b->fence;
}

/* Whether the process's last grant of a cohort's lock goes on; notes the new one if not. */
static bool goes_on(struct fences *fences, const hc_operation *operation)
{
    struct current *at = fences->current;
    if (!operation->passed_on)
        return false;
    while (at < fences->current + fences->current_len && at->process != operation->process)
        at++;
    if (at == fences->current + fences->current_len) {
        fences->current = hc_grown(fences->current, fences->current_len, &fences->current_cap,
                                   sizeof(*fences->current));
        at = &fences->current[fences->current_len++];
        *at = (struct current){.process = operation->process};
    }
    bool same = at->fence == operation->fence;
    at->fence = operation->fence;
    return same;
}

/* Whether a process was ever given a fence of the lock. */
static bool has_fences(const hc_history *history, int lock, int64_t process)
{
    for (size_t i = 0; i < history->operations_len; i++) {
        const hc_operation *it = &history->operations[i];
        if (it->process == process && it->lock == lock && it->fence > 0)
            return true;
    }
    return false;
}

static void on_grant(struct fences *fences, const hc_event *event)
{
    const hc_operation *operation = &fences->history->operations[event->target];
    const struct issued *before = &fences->before[event->target];
    struct issued *last = &fences->last[event->lock];
    if (operation->reentry)
        return;
    if (event->fence == 0 && !share_reads(operation->share) &&
        has_fences(fences->history, event->lock, operation->process))
        report(fences->report, VIOLATION_FENCE, event->lock,
               "%s has no fence, and others of its process have", report_name(operation));
    if (event->fence == 0)
        return;
    bool low = share_reads(operation->share) ? event->fence < before->fence
                                             : event->fence <= before->fence;
    if (!goes_on(fences, operation) && low)
        report(fences->report, VIOLATION_FENCE, event->lock,
               "%s, asked for at %.3f ms, does not rise above fence %" PRIu64 " of %s",
               report_name(operation), report_ms(fences->report, operation->invoke_ns),
               before->fence, name_of(fences, before));
    if (event->fence > last->fence)
        *last = (struct issued){event->fence, event->target};
}

static void on_guarded(struct fences *fences, const hc_event *event)
{
    const hc_operation *hold = &fences->history->operations[event->target];
    const struct issued *before = &fences->before[event->target];
    if (hold->fence < before->fence)
        report(fences->report, VIOLATION_STALE, event->lock,
               "%s wrote at %.3f ms although fence %" PRIu64 " of %s had been issued before",
               report_name(hold), report_ms(fences->report, event->ns), before->fence,
               name_of(fences, before));
}

/* Who surely had its lock until then, nobody else was granted it, nor a higher fence. */
static void on_refused(struct fences *fences, const hc_event *event)
{
    const hc_operation *hold = &fences->history->operations[event->target];
    int64_t from_ns, to_ns;
    if (operation_certain(hold, &from_ns, &to_ns) && event->ns < to_ns &&
        fences->set[event->lock] <= hold->fence)
        report(fences->report, VIOLATION_STALE, event->lock,
               "%s was refused as stale at %.3f ms, and had the lock until %.3f ms",
               report_name(hold), report_ms(fences->report, event->ns),
               report_ms(fences->report, to_ns));
}

static void on_event(struct fences *fences, const hc_event *event)
{
    if (event->kind == EVENT_FENCE_SET && event->lock >= 0 &&
        event->fence > fences->last[event->lock].fence)
        fences->last[event->lock] = (struct issued){event->fence, NO_OPERATION};
    if (event->target == NO_OPERATION)
        return;
    if (event->kind == EVENT_INVOKE || event->kind == EVENT_GUARD_INVOKE)
        fences->before[event->target] = fences->last[event->lock];
    else if (event->kind == EVENT_OK)
        on_grant(fences, event);
    else if (event->kind == EVENT_GUARD_OK)
        on_guarded(fences, event);
    else if (event->kind == EVENT_GUARD_STALE)
        on_refused(fences, event);
}

static int by_fence(const void *left, const void *right)
{
    const hc_operation *a = *(const hc_operation *const *)left;
    const hc_operation *b = *(const hc_operation *const *)right;
    if (a->lock != b->lock)
        return a->lock < b->lock ? -1 : 1;
    return a->fence < b->fence ? -1 : a->fence > b->fence;
}

static void check_unique(struct fences *fences)
{
    const hc_operation **grants = NULL;
    size_t len = 0, cap = 0;
    for (size_t i = 0; i < fences->history->operations_len; i++) {
        const hc_operation *operation = &fences->history->operations[i];
        if (operation->outcome != OUTCOME_OK || operation->reentry || !operation->fence ||
            share_reads(operation->share))
            continue;
        grants = hc_grown(grants, len, &cap, sizeof(*grants));
        grants[len++] = operation;
    }
    if (len)
        qsort(grants, len, sizeof(*grants), by_fence);
    for (size_t i = 1; i < len; i++) {
        if (by_fence(&grants[i - 1], &grants[i]) == 0 && !same_grant(grants[i - 1], grants[i]))
            report(fences->report, VIOLATION_FENCE, grants[i]->lock, "%s and %s share a fence",
                   report_name(grants[i - 1]), report_name(grants[i]));
    }
    free(grants);
}

/* Beside a holder of all there is nobody else. */
static bool takes_all(hc_share share)
{
    return share.takes == 0 || share.takes == share.of;
}

/* Who had the lock before, for certain, was granted it before; `highest` of them. */
static void check_behind(hc_report *report_to, const hc_certain *highest, const hc_certain *next)
{
    const hc_operation *hold = next->hold;
    if (!highest || highest->to_ns > next->from_ns || same_grant(highest->hold, hold))
        return;
    if (share_reads(hold->share) ? hold->fence < highest->hold->fence
                                 : hold->fence <= highest->hold->fence)
        report(report_to, VIOLATION_FENCE, hold->lock,
               "%s had it from %.3f ms, and does not rise above %s, who had it until %.3f ms",
               report_name(hold), report_ms(report_to, next->from_ns), report_name(highest->hold),
               report_ms(report_to, highest->to_ns));
}

static void check_certain(const hc_history *history, hc_report *report_to)
{
    size_t len;
    hc_certain *list = hc_certain_holds(history, &len);
    const hc_certain *highest = NULL, *highest_of_all = NULL; /* the latter: of holders of all */
    for (size_t i = 0; i < len; i++) {
        const hc_certain *next = &list[i];
        bool all = takes_all(next->hold->share);
        if (i > 0 && list[i - 1].hold->lock != next->hold->lock)
            highest = highest_of_all = NULL;
        if (next->hold->fence == 0)
            continue;
        check_behind(report_to, all ? highest : highest_of_all, next);
        if (!highest || next->hold->fence > highest->hold->fence)
            highest = next;
        if (all && (!highest_of_all || next->hold->fence > highest_of_all->hold->fence))
            highest_of_all = next;
    }
    free(list);
}

static void *zeros(size_t len, size_t size)
{
    void *ret = calloc(len + 1, size);
    if (!ret) {
        perror("histcheck");
        exit(2);
    }
    return ret;
}

static void look_ahead(struct fences *fences)
{
    for (size_t i = 0; i < fences->history->events_len; i++) {
        const hc_event *event = &fences->history->events[i];
        if (event->kind == EVENT_FENCE_SET && event->lock >= 0 &&
            event->fence > fences->set[event->lock])
            fences->set[event->lock] = event->fence;
    }
}

void check_fences(const hc_history *history, hc_report *report_to)
{
    size_t locks = (size_t)history->locks_len;
    struct fences fences = {.history = history,
                            .report = report_to,
                            .last = zeros(locks, sizeof(struct issued)),
                            .set = zeros(locks, sizeof(uint64_t)),
                            .before = zeros(history->operations_len, sizeof(struct issued))};
    for (int i = 0; i < history->locks_len; i++)
        fences.last[i].by = NO_OPERATION;
    look_ahead(&fences);
    for (size_t i = 0; i < history->events_len; i++)
        on_event(&fences, &history->events[i]);
    check_unique(&fences);
    check_certain(history, report_to);
    free(fences.last);
    free(fences.set);
    free(fences.before);
    free(fences.current);
}
