/*
 * What is said on a new connection before it is used: who we are, and whether this run of the
 * server may be used at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"

#define MAJOR_MIN  7 /* scripts with a "#!lua" line */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* False: no answer, or an error. The caller frees *ret. */
static bool ask(dlock_redis_conn *conn, dlock_time deadline, const char *const *words,
                redisReply **ret)
{
    dlock_args args = {0};
    for (; *words; words++)
        dlock_args_text(&args, *words);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, deadline, ret);
    dlock_args_free(&args);
    return outcome == DLOCK_REDIS_OK;
}

static bool say(dlock_redis_conn *conn, dlock_time deadline, const char *const *words)
{
    redisReply *reply = NULL;
    bool ok = ask(conn, deadline, words, &reply);
    freeReplyObject(reply);
    return ok;
}

/* AUTH, SELECT, CLIENT SETNAME: each only where asked for. A user may need no password. */
static bool greet(dlock_redis_conn *conn, dlock_time deadline)
{
    const char *name = conn->redis->name;
    const address *a = dlock_topology_url(conn->redis->topology);
    char db[12];
    snprintf(db, sizeof(db), "%d", a->db);
    bool ok = true;
    if (a->user[0])
        ok = say(conn, deadline, WORDS("AUTH", a->user, a->password));
    else if (a->password[0])
        ok = say(conn, deadline, WORDS("AUTH", a->password));
    return ok && (!a->db || say(conn, deadline, WORDS("SELECT", db))) &&
           (!name[0] || say(conn, deadline, WORDS("CLIENT", "SETNAME", name)));
}

bool dlock_redis_is_role(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 && reply->element[0]->str;
}

bool dlock_redis_ask_role(dlock_redis_conn *conn, dlock_time deadline, bool *ret_primary)
{
    redisReply *reply = NULL;
    bool answered = ask(conn, deadline, WORDS("ROLE"), &reply) &&
                    dlock_redis_conn_check(conn, "ROLE", reply, dlock_redis_is_role(reply));
    *ret_primary = answered && strcmp(reply->element[0]->str, "master") == 0;
    freeReplyObject(reply);
    return answered;
}

/* Behind Sentinel only a primary will do: an address that was told may be out of date. */
static bool is_right_role(dlock_redis_conn *conn, dlock_time deadline)
{
    const finder *how = dlock_topology_finder(conn->redis->topology);
    bool primary;
    if (!how || !how->wants_primary)
        return true;
    if (dlock_redis_ask_role(conn, deadline, &primary) && !primary)
        dlock_redis_note(conn->redis, "the server that the sentinels named is no master");
    return primary;
}

bool dlock_redis_is_recent(const char *info, char *err, size_t err_len)
{
    static const char name[] = "redis_version:"; /* Valkey says which Redis it matches */
    const char *at = strstr(info, name);
    if (!at || strtol(at + strlen(name), NULL, 10) >= MAJOR_MIN)
        return true;
    snprintf(err, err_len,
             "the server is Redis %.*s, but Redis %d.0 or newer, or Valkey, is needed",
             (int)strspn(at + strlen(name), "0123456789."), at + strlen(name), MAJOR_MIN);
    return false;
}

/* A field of INFO's text; "" = it has none, or a longer one. */
static void find_field(const char *info, const char *name, char ret[RUN_ID_LEN / 2])
{
    const char *at = strstr(info, name);
    size_t len = at ? strcspn(at + strlen(name), "\r\n") : 0;
    snprintf(ret, RUN_ID_LEN / 2, "%.*s", len < RUN_ID_LEN / 2 ? (int)len : 0,
             at ? at + strlen(name) : "");
}

bool dlock_redis_run_of(const char *info, char *ret, size_t ret_len)
{
    char run[RUN_ID_LEN / 2], before[RUN_ID_LEN / 2];
    find_field(info, "\nrun_id:", run);
    find_field(info, "\nmaster_replid2:", before); /* all zeros: it has taken over nothing */
    bool promoted = before[strspn(before, "0")] != '\0';
    int len = snprintf(ret, ret_len, "%s%s%s", run, promoted ? "." : "", promoted ? before : "");
    return run[0] != '\0' && (size_t)len < ret_len;
}

/* Reads INFO. False: this server will not do, and it is noted why. */
static bool understand(dlock_redis *redis, const char *info, char run_id[RUN_ID_LEN])
{
    char err[ERROR_LEN];
    if (!dlock_redis_is_recent(info, err, sizeof(err))) {
        dlock_redis_note(redis, DLOCK_TOO_OLD " %s", err);
        dlock_redis_hear(DLOCK_TOO_OLD);
        return false;
    }
    if (dlock_redis_run_of(info, run_id, RUN_ID_LEN))
        return true;
    dlock_redis_note(redis, "the server does not say which run it is");
    return false;
}

/* Whether this run of the server may be used. *asked: it has said which it is. */
static bool admitted(dlock_redis_conn *conn, dlock_time deadline, bool *asked)
{
    dlock_redis *redis = conn->redis;
    char *run_id = conn->run_id;
    redisReply *reply = NULL;
    *asked = !redis->admit;
    if (!redis->admit)
        return true;
    bool answered =
        ask(conn, deadline, WORDS("INFO", "server", "replication"), &reply) &&
        dlock_redis_conn_check(conn, "INFO server", reply, reply->type == REDIS_REPLY_STRING);
    if (answered)
        *asked = understand(redis, reply->str, run_id);
    freeReplyObject(reply);
    conn->round = atomic_load(&redis->round);
    bool good = *asked && redis->admit(redis->admit_arg, conn->server, run_id);
    if (*asked && !good) {
        dlock_redis_note(redis, DLOCK_NOT_ADMITTED " another run of the server: %.16s...", run_id);
        dlock_redis_hear(DLOCK_NOT_ADMITTED);
    }
    return good;
}

bool dlock_redis_introduce(dlock_redis_conn *conn, dlock_time deadline, bool *well)
{
    *well = false;
    return greet(conn, deadline) && is_right_role(conn, deadline) && admitted(conn, deadline, well);
}
