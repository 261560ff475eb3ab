/*
 * What whoever makes the faults says it did, to the operations under way and to those that come. A
 * killed process has no later line: `killed` is written once it has ended.
 */
#include "tests/tools/histcheck/replay.h"

bool replay_is_killed(const struct replay *replay, int64_t process)
{
    size_t i = 0;
    while (i < replay->killed_len && replay->killed[i] != process)
        i++;
    return i < replay->killed_len;
}

void replay_killed(struct replay *replay, const hc_event *event)
{
    if (replay_is_killed(replay, event->process))
        return;
    replay->killed =
        hc_grown(replay->killed, replay->killed_len, &replay->killed_cap, sizeof(*replay->killed));
    replay->killed[replay->killed_len++] = event->process;
    for (size_t i = 0; i < replay->history->operations_len; i++) {
        hc_operation *operation = &replay->history->operations[i];
        if (operation->process == event->process)
            operation->gone_ns = event->ns;
    }
    for (size_t i = replay->open_len; i-- > 0;) {
        hc_operation *operation = &replay->history->operations[replay->open[i]];
        if (operation->process == event->process)
            replay_closed(replay, operation);
    }
}

void replay_stopped(struct replay *replay, const hc_event *event)
{
    for (size_t i = 0; i < replay->open_len; i++) {
        hc_operation *operation = &replay->history->operations[replay->open[i]];
        operation->stopped |= operation->process == event->process;
    }
}

static void void_operation(const hc_event *event, hc_operation *operation)
{
    if (event->kind == EVENT_VOID_INVOKE && operation->void_ns == NEVER)
        operation->void_ns = event->ns;
    if (event->kind == EVENT_VOID_OK && operation->void_ns == NEVER)
        operation->void_ns = operation->invoke_ns;
    if (event->kind == EVENT_VOID_OK && operation->void_end_ns == NEVER)
        operation->void_end_ns = event->ns;
}

void replay_void(struct replay *replay, const hc_event *event)
{
    for (int lock = 0; lock < replay->history->locks_len; lock++) {
        struct removals *removals = &replay->removals[lock];
        if (event->lock >= 0 && event->lock != lock)
            continue;
        removals->under_way += event->kind == EVENT_VOID_INVOKE ? 1 : -1;
        if (event->kind == EVENT_VOID_OK)
            removals->last_fence = removals->issued;
    }
    for (size_t i = 0; i < replay->open_len; i++) {
        hc_operation *operation = &replay->history->operations[replay->open[i]];
        if (event->lock < 0 || event->lock == operation->lock)
            void_operation(event, operation);
    }
}
