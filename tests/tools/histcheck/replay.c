/*
 * The events one after the other, as they happened. An operation is under way ("open") from its
 * invoke until it has failed, or what it got has been released; faults hit all that are open.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/histcheck/replay.h"

/* ---- finding operations ---------------------------------------------------------------------- */

static size_t *index_slot(struct replay *replay, int64_t process, uint64_t op)
{
    uint64_t hash = ((uint64_t)process * 0x9E3779B97F4A7C15ULL) ^ (op * 0xC2B2AE3D27D4EB4FULL);
    for (size_t at = hash ^ hash >> 32;; at++) {
        size_t *slot = &replay->index[at & (replay->index_cap - 1)];
        if (*slot == 0)
            return slot;
        const hc_operation *operation = &replay->history->operations[*slot - 1];
        if (operation->process == process && operation->op == op)
            return slot;
    }
}

static hc_operation *operation_of(struct replay *replay, int64_t process, uint64_t op)
{
    size_t found = *index_slot(replay, process, op);
    return found ? &replay->history->operations[found - 1] : NULL;
}

static void make_index(struct replay *replay)
{
    size_t invokes = 0;
    for (size_t i = 0; i < replay->history->events_len; i++)
        invokes += replay->history->events[i].kind == EVENT_INVOKE;
    replay->index_cap = 1024;
    while (replay->index_cap < 2 * invokes)
        replay->index_cap *= 2;
    replay->index = calloc(replay->index_cap, sizeof(*replay->index));
    replay->removals = calloc((size_t)replay->history->locks_len + 1, sizeof(*replay->removals));
    replay->limits = calloc((size_t)replay->history->locks_len + 1, sizeof(*replay->limits));
    if (!replay->index || !replay->removals || !replay->limits) {
        perror("histcheck");
        exit(2);
    }
}

/* ---- operations under way -------------------------------------------------------------------- */

static void open_add(struct replay *replay, size_t operation)
{
    replay->open =
        hc_grown(replay->open, replay->open_len, &replay->open_cap, sizeof(*replay->open));
    replay->history->operations[operation].open_slot = replay->open_len;
    replay->open[replay->open_len++] = operation;
}

void replay_closed(struct replay *replay, hc_operation *operation)
{
    size_t last = replay->open[--replay->open_len];
    replay->open[operation->open_slot] = last;
    replay->history->operations[last].open_slot = operation->open_slot;
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void misfit(struct replay *replay, const hc_event *event, const char *why)
{
    report(replay->report, VIOLATION_PROTOCOL, event->lock, "%s:%ld: %s", event->file, event->line,
           why);
}

/* How many permits there are is Redis's to say: nobody is granted one of another number. */
static void check_limit(struct replay *replay, const hc_event *event)
{
    int *limit = &replay->limits[event->lock];
    if (*limit == 0)
        *limit = event->share.of + 1;
    if (*limit != event->share.of + 1)
        misfit(replay, event, "another number of permits in all than before");
}

static void on_invoke(struct replay *replay, hc_event *event)
{
    hc_history *history = replay->history;
    size_t *slot = index_slot(replay, event->process, event->op);
    if (*slot || event->lock < 0) {
        misfit(replay, event, "an operation that exists already");
        return;
    }
    check_limit(replay, event);
    history->operations = hc_grown(history->operations, history->operations_len,
                                   &history->operations_cap, sizeof(hc_operation));
    event->target = history->operations_len++;
    *slot = event->target + 1;
    history->operations[event->target] = (hc_operation){.process = event->process,
                                                        .context = event->context,
                                                        .op = event->op,
                                                        .lock = event->lock,
                                                        .share = event->share,
                                                        .passed_on = event->lock == replay->cohort,
                                                        .invoke_ns = event->ns,
                                                        .end_ns = NEVER,
                                                        .held_ns = NEVER,
                                                        .lost_ns = NEVER,
                                                        .release_invoke_ns = NEVER,
                                                        .release_end_ns = NEVER,
                                                        .releasing_ns = NEVER,
                                                        .guarding_ns = NEVER,
                                                        .void_ns = NEVER,
                                                        .void_end_ns = NEVER,
                                                        .gone_ns = NEVER};
    open_add(replay, event->target);
}

static void on_reentry(struct replay *replay, const hc_event *event, hc_operation *operation)
{
    hc_operation *hold = operation_of(replay, event->process, event->hold);
    operation->reentry = true;
    replay_closed(replay, operation);
    if (!hold || hold->depth <= 0 || hold->lock != event->lock) {
        misfit(replay, event, "a re-entry into no hold");
        return;
    }
    hold->depth++;
    if (event->depth != hold->depth)
        report(replay->report, VIOLATION_DEPTH, event->lock,
               "%s brought depth %d to a hold that had %d", report_name(operation), event->depth,
               hold->depth - 1);
    if (operation->context != hold->context || operation->fence != hold->fence)
        report(replay->report, VIOLATION_DEPTH, event->lock, "%s re-entered the hold of %s",
               report_name(operation), report_name(hold));
    if (hold->lost_ns < operation->invoke_ns)
        report(replay->report, VIOLATION_DEPTH, event->lock,
               "%s at %.3f ms re-entered the hold of op %" PRIu64 ", which was lost at %.3f ms",
               report_name(operation), report_ms(replay->report, operation->invoke_ns), hold->op,
               report_ms(replay->report, hold->lost_ns));
}

static void on_ok(struct replay *replay, const hc_event *event, hc_operation *operation)
{
    operation->outcome = OUTCOME_OK;
    operation->fence = event->fence;
    if (event->hold != event->op) {
        on_reentry(replay, event, operation);
        return;
    }
    operation->depth = 1;
    if (event->depth != 1)
        report(replay->report, VIOLATION_DEPTH, event->lock, "%s opened a hold with depth %d",
               report_name(operation), event->depth);
    struct removals *removals = &replay->removals[event->lock];
    bool of_old_grant = event->fence && event->fence <= removals->last_fence && /* a cohort's */
                        !share_reads(operation->share);
    if ((removals->under_way > 0 || of_old_grant) && operation->void_ns == NEVER)
        operation->void_ns = operation->invoke_ns; /* before or after? nobody knows */
    if (operation->void_ns != NEVER && event->fence > removals->last_fence)
        removals->last_fence = event->fence; /* nor of the one that the grant is passed on to */
    if (event->fence > removals->issued)
        removals->issued = event->fence;
}

static void on_outcome(struct replay *replay, const hc_event *event, hc_operation *operation)
{
    if (operation->outcome != OUTCOME_NONE) {
        misfit(replay, event, "a second outcome");
        return;
    }
    if (event->context != operation->context)
        misfit(replay, event, "an outcome in another context than its invoke");
    operation->end_ns = event->ns;
    if (event->kind == EVENT_OK) {
        on_ok(replay, event, operation);
        return;
    }
    operation->outcome = event->kind == EVENT_FAIL ? OUTCOME_FAIL : OUTCOME_UNKNOWN;
    replay_closed(replay, operation);
}

/* ---- a hold's life --------------------------------------------------------------------------- */

static void on_held(struct replay *replay, const hc_event *event, hc_operation *hold)
{
    if (event->ns > hold->lost_ns)
        report(replay->report, VIOLATION_DEPTH, event->lock,
               "%s was held at %.3f ms, after it was lost at %.3f ms", report_name(hold),
               report_ms(replay->report, event->ns), report_ms(replay->report, hold->lost_ns));
    if (event->ns > hold->release_end_ns && hold->release != OUTCOME_UNKNOWN)
        report(replay->report, VIOLATION_DEPTH, event->lock,
               "%s was held at %.3f ms, after its release had ended at %.3f ms", report_name(hold),
               report_ms(replay->report, event->ns),
               report_ms(replay->report, hold->release_end_ns));
    hold->held_ns = event->ns;
}

static void on_release(struct replay *replay, const hc_event *event, hc_operation *hold)
{
    bool begins = event->kind == EVENT_RELEASE_INVOKE, begun = hold->releasing_ns != NEVER;
    if (begins ? begun || hold->depth <= 0 : !begun)
        misfit(replay, event,
               begins ? "a release inside another, or of nothing"
                      : "the end of a release that was not begun");
    hold->releasing_ns = begins ? event->ns : NEVER;
    if (begins) {
        hold->depth--;
        if (event->depth != hold->depth)
            report(replay->report, VIOLATION_DEPTH, event->lock,
                   "%s was to be left with depth %d, and has %d", report_name(hold), event->depth,
                   hold->depth);
        if (hold->depth == 0)
            hold->release_invoke_ns = event->ns;
        return;
    }
    if (event->depth != hold->depth)
        report(replay->report, VIOLATION_DEPTH, event->lock,
               "%s was left with depth %d, and has %d", report_name(hold), event->depth,
               hold->depth);
    if (hold->depth > 0 || hold->release != OUTCOME_NONE)
        return;
    hold->release = event->kind == EVENT_RELEASE_OK     ? OUTCOME_OK
                    : event->kind == EVENT_RELEASE_FAIL ? OUTCOME_FAIL
                                                        : OUTCOME_UNKNOWN;
    hold->release_end_ns = event->ns;
    replay_closed(replay, hold);
}

static void on_guard(struct replay *replay, const hc_event *event, hc_operation *hold)
{
    bool begins = event->kind == EVENT_GUARD_INVOKE, begun = hold->guarding_ns != NEVER;
    if (begins == begun)
        misfit(replay, event,
               begins ? "a guarded write inside another"
                      : "the end of a guarded write that was not begun");
    if (event->fence != hold->fence)
        misfit(replay, event, "a guarded write under another fence than its hold's");
    hold->guarding_ns = begins ? event->ns : NEVER;
}

static void on_hold_event(struct replay *replay, const hc_event *event, hc_operation *hold)
{
    if (hold->outcome != OUTCOME_OK || hold->reentry) {
        misfit(replay, event, "not a hold");
        return;
    }
    if (event->kind == EVENT_HELD)
        on_held(replay, event, hold);
    else if (event->kind == EVENT_LOST && hold->lost_ns == NEVER)
        hold->lost_ns = event->ns;
    else if (event->kind >= EVENT_RELEASE_INVOKE && event->kind <= EVENT_RELEASE_UNKNOWN)
        on_release(replay, event, hold);
    else if (event->kind >= EVENT_GUARD_INVOKE)
        on_guard(replay, event, hold);
}

/* ---- all events ------------------------------------------------------------------------------ */

static void on_operation_event(struct replay *replay, hc_event *event)
{
    hc_operation *operation = operation_of(replay, event->process, event->op);
    if (!operation || operation->lock != event->lock) {
        misfit(replay, event, "an operation that was never invoked");
        return;
    }
    event->target = (size_t)(operation - replay->history->operations);
    if (event->kind <= EVENT_UNKNOWN)
        on_outcome(replay, event, operation);
    else
        on_hold_event(replay, event, operation);
}

static void on_event(struct replay *replay, hc_event *event)
{
    event->target = NO_OPERATION;
    if (event->kind < EVENT_KILLED && replay_is_killed(replay, event->process)) {
        misfit(replay, event, "a line of a process that was killed before");
        return;
    }
    switch (event->kind) {
    case EVENT_INVOKE:
        on_invoke(replay, event);
        break;
    case EVENT_KILLED:
        replay_killed(replay, event);
        break;
    case EVENT_STOPPED:
    case EVENT_CONTINUED:
        replay_stopped(replay, event);
        break;
    case EVENT_VOID_INVOKE:
    case EVENT_VOID_OK:
        replay_void(replay, event);
        break;
    case EVENT_FENCE_SET:
    case EVENT_OUTAGE_BEGIN:
    case EVENT_OUTAGE_END:
        break;
    default:
        on_operation_event(replay, event);
    }
}

static int cohort_of(const hc_history *history, const hc_options *options)
{
    for (int lock = 0; options->cohort && lock < history->locks_len; lock++) {
        if (strcmp(history->locks[lock], options->cohort) == 0)
            return lock;
    }
    return -1;
}

void replay(hc_history *history, const hc_options *options, hc_report *report)
{
    struct replay replay = {
        .history = history, .report = report, .cohort = cohort_of(history, options)};
    make_index(&replay);
    for (size_t i = 0; i < history->events_len; i++)
        on_event(&replay, &history->events[i]);
    free(replay.index);
    free(replay.open);
    free(replay.removals);
    free(replay.limits);
    free(replay.killed);
}
