/*
 * The engine of a client: one thread that runs tasks when something happened to them, or when they
 * are due, and a pipeline for their requests. It never waits for Redis.
 *
 *     engine (thread, timers) --- pipeline (a thread and a connection to each server)
 *        |     `-- subscriber (thread, a connection to each server with a channel)
 *        |-- dlock_pending: an acquisition or a release
 *        `-- lock_watch: one lock with waiters; its channel, its heartbeats
 *
 * Order of mutexes, outer first: subscriber, a client's list of locks, wait set of a lock, list of
 * watches, engine; a pipeline's has none behind it.
 */
#ifndef DLOCK_CORE_ENGINE_H
#define DLOCK_CORE_ENGINE_H

#include <stdatomic.h>

#include "core/lock.h"
#include "core/timers.h"
#include "redis/pipeline.h"

typedef struct engine engine;

/* The first member of what the engine runs. A task in the list to be run has a reference, and so
 * has each request under way. */
typedef struct task {
    void (*run)(struct task *t);  /* on the engine's thread; perhaps without any news */
    void (*free)(struct task *t); /* the last reference is gone */
    engine *engine;               /* (borrowed) */
    atomic_int refs;
    timer timer;       /* the engine's thread's alone */
    struct task *next; /* among those to be run */
    bool noticed;      /* it is among them */
} task;

/* The client's engine, made when it is first needed. NULL: out of memory, or of threads. */
engine *dlock_engine_of(dlock_client *client);

struct subscriber *dlock_engine_subscriber(const engine *e);

/* All watches, and the function that frees them when the engine's thread has ended. */
typedef struct watch_list {
    pthread_mutex_t lock; /* guards first */
    struct lock_watch *first;
    void (*free)(struct lock_watch *first);
} watch_list;
watch_list *dlock_engine_watches(engine *e);

/* Calls a script and ignores its reply. NULL: there is no engine, and nothing is done. */
void dlock_engine_tell(engine *e, dlock_lock *lock, const kind_call *how, const char *token);

/* With one reference, the caller's. */
void dlock_task_init(task *t, engine *e, void (*run)(task *t), void (*free)(task *t));
void dlock_task_ref(task *t);
void dlock_task_unref(task *t);

/* Runs the task soon; from any thread. */
void dlock_task_notice(task *t);

/* Runs the task at `due`, and no longer at the time set before; on the engine's thread. INT64_MAX:
 * never. False: out of memory, and it will not run. */
bool dlock_task_at(task *t, dlock_time due);

/* A request to a lock's server. Its task is run once it is answered. */
typedef struct question {
    pipeline_call call; /* first, so that the one is the other */
    task *task;         /* (a reference) */
    dlock_time asked;
    atomic_bool answered;
} question;

/* To be filled in: script, keys, args. NULL: out of memory. */
question *dlock_question_new(task *t);
void dlock_question_put(question *q);

/* The result of an answered question. With OK there is a reply. */
dlock_status dlock_question_status(const question *q);

/* It is answered, or was never put. */
void dlock_question_free(question *q);

#endif
