/*
 * history.h - all events of a run in the order of time, and the operations made of them.
 *
 * An operation that got the lock for the first time (depth 1) is a hold, and carries what became
 * of it. What can be said for certain of a hold's time:
 *
 *     invoke      ok          last held            release-invoke   release-ok
 *       |---------|=============|....................|................|
 *     granted in here  was ours   ours, if the release returned ok
 */
#ifndef HISTCHECK_HISTORY_H
#define HISTCHECK_HISTORY_H

#include <stdio.h>

#include "tests/tools/histcheck/event.h"

#define NEVER        INT64_MAX
#define NO_OPERATION SIZE_MAX

/* How much of its lock an operation asks for. */
typedef struct hc_share {
    int takes, of; /* 0, 0: all of it; N, 0: there is no limit */
} hc_share;

typedef struct hc_event {
    int64_t ns, process;
    uint64_t context, op, hold, fence;
    event_kind kind;
    int depth;
    int lock;       /* index into history.locks; -1: all */
    hc_share share; /* of an invoke */
    size_t target;  /* index of OP's operation once replayed; NO_OPERATION */
    const char *file;
    long line;
} hc_event;

typedef enum hc_outcome { OUTCOME_NONE, OUTCOME_OK, OUTCOME_FAIL, OUTCOME_UNKNOWN } hc_outcome;

typedef struct hc_operation {
    int64_t process;
    uint64_t context, op, fence;
    int lock;
    hc_share share;
    int depth; /* now, while the events are replayed */
    hc_outcome outcome, release;
    bool reentry;
    size_t open_slot;          /* place among the operations under way, while replayed */
    int64_t invoke_ns, end_ns; /* end: the outcome; NEVER: there was none */
    int64_t held_ns, lost_ns;  /* last proof, first report; NEVER: none */
    int64_t release_invoke_ns, release_end_ns; /* of the last level */
    int64_t releasing_ns, guarding_ns; /* a release, a guarded write under way since; NEVER: none */
    int64_t void_ns, void_end_ns;      /* taken away from outside; NEVER: was not */
    int64_t gone_ns;                   /* its process was killed; NEVER: was not */
    bool passed_on; /* its lock is a cohort's: a release may have stayed inside the process */
    bool stopped;   /* its process was stopped meanwhile */
} hc_operation;

typedef struct hc_history {
    hc_event *events;
    size_t events_len, events_cap;
    char (*locks)[EVENT_LOCK_MAX];
    int locks_len, locks_cap;
    hc_operation *operations; /* in the order of their invokes */
    size_t operations_len, operations_cap;
} hc_history;

/* Makes room for one more element of an array; exits when there is no memory. */
void *hc_grown(void *array, size_t len, size_t *cap, size_t size);

/* Reads one file. False with a sentence in err. */
bool hc_history_read(hc_history *history, const char *path, char *err, size_t err_len);

/* To be called once all files are read. */
void hc_history_sort(hc_history *history);
void hc_history_free(hc_history *history);

/* A reader's: it issues no fence, and is told the last writer's. */
bool share_reads(hc_share share);

/* What is taken by several together, beginning with nothing ({0}). */
typedef struct hc_taken {
    int64_t takes;
    int of;        /* the smallest limit of them; 0: none */
    bool any, all; /* somebody has some; somebody has all */
} hc_taken;

void taken_add(hc_taken *taken, hc_share share);

/* Whether there is room for one more. */
bool taken_fits(const hc_taken *taken, hc_share share);

/* The time for which the hold was ours without any doubt; false: there is none such. */
bool operation_certain(const hc_operation *hold, int64_t *ret_from, int64_t *ret_to);

/* The holds that are ours for a time without any doubt, by lock and then by its beginning. To be
 * freed. */
typedef struct hc_certain {
    int64_t from_ns, to_ns;
    const hc_operation *hold;
} hc_certain;

hc_certain *hc_certain_holds(const hc_history *history, size_t *ret_len);

/* When the operation can have held the lock for the last time, whatever became of it. */
int64_t operation_possible_end(const hc_operation *operation, int64_t lease_ns);

#endif
