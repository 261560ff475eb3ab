/*
 * Answers to several commands in one go, and answers that can not be right.
 */
#include <stdio.h>

#include "redis/conn.h"

bool dlock_redis_answers(dlock_redis_conn *conn, dlock_time deadline, int count, redisReply **ret)
{
    bool good = dlock_redis_flush(conn, deadline) == DLOCK_REDIS_OK;
    for (int i = 0; i < count; i++) {
        ret[i] = NULL;
        if (good)
            good = dlock_redis_read(conn, deadline, &ret[i]) != DLOCK_REDIS_UNKNOWN && ret[i];
    }
    for (int i = 0; !good && i < count; i++) {
        freeReplyObject(ret[i]);
        ret[i] = NULL;
    }
    return good;
}

/* What was answered, without a word of it: it may be anybody's. */
static const char *shape_of(const redisReply *reply, char *buf, size_t buf_len)
{
    switch (reply->type) {
    case REDIS_REPLY_STRING:
        return "a text";
    case REDIS_REPLY_STATUS:
        return "a status";
    case REDIS_REPLY_INTEGER:
        return "an integer";
    case REDIS_REPLY_NIL:
        return "nothing (nil)";
    case REDIS_REPLY_ARRAY:
        snprintf(buf, buf_len, "a list of %zu", reply->elements);
        return buf;
    default:
        return "something unknown";
    }
}

/* Where the answer does not fit, and is no error: notes so, and returns true. */
static bool is_astray(dlock_redis *redis, const char *command, const redisReply *reply, bool fits)
{
    char shape[40];
    if (fits || reply->type == REDIS_REPLY_ERROR)
        return false;
    dlock_redis_note(redis, "connection to Redis given up: %s was answered with %s", command,
                     shape_of(reply, shape, sizeof(shape)));
    return true;
}

bool dlock_redis_conn_check(dlock_redis_conn *conn, const char *command, const redisReply *reply,
                            bool fits)
{
    if (is_astray(conn->redis, command, reply, fits))
        conn->broken = true;
    return fits;
}

bool dlock_redis_check(dlock_redis *redis, const char *command, const redisReply *reply, bool fits)
{
    if (is_astray(redis, command, reply, fits))
        atomic_fetch_add(&redis->misread, 1);
    return fits;
}
