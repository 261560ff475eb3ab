/*
 * What replies mean: what an error says about execution, and its first word; outcomes in words;
 * replies to several commands in one go, and replies that can not be right.
 *
 * Redis answers some errors before it runs a command: those leave nothing behind and the command
 * may be tried again. All others are definite errors of the command. The table is by the reply's
 * first word; the codes are those of Redis 7 and Valkey 8 (src/server.c, cluster.c, script.c).
 */
#include <stdio.h>
#include <string.h>

#include "redis/conn.h"

static const char *const refused_before_execution[] = {
    "ASK",         /* cluster: slot is migrating */
    "BUSY",        /* another script runs for too long */
    "CLUSTERDOWN", /* cluster: slot not served */
    "LOADING",     /* reading its data set at start */
    "MASTERDOWN",  /* replica without its master */
    "MISCONF",     /* writes are off since the last save failed */
    "MOVED",       /* cluster: slot lives elsewhere */
    "NOAUTH",      /* authentication is missing */
    "NOPERM",      /* ACL */
    "NOREPLICAS",  /* min-replicas-to-write is not met */
    "OOM",         /* over maxmemory */
    "READONLY",    /* a replica, after a failover */
    "TRYAGAIN",    /* cluster: keys of one call in two places */
    "UNBLOCKED",   /* a blocking command, ended by the server */
    "WRONGPASS",   /* authentication failed */
};

/* These are told by their text. */
static const char *const refused_texts[] = {
    "ERR max number of clients reached", "ERR unknown command",
    "NOSCRIPT No matching script", /* but a script may say NOSCRIPT by itself */
};

dlock_redis_outcome dlock_redis_classify(const char *text)
{
    /* Inside a script earlier lines have been executed; the reply then names the script. */
    if (strstr(text, "@user_script") || strstr(text, "user_script:"))
        return DLOCK_REDIS_ERROR;
    size_t word = strcspn(text, " ");
    for (size_t i = 0; i < sizeof(refused_before_execution) / sizeof(char *); i++)
        if (strlen(refused_before_execution[i]) == word &&
            memcmp(refused_before_execution[i], text, word) == 0)
            return DLOCK_REDIS_REFUSED;
    for (size_t i = 0; i < sizeof(refused_texts) / sizeof(char *); i++)
        if (strncmp(text, refused_texts[i], strlen(refused_texts[i])) == 0)
            return DLOCK_REDIS_REFUSED;
    return DLOCK_REDIS_ERROR;
}

/* ---- what Redis said to this thread ---------------------------------------------------------- */

static _Thread_local char said[24];

/* Redis 7.0 and later ones say so with the code ERR. */
static bool is_denied_to_script(const char *answer)
{
    return strstr(answer, "user executing the script can't") ||
           strstr(answer, "ACL failure in script");
}

void dlock_redis_hear(const char *answer)
{
    said[0] = '\0';
    if (!answer)
        return;
    if (is_denied_to_script(answer))
        answer = "NOPERM";
    size_t word = strspn(answer, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    snprintf(said, sizeof(said), "%.*s", word > 1 ? (int)word : 0, answer);
}

const char *dlock_redis_said(void)
{
    return said;
}

/* A connect that is held back fails for the same reason as the last one. */
void dlock_redis_hear_again(dlock_redis *redis)
{
    static const char answered[] = "Redis answered: ";
    char error[ERROR_LEN];
    dlock_redis_last_error(redis, error, sizeof(error));
    if (strncmp(error, answered, strlen(answered)) == 0)
        dlock_redis_hear(error + strlen(answered));
    else if (strncmp(error, DLOCK_NOT_ADMITTED, strlen(DLOCK_NOT_ADMITTED)) == 0)
        dlock_redis_hear(DLOCK_NOT_ADMITTED);
}

/* ---- in words -------------------------------------------------------------------------------- */

const char *dlock_redis_outcome_text(dlock_redis_outcome outcome)
{
    static const char *const texts[] = {
        [DLOCK_REDIS_OK] = "ok",           [DLOCK_REDIS_NOT_SENT] = "not sent",
        [DLOCK_REDIS_REFUSED] = "refused", [DLOCK_REDIS_ERROR] = "error",
        [DLOCK_REDIS_UNKNOWN] = "unknown",
    };
    size_t i = (size_t)outcome;
    return i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : "no such outcome";
}

/* ---- kept for the caller ----------------------------------------------------------------------
 */

void dlock_redis_note(dlock_redis *redis, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    pthread_mutex_lock(&redis->lock);
    vsnprintf(redis->error, sizeof(redis->error), format, ap);
    pthread_mutex_unlock(&redis->lock);
    va_end(ap);
}

void dlock_redis_last_error(dlock_redis *redis, char *buf, size_t buf_len)
{
    pthread_mutex_lock(&redis->lock);
    snprintf(buf, buf_len, "%s", redis->error);
    pthread_mutex_unlock(&redis->lock);
}

static size_t secret_at(const char *text, const char *secret)
{
    size_t len = strlen(secret);
    return strncmp(text, secret, len) == 0 ? len : 0;
}

/* "ERR unknown command 'AUTH', with args beginning with: 'PASSWORD'" must not be repeated, nor a
 * password wherever else the answer has it. */
void dlock_redis_note_answer(dlock_redis *redis, const char *text)
{
    char shown[ERROR_LEN];
    size_t len = 0;
    const address *url = dlock_topology_url(redis->topology);
    const char *end = strstr(text, ", with args");
    while (*text && text != end && len < sizeof(shown) - 4) {
        size_t secret = secret_at(text, url->password);
        if (secret == 0)
            secret = secret_at(text, url->sentinel_password);
        if (secret == 0)
            shown[len++] = *text++;
        else
            len += (size_t)snprintf(shown + len, 4, "***");
        text += secret;
    }
    dlock_redis_note(redis, "Redis answered: %.*s", (int)len, shown);
}

/* ---- replies that fit their command ---------------------------------------------------------- */

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

/* The form of a reply, without its content, which may be anybody's. */
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

/* True, and noted, if the answer does not fit and is no error. */
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
