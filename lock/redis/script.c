/*
 * Scripts' hashes. The hash is asked of the server once a process (SCRIPT LOAD). When a server does
 * not know it, it says NOSCRIPT before anything was executed, and the text follows.
 */
#include "redis/script.h"

#include <string.h>

/* Without a mutex, which a child of fork() might find locked forever. There a hash that was being
 * written stays unknown, and scripts go by their text. */
enum { HASH_UNKNOWN, HASH_BEING_WRITTEN, HASH_KNOWN };

bool dlock_redis_knows_hash(const dlock_script *script)
{
    return __atomic_load_n(&script->ready, __ATOMIC_ACQUIRE) == HASH_KNOWN;
}

void dlock_redis_keep_hash(dlock_script *script, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len != sizeof(script->sha) - 1)
        return;
    int known = HASH_UNKNOWN;
    if (__atomic_compare_exchange_n(&script->ready, &known, HASH_BEING_WRITTEN, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        memcpy(script->sha, reply->str, sizeof(script->sha));
        __atomic_store_n(&script->ready, HASH_KNOWN, __ATOMIC_RELEASE);
    }
}

void dlock_redis_load_args(const dlock_script *script, dlock_args *args)
{
    dlock_args_init(args);
    dlock_args_text(args, "SCRIPT");
    dlock_args_text(args, "LOAD");
    dlock_args_text(args, script->body);
}

bool dlock_redis_is_unknown_hash(const char *error)
{
    static const char said[] = "NOSCRIPT No matching script";
    return strncmp(error, said, sizeof(said) - 1) == 0;
}

dlock_redis_outcome dlock_redis_learn(dlock_redis_conn *conn, dlock_script *script,
                                      dlock_time deadline)
{
    dlock_args args;
    redisReply *reply;
    if (dlock_redis_knows_hash(script))
        return DLOCK_REDIS_OK;
    dlock_redis_load_args(script, &args);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, deadline, &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK)
        dlock_redis_keep_hash(script, reply);
    freeReplyObject(reply);
    return outcome == DLOCK_REDIS_UNKNOWN ? DLOCK_REDIS_NOT_SENT : outcome;
}
