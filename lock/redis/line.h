/*
 * What shared.c, attend.c and line.c know of one another: the lines to a server, and the calls that
 * wait to be sent on one. All functions are called under the lock. Those that write, read or call
 * back release it meanwhile.
 */
#ifndef DLOCK_REDIS_LINE_H
#define DLOCK_REDIS_LINE_H

#include "redis/shared_call.h"

/* And four round trips without an answer: the next call opens another line. The second: where one
 * has been given up, that nothing was heard after. */
#define STALL_MS    100
#define GIVEN_UP_MS 10

#define LAZY_MS     5 /* until the thread reads where nobody hurries, and others may have read */

enum {
    LINES_MAX = 4, /* to one server: the one in use, and those that are silent */
    CALLS_MAX = 64,
    WINDOW_MIN = 2,     /* calls in flight after a loss, ... */
    WINDOW_STEP = 32,   /* ... doubled after so many answers */
    SLOTS_MAX = 256,    /* a power of two: a call may have two answers before its own */
    BATCH_BYTES = 16384 /* of one write, and the call that goes beyond; the kernel takes as much */
};

/* An answer that is owed. */
typedef struct slot {
    shared_call *who;     /* NULL: nobody waits for it (any more) */
    bool ends;            /* the last one of a call */
    dlock_script *learns; /* the answer is this script's hash */
    dlock_time sent;      /* or queued behind what was not written yet */
} slot;

struct line {
    dlock_redis_conn *conn;
    slot slots[SLOTS_MAX];
    unsigned head, tail;
    unsigned announced;  /* the callers of the slots before it know that they are written */
    int calls;           /* in flight, the given up ones too */
    int waited;          /* in flight, without those */
    bool busy;           /* a thread writes or reads */
    bool led;            /* a thread waits for answers */
    bool failed;         /* all in flight are settled; the leader lets go of it */
    bool unwritten;      /* the kernel has not taken all */
    bool timed;          /* nothing was in flight at `heard`, and nothing has been answered since */
    dlock_time heard;    /* the last answer, or the first question after it */
    shared_call *leader; /* waits for `busy` to end */
};

typedef struct station {
    shared_call *first, **end; /* the queue */
    shared_call *keeper;       /* in it: its thread looks again and again, the others sleep */
    bool attended;             /* the attending thread looks again and again, too */
    line *lines[LINES_MAX];
    line *current; /* NULL: to be opened */
    bool dialling;
    int window, answers;
    int64_t rtt_us; /* the round trip, as measured; 0 = not yet */
} station;

struct shared {
    dlock_redis *redis;     /* (borrowed) */
    pthread_mutex_t lock;   /* guards everything, but a line's conn while that is busy */
    pthread_cond_t idle;    /* a dialling thread ended */
    _Atomic int64_t rtt_us; /* to the farthest server */
    shared_call *finished, **finished_end; /* done, but their callers are not told yet */
    station stations[DLOCK_SERVERS_MAX];
    pthread_t thread;
    bool has_thread, stop, poked;
    int wake_fd, dialling;
    dlock_time earliest; /* no asynchronous call has a limit before this */
    dlock_time lazy_at;  /* the thread reads for those who do not hurry; may have passed */
};

/* ---- line.c ---- */

void dlock_line_settle(shared *s, shared_call *a, dlock_redis_outcome outcome, redisReply *reply);
void dlock_line_tell_finished(shared *s); /* those who settle calls do this soon */

/* What is queued is not sent; `said`: see dlock_redis_said(). */
void dlock_line_fail_queue(shared *s, station *k, const char *said);

/* Its deadline has passed. False: it is being written, or an answer read. */
bool dlock_line_give_up(shared *s, shared_call *a);

bool dlock_line_is_misread(const line *l);
bool dlock_line_is_usable(const station *k, const line *l); /* more may be sent on it */
void dlock_line_retire(station *k, line *l);                /* nothing more is sent on it */
void dlock_line_fail(shared *s, station *k, line *l);       /* nor read */
void dlock_line_let_go(station *k, line *l); /* frees it, if nobody uses it any more */

/* Writes what is queued; or reads what has arrived, and then writes. Nobody else is at it. */
void dlock_line_write(shared *s, station *k, line *l);
void dlock_line_step(shared *s, station *k, line *l);

/* ---- shared.c ---- */

/* Sends what is queued, or makes a step to that. False: there is nothing to do but to wait, for a
 * connection at times, which a thread of its own opens. */
bool dlock_shared_push(shared *s, station *k);

/* ---- attend.c ---- */

void dlock_line_poke(shared *s); /* the thread looks again */

/* Somebody who waits for an answer is to read now. */
void dlock_line_pass_on(shared *s, station *k, line *l);

/* Starts the thread, if it does not run. False: it can not. */
bool dlock_shared_start_thread(shared *s);

#endif
