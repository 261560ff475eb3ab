/*
 * A pipeline: script calls to the servers behind a dlock_redis, each on a thread and a connection
 * of its own. A server that is silent holds up nothing but the calls that are put to it.
 */
#ifndef DLOCK_REDIS_PIPELINE_H
#define DLOCK_REDIS_PIPELINE_H

#include <stdatomic.h>

#include "dlock_redis.h"

/* A call of a script, put to the server of its first key behind one dlock_redis, or behind several
 * at once. A script that replies 1 or 0 is voted on: the call is decided when `need` of them have
 * replied the same, or none is left to reply. One server's call may keep its answer as well. */
typedef struct pipeline_call {
    dlock_script *script;
    dlock_args args;
    int keys;         /* at least one */
    dlock_time until; /* it is not sent after this, nor an answer waited for, ... */
    int64_t grace_ms; /* ... but so long from sending on, after a long time in line */
    int servers, need;
    bool keeps_answer;
    bool nowhere; /* no server of its key was known when it was put */
    void (*decided)(struct pipeline_call *call); /* once, from any thread */
    void (*over)(struct pipeline_call *call);    /* the last one has let it go: free it */

    pthread_mutex_t lock; /* guards the rest until it is decided; yes and no are settled then */
    int yes, no, answers;
    dlock_redis_outcome outcome; /* kept: what the last server's answer came to, ... */
    redisReply *reply;           /* ... and it, or NULL; freed with the call */
    bool is_decided;
    atomic_int refs;
} pipeline_call;

/* With the rest filled in: one reference is the caller's, one each server's. */
void dlock_pipeline_call_init(pipeline_call *call);
void dlock_pipeline_call_unref(pipeline_call *call);

typedef struct pipeline pipeline;

/* NULL: out of memory. */
pipeline *dlock_pipeline_new(dlock_redis *redis);
void dlock_pipeline_put(pipeline *p, pipeline_call *call); /* NULL: there is no answer. From any
                                                              thread */
void dlock_pipeline_stop(pipeline *p);                     /* asks it to end. NULL is allowed */
void dlock_pipeline_free(pipeline *p); /* waits for that; what is left has no answer */

#endif
