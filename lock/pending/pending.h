/* A pending call: what acquisitions, releases and blocking calls have in common. */
#ifndef DLOCK_PENDING_PENDING_H
#define DLOCK_PENDING_PENDING_H

#include "core/attempt.h"
#include "core/engine.h"
#include "core/release.h"
#include "core/waiting.h"

typedef enum pending_kind { PENDING_ACQUISITION, PENDING_RELEASE, PENDING_CALL } pending_kind;
typedef enum pending_state { ASKING, ASLEEP, LEAVING, DECIDED } pending_state;

struct dlock_pending {
    task task; /* first, so that the one is the other */
    pending_kind kind;
    pending_state state;
    dlock_client *client; /* (borrowed) */
    dlock_lock *lock;     /* (a reference) NULL: a blocking call */
    question *question;
    dlock_hold *hold;      /* acquisition: its own until it is decided, then the caller's */
    grant_release release; /* release: of which grant */
    dlock_status (*call)(void *arg); /* blocking call: this and the next two */
    void *arg;
    bool in_line; /* it has not begun; `waiter` is its place. Under the mutex of the workers */

    waiter waiter; /* acquisition: this and what follows */
    attempt attempt;
    dlock_cancel *cancel; /* (borrowed) NULL = none */
    cancel_listener cancel_listener;
    atomic_bool cancelled;
    void (*told)(void *arg, dlock_pending *p); /* hears the decision, and finishes the call instead
                                                  of a caller; NULL = none */
    void *told_arg;
    bool asked_late; /* the last question came too late by Redis's clock */
    dlock_time since, due;
    dlock_status ending; /* LEAVING: what it ends in */

    int fd;                   /* eventfd */
    pthread_mutex_t decision; /* guards status, and that the descriptor says the same */
    dlock_status status;      /* DLOCK_PENDING until it is decided */
};

/* With the first reference, the caller's. It is a task of the engine, except a blocking call. NULL:
 * out of memory, descriptors or threads. */
dlock_pending *dlock_pending_new(dlock_client *client, pending_kind what, void (*run)(task *t));

/* Ends the call and tells the caller. From now on the engine has only its references. */
void dlock_pending_decide(dlock_pending *p, dlock_status status);
dlock_status dlock_pending_status(dlock_pending *p); /* DLOCK_PENDING until then */

/* As dlock_acquire_start(); `told` is called with the decision, on the engine's thread and perhaps
 * before this returns, and finishes it. */
dlock_status dlock_acquire_start_told(dlock_lock *lock, const dlock_wait *wait,
                                      void (*told)(void *arg, dlock_pending *p), void *arg,
                                      dlock_pending **ret);

/* What finishes a release or a blocking call: DLOCK_PENDING until it is decided, then it is freed.
 */
dlock_status dlock_pending_finish(dlock_pending *p, pending_kind what);

/* Ends a blocking call that has not begun. */
void dlock_call_cancel(dlock_pending *p);

/* The caller is done with it. */
void dlock_pending_free(dlock_pending *p);

#endif
