/*
 * For every waiter: how long was there room for it for certain while it waited, before it got the
 * lock or gave up? Whatever may have held the lock counts as holding it: an unknown outcome and a
 * killed process for a lease, an outage while it lasts.
 *
 * Where several may hold a lock there may be room, and the waiter be kept by one before it in the
 * queue, who wants more. So as long as anybody has something, waiters that came before excuse; once
 * nobody has, they do not: then the first of them should have got it.
 *
 * One pass over the ends of all waits, in the order of time, with the latest possible ends of all
 * ownership begun by then.
 */
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

#define AHEAD_NS 100000000 /* who asked so little later may stand before us in the queue */

/* Something that may have been held, and until when at the latest. */
struct possible {
    int64_t until_ns;
    hc_share share;
};

struct room {
    struct possible *list; /* the latest end first */
    size_t len, cap;
    int64_t long_ago_ns; /* the last end of those forgotten: any waiter was idle since */
    size_t *waits;       /* operations that waited, until they are long past */
    size_t waits_len, waits_cap;
};

struct idle {
    const hc_history *history;
    const hc_options *options;
    hc_report *report;
    struct room *rooms; /* by lock */
    int64_t *outage_ns; /* by lock, until when; the last place: all locks */
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void may_hold(struct idle *idle, const hc_operation *operation)
{
    struct room *room = &idle->rooms[operation->lock];
    struct possible new = {operation_possible_end(operation, idle->options->lease_ns),
                           operation->share};
    room->list = hc_grown(room->list, room->len, &room->cap, sizeof(*room->list));
    size_t at = room->len++;
    for (; at > 0 && room->list[at - 1].until_ns < new.until_ns; at--)
        room->list[at] = room->list[at - 1];
    room->list[at] = new;
}

static void forget(struct idle *idle, struct room *room, int64_t now_ns)
{
    for (; room->len > 0 && room->list[room->len - 1].until_ns < now_ns - idle->options->idle_ns;
         room->len--)
        room->long_ago_ns = later(room->long_ago_ns, room->list[room->len - 1].until_ns);
}

/* Since when there is room for the share. */
static int64_t room_since(const struct room *room, hc_share share)
{
    hc_taken taken = {0};
    for (size_t i = 0; i < room->len; i++) {
        taken_add(&taken, room->list[i].share);
        if (!taken_fits(&taken, share))
            return room->list[i].until_ns;
    }
    return room->long_ago_ns;
}

/* Until when somebody else waited who may have been before this one. */
static int64_t kept_until(struct idle *idle, struct room *room, const hc_operation *waiter)
{
    int64_t until = 0;
    size_t kept = 0;
    for (size_t i = 0; i < room->waits_len; i++) {
        const hc_operation *other = &idle->history->operations[room->waits[i]];
        if (other->end_ns < waiter->end_ns - idle->options->idle_ns)
            continue;
        room->waits[kept++] = room->waits[i];
        if (other != waiter && other->invoke_ns < waiter->invoke_ns + AHEAD_NS)
            until = later(until, other->end_ns);
    }
    room->waits_len = kept;
    return until;
}

static int64_t free_since(struct idle *idle, const hc_operation *waiter)
{
    static const hc_share all;
    struct room *room = &idle->rooms[waiter->lock];
    forget(idle, room, waiter->end_ns);
    int64_t empty_ns = room_since(room, all), room_ns = empty_ns;
    if (waiter->share.takes > 0)
        room_ns = later(room_since(room, waiter->share), kept_until(idle, room, waiter));
    return later(room_ns < empty_ns ? room_ns : empty_ns,
                 later(idle->outage_ns[waiter->lock], idle->outage_ns[idle->history->locks_len]));
}

static void check_wait(struct idle *idle, const hc_operation *waiter)
{
    int64_t free_ns = free_since(idle, waiter);
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

static void note_wait(struct idle *idle, const hc_event *event)
{
    struct room *room = &idle->rooms[event->lock];
    room->waits = hc_grown(room->waits, room->waits_len, &room->waits_cap, sizeof(*room->waits));
    room->waits[room->waits_len++] = event->target;
}

/* What the operation's whole life tells is known from the start; here it is used as it happens. */
static void on_event(struct idle *idle, const hc_event *event)
{
    if (event->kind == EVENT_OUTAGE_BEGIN || event->kind == EVENT_OUTAGE_END)
        idle->outage_ns[event->lock < 0 ? idle->history->locks_len : event->lock] =
            event->kind == EVENT_OUTAGE_BEGIN ? NEVER : event->ns;
    if (event->target == NO_OPERATION)
        return;
    const hc_operation *operation = &idle->history->operations[event->target];
    if (event->kind == EVENT_INVOKE)
        note_wait(idle, event);
    if (event->kind == EVENT_INVOKE &&
        (operation->outcome == OUTCOME_UNKNOWN || operation->outcome == OUTCOME_NONE))
        may_hold(idle, operation);
    if ((event->kind != EVENT_OK && event->kind != EVENT_FAIL) || operation->reentry)
        return;
    check_wait(idle, operation);
    if (event->kind == EVENT_OK)
        may_hold(idle, operation);
}

void check_idle(const hc_history *history, const hc_options *options, hc_report *report_to)
{
    if (!options->idle_ns)
        return;
    struct idle idle = {.history = history, .options = options, .report = report_to};
    idle.rooms = calloc((size_t)history->locks_len + 1, sizeof(*idle.rooms));
    idle.outage_ns = calloc((size_t)history->locks_len + 1, sizeof(*idle.outage_ns));
    if (!idle.rooms || !idle.outage_ns) {
        perror("histcheck");
        exit(2);
    }
    for (size_t i = 0; i < history->events_len; i++)
        on_event(&idle, &history->events[i]);
    for (int i = 0; i < history->locks_len; i++) {
        free(idle.rooms[i].list);
        free(idle.rooms[i].waits);
    }
    free(idle.rooms);
    free(idle.outage_ns);
}
