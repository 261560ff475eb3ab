/* A script call that says when the script has run, and still waits for replicas. */
#ifndef DLOCK_REDIS_CALL_H
#define DLOCK_REDIS_CALL_H

#include "dlock_redis.h"

/* The script was executed, and this is its reply; what the replicas have is not known yet. */
typedef void dlock_redis_ran(void *arg, const redisReply *reply);

/* As dlock_redis_eval_wait(). `ran` is called at most once, before the wait; NULL = not called. */
dlock_redis_outcome dlock_redis_eval_notify(dlock_redis *redis, dlock_script *script, int keys,
                                            const dlock_args *args, int replicas,
                                            dlock_time deadline, dlock_redis_ran *ran, void *arg,
                                            redisReply **ret);

#endif
