/* The dlock command as its users run it, by the shell, on one real Redis. */
#ifndef TESTS_LOCK_CMD_BY_SHELL_H
#define TESTS_LOCK_CMD_BY_SHELL_H

#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define SOON_MS 30000 /* limit for what should take a moment */

static fx_redis *redis;

/* Starts "dlock WORDS" by the shell, its stdin not a terminal, its server the fixture's. */
static inline fx_process *start(const char *words)
{
    char line[1024], path[256];
    snprintf(line, sizeof(line), "exec %s %s </dev/null", fx_build_path("dlock", path, 256), words);
    return fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
}

/* Runs it to its end and returns the exit code; what it printed goes to `out`, if given. */
static inline int run(const char *words, char *out, size_t out_len)
{
    fx_process *process = start(words);
    int code = fx_process_wait(process, SOON_MS);
    if (out)
        snprintf(out, out_len, "%s", fx_process_stdout(process));
    fx_process_free(process);
    return code;
}

__attribute__((format(printf, 1, 2))) static inline long long ask(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    redisReply *reply = fx_redis_vreply(redis, format, ap);
    va_end(ap);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

static inline int setup_group(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static inline int teardown_group(void **state)
{
    (void)state;
    fx_redis_stop(redis);
    return 0;
}

static inline int flush(void **state)
{
    (void)state;
    ask("FLUSHALL");
    return 0;
}

#endif
