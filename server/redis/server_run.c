/* server_run.c - the admitted run, and the question to the server. */
#include "server/redis/server_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void server_run_init(server_run *run)
{
    memset(run, 0, sizeof(*run));
    pthread_mutex_init(&run->lock, NULL);
}

bool server_run_admits(void *arg, const char *id)
{
    server_run *run = arg;
    pthread_mutex_lock(&run->lock);
    if (!run->guarded && run->admitted[0] == '\0')
        snprintf(run->admitted, sizeof(run->admitted), "%s", id);
    bool good = strcmp(run->admitted, id) == 0;
    pthread_mutex_unlock(&run->lock);
    return good;
}

void server_run_guard(server_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->guarded = true;
    pthread_mutex_unlock(&run->lock);
}

void server_run_admit(server_run *run, const char *id)
{
    pthread_mutex_lock(&run->lock);
    snprintf(run->admitted, sizeof(run->admitted), "%s", id);
    pthread_mutex_unlock(&run->lock);
}

bool server_run_is_first(server_run *run)
{
    pthread_mutex_lock(&run->lock);
    bool first = run->admitted[0] == '\0';
    pthread_mutex_unlock(&run->lock);
    return first;
}

/* A field of INFO's text, copied up to the line's end. */
static bool field(const char *info, const char *name, char *ret, size_t ret_len)
{
    const char *at = strstr(info, name);
    size_t len = at ? strcspn(at + strlen(name), "\r\n") : 0;
    if (len == 0 || len >= ret_len)
        return false;
    memcpy(ret, at + strlen(name), len);
    ret[len] = '\0';
    return true;
}

bool server_run_ask(dlock_redis *redis, dlock_time deadline, char ret_id[RUN_ID_MAX + 1],
                    int64_t *ret_up_s)
{
    char up[24] = "";
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "INFO");
    dlock_args_text(&args, "server");
    bool good = dlock_redis_command(redis, NULL, &args, deadline, &reply) == DLOCK_REDIS_OK &&
                reply->str && field(reply->str, "\nrun_id:", ret_id, RUN_ID_MAX + 1) &&
                field(reply->str, "\nuptime_in_seconds:", up, sizeof(up));
    if (good)
        *ret_up_s = strtoll(up, NULL, 10);
    freeReplyObject(reply);
    dlock_args_free(&args);
    return good;
}
