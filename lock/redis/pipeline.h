/*
 * Asynchronous script calls to the servers behind a dlock_redis. They are written at once, on the
 * caller's thread, if that needs no waiting. A silent server delays only its own calls.
 */
#ifndef DLOCK_REDIS_PIPELINE_H
#define DLOCK_REDIS_PIPELINE_H

#include <stdatomic.h>

#include "dlock_redis.h"

/* A call of a script, put to the server of its first key. */
typedef struct pipeline_call {
    dlock_script *script;
    dlock_args args;
    int keys;         /* at least one */
    dlock_time until; /* it is not sent after this, and waits for no answer, ... */
    int64_t grace_ms; /* ... but at least so long after it was sent, after a long time in line */
    bool lazy;        /* the answer is not urgent */
    bool nowhere;     /* no server of its key was known when it was put */
    void (*written)(
        struct pipeline_call *call); /* before `decided`, from any thread: its bytes were
                                        given to the kernel. NULL: nobody is told */
    void (*decided)(struct pipeline_call *call); /* once, from any thread */
    void (*over)(struct pipeline_call *call);    /* the last one has let it go: free it */

    dlock_redis_outcome outcome; /* from `decided` on, and ... */
    redisReply *reply;           /* ... the answer of OK, else NULL; freed with the call */
    atomic_int refs;
    atomic_int fate; /* whether it is sent, or withdrawn: one of call_fate */
} pipeline_call;

/* With the rest filled in: one reference is the caller's, one the server's. */
void dlock_pipeline_call_init(pipeline_call *call);
void dlock_pipeline_call_unref(pipeline_call *call);

/* True: it is not sent, and will not be. */
bool dlock_pipeline_withdraw(pipeline_call *call);

/* Puts a call that nobody but the closing of `redis` waits for. From any thread. */
void dlock_pipeline_ask(dlock_redis *redis, pipeline_call *call);

/* Calls with a wait for their end. */
typedef struct pipeline pipeline;

/* NULL: out of memory. */
pipeline *dlock_pipeline_new(dlock_redis *redis);
void dlock_pipeline_put(pipeline *p, pipeline_call *call); /* NULL: there is no answer. From any
                                                              thread */
void dlock_pipeline_stop(pipeline *p); /* calls put from now on have no answer. NULL is allowed */
void dlock_pipeline_free(pipeline *p); /* waits for those before: until their limits */

#endif
