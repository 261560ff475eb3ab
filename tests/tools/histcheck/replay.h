/*
 * replay.h - what is known while the events are replayed one after the other.
 */
#ifndef HISTCHECK_REPLAY_H
#define HISTCHECK_REPLAY_H

#include "tests/tools/histcheck/checks.h"

/* What was taken away from outside so far. */
struct removals {
    int under_way;
    uint64_t last_fence; /* issued when the last one ended: no grant up to it is left */
    uint64_t issued;
};

struct replay {
    hc_history *history;
    hc_report *report;
    size_t *index; /* hash table: operation + 1; 0: empty */
    size_t index_cap;
    size_t *open;
    size_t open_len, open_cap;
    struct removals *removals; /* by lock */
    int *limits;               /* by lock: OF of its invokes + 1; 0: there was none yet */
    int64_t *killed;           /* processes: few */
    size_t killed_len, killed_cap;
    int cohort; /* the cohort's lock; -1: none */
};

/* The operation, which is under way, is so no longer. */
void replay_closed(struct replay *replay, hc_operation *operation);

/* Faults: SIGKILL, SIGSTOP and SIGCONT, removals from outside. */
void replay_killed(struct replay *replay, const hc_event *event);
bool replay_is_killed(const struct replay *replay, int64_t process);
void replay_stopped(struct replay *replay, const hc_event *event);
void replay_void(struct replay *replay, const hc_event *event);

#endif
