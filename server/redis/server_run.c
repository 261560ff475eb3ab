/* server_run.c - the admitted run, and the call that asks a server for its run. */
#include "server/redis/server_run.h"

#include <stdio.h>
#include <string.h>

#include "server/base/text.h"

void server_run_init(server_run *run)
{
    memset(run, 0, sizeof(*run));
    pthread_mutex_init(&run->lock, NULL);
}

/* Under the lock. */
static void admit(server_run *run, const char *id)
{
    snprintf(run->admitted, sizeof(run->admitted), "%s", id);
    run->admitted_one = true;
}

void server_run_free(server_run *run)
{
    pthread_mutex_destroy(&run->lock);
}

bool server_run_goes_on(const char *before, const char *now)
{
    size_t len = strlen(now);
    return strncmp(before, now, len) == 0 && (before[len] == '\0' || before[len] == '.');
}

bool server_run_keep(server_run *run, const char *id)
{
    pthread_mutex_lock(&run->lock);
    bool same = run->admitted[0] != '\0' && server_run_goes_on(run->admitted, id);
    if (same)
        admit(run, id);
    if (same && run->looked_at[0] != '\0')
        snprintf(run->looked_at, sizeof(run->looked_at), "%s", id);
    pthread_mutex_unlock(&run->lock);
    return same;
}

/* Whether `id` goes on as the run `pinned` does; `otherwise`: no run is. */
static bool fits(server_run *run, const char *pinned, bool otherwise, const char *id)
{
    pthread_mutex_lock(&run->lock);
    if (!run->guarded && run->admitted[0] == '\0')
        admit(run, id);
    bool good = pinned[0] == '\0' ? otherwise : server_run_goes_on(pinned, id);
    pthread_mutex_unlock(&run->lock);
    return good;
}

bool server_run_admits(server_run *run, const char *id)
{
    return fits(run, run->admitted, false, id);
}

bool server_run_looks_at(server_run *run, const char *id)
{
    return fits(run, run->looked_at, true, id);
}

void server_run_guard(server_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->guarded = true;
    pthread_mutex_unlock(&run->lock);
}

void server_run_look_at(server_run *run, const char *id)
{
    pthread_mutex_lock(&run->lock);
    run->admitted[0] = '\0';
    snprintf(run->looked_at, sizeof(run->looked_at), "%s", id);
    pthread_mutex_unlock(&run->lock);
}

void server_run_admit(server_run *run, const char *id)
{
    pthread_mutex_lock(&run->lock);
    admit(run, id);
    pthread_mutex_unlock(&run->lock);
}

void server_run_forget(server_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->admitted[0] = run->looked_at[0] = '\0';
    pthread_mutex_unlock(&run->lock);
}

/* Eight characters of each part (dlock_redis_run_of()). */
void server_run_name(server_run *run, char ret[RUN_NAME_MAX + 1])
{
    pthread_mutex_lock(&run->lock);
    const char *id = run->looked_at[0] != '\0' ? run->looked_at : run->admitted;
    const char *dot = strchr(id, '.');
    snprintf(ret, RUN_NAME_MAX + 1, "%.8s%.9s", id, dot ? dot : "");
    pthread_mutex_unlock(&run->lock);
}

bool server_run_is_first(server_run *run)
{
    pthread_mutex_lock(&run->lock);
    bool first = !run->admitted_one;
    pthread_mutex_unlock(&run->lock);
    return first;
}

bool server_run_ask_on(dlock_redis_conn *conn, dlock_time deadline, server_answer *ret)
{
    char loading[8] = "", role[8] = "";
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "INFO");
    dlock_args_text(&args, "server");
    dlock_args_text(&args, "persistence");
    dlock_args_text(&args, "replication");
    bool good =
        dlock_redis_call(conn, &args, deadline, &reply) == DLOCK_REDIS_OK &&
        dlock_redis_conn_check(conn, "INFO server", reply, reply->type == REDIS_REPLY_STRING) &&
        dlock_redis_run_of(reply->str, ret->run_id, sizeof(ret->run_id)) &&
        text_line_value(reply->str, "loading", loading, sizeof(loading));
    ret->loading = strcmp(loading, "0") != 0;
    ret->replica = good && text_line_value(reply->str, "role", role, sizeof(role)) &&
                   strcmp(role, "slave") == 0;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return good;
}

bool server_run_ask(dlock_redis *redis, int server, dlock_time deadline, server_answer *ret)
{
    dlock_redis_conn *conn;
    if (dlock_redis_dial_server(redis, server, deadline, &conn) != DLOCK_REDIS_OK)
        return false;
    bool good = server_run_ask_on(conn, deadline, ret);
    dlock_redis_hang_up(conn);
    return good;
}
