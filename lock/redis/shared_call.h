/* A call on a connection that all threads share; shared.h says what becomes of it. */
#ifndef DLOCK_REDIS_SHARED_CALL_H
#define DLOCK_REDIS_SHARED_CALL_H

#include "redis/conn.h"
#include "redis/thread.h"

typedef struct shared shared;
typedef struct shared_call shared_call;
typedef struct line line;

/* The first change decides. */
enum call_fate { CALL_OPEN = 0, CALL_SENT, CALL_WITHDRAWN };

/* A call. Zero, then fill in the first part. */
struct shared_call {
    dlock_script *script;   /* NULL: `args` are a whole command */
    const dlock_args *args; /* (borrowed) */
    int keys;
    bool by_text, asking; /* ASKING precedes it */
    dlock_time deadline;  /* it is not sent after this, and waits for no answer, ... */
    int64_t grace_ms;     /* ... but at least so long after it was sent */
    bool lazy;            /* asynchronous: the answer is not urgent */
    atomic_int *fate;     /* an call_fate; NULL: nobody withdraws it */
    void (*written)(
        shared_call *a); /* once: its bytes were given to the kernel. NULL: nobody is told */
    void (*done)(shared_call *a); /* asynchronous: once, from any thread */

    dlock_redis_outcome outcome;
    redisReply *reply; /* of OK, REFUSED and ERROR; the owner's */

    int server; /* this and the rest: internal */
    bool is_done;
    line *line; /* NULL: it waits to be sent, or is done */
    char said[24];
    dlock_sleeper place; /* ended when it is done, and nobody uses it any more */
    shared_call *next;
};

#endif
