/*
 * What an error reply says about execution, and its first word; outcomes in words.
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
    "NOSCRIPT",    /* EVALSHA of an unknown script */
    "OOM",         /* over maxmemory */
    "READONLY",    /* a replica, after a failover */
    "TRYAGAIN",    /* cluster: keys of one call in two places */
    "UNBLOCKED",   /* a blocking command, ended by the server */
    "WRONGPASS",   /* authentication failed */
};

/* These share the code ERR and are told by their text. */
static const char *const refused_texts[] = {
    "ERR max number of clients reached",
    "ERR unknown command",
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
