/*
 * Each INFO uses a new connection: a run asks three times, and a connection that stays open would
 * only be one more thing that can break.
 */
#include "loadtest/service/redis_info.h"

#include "loadtest/base/number.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct timeval limit = {.tv_sec = 2}; /* for connecting, sending, receiving */

/* NULL, with a sentence in `err`, when it can not be reached. */
static redisContext *open_connection(const char *address, char *err, size_t err_len)
{
    static const char unix_prefix[] = "unix://";
    redisContext *c = NULL;
    if (strncmp(address, unix_prefix, sizeof(unix_prefix) - 1) == 0) {
        c = redisConnectUnixWithTimeout(address + sizeof(unix_prefix) - 1, limit);
    } else {
        char host[256];
        long port;
        const char *colon = strrchr(address, ':');
        if (!colon || (size_t)(colon - address) >= sizeof(host) ||
            !number_parse_long(colon + 1, 1, 65535, &port)) {
            snprintf(err, err_len, "%s: not of the form unix:///path or host:port", address);
            return NULL;
        }
        snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
        c = redisConnectWithTimeout(host, (int)port, limit);
    }
    if (c && !c->err && redisSetTimeout(c, limit) == REDIS_OK)
        return c;
    snprintf(err, err_len, "%s: %s", address, c ? c->errstr : "out of memory");
    redisFree(c);
    return NULL;
}

/* The number behind "name:" in an answer to INFO. False: there is none. */
static bool number_of(const char *info, const char *name, double *ret)
{
    const char *line = strstr(info, name);
    if (line)
        *ret = strtod(line + strlen(name), NULL);
    return line;
}

bool redis_info_add(const char *address, lt_redis_info *sum, char *err, size_t err_len)
{
    double commands, user_s, system_s;
    redisContext *c = open_connection(address, err, err_len);
    if (!c)
        return false;
    redisReply *reply = redisCommand(c, "INFO");
    bool complete = reply && reply->type == REDIS_REPLY_STRING &&
                    number_of(reply->str, "\ntotal_commands_processed:", &commands) &&
                    number_of(reply->str, "\nused_cpu_user:", &user_s) &&
                    number_of(reply->str, "\nused_cpu_sys:", &system_s);
    if (complete) {
        sum->commands += commands;
        sum->cpu_s += user_s + system_s;
    } else {
        snprintf(err, err_len, "%s: no usable answer to INFO", address);
    }
    freeReplyObject(reply);
    redisFree(c);
    return complete;
}
