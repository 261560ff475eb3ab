/*
 * odd_keys.h - what can stand at a key that is not what it should be, and putting a key aside.
 */
#ifndef TESTS_SERVER_SELLING_ODD_KEYS_H
#define TESTS_SERVER_SELLING_ODD_KEYS_H

#include <stdio.h>
#include <string.h>

#include "server/store/keys.h"
#include "tests/support/service.h"

static const struct {
    const char *type;
    const char *make; /* NULL: the key is missing */
} types[] = {
    {"list", "RPUSH %s x"},  {"hash", "HSET %s f 1"},     {"set", "SADD %s x"},
    {"zset", "ZADD %s 1 x"}, {"stream", "XADD %s * f 1"}, {"string", "SET %s text"},
    {"none", NULL},
};

static const char *const values[] = {
    "",   "abc", "90.0", "9e1", " 90", "0x5a", "12.5", "99999999999999999999",
    "-1", "+5",  "007",  "nan", "inf",
};

static char saved[KEY_MAX + 8];

static void put_aside(const char *key)
{
    snprintf(saved, sizeof(saved), "%s:saved", key);
    redisReply *reply = fx_redis_reply(fx.redis, "TYPE %s", key);
    bool there = strcmp(reply->str, "none") != 0;
    freeReplyObject(reply);
    if (there)
        fx_redis_do(fx.redis, "RENAME %s %s", key, saved);
}

static void put_back(const char *key)
{
    fx_redis_do(fx.redis, "DEL %s", key);
    if (fx_redis_number(fx.redis, "EXISTS %s", saved) == 1)
        fx_redis_do(fx.redis, "RENAME %s %s", saved, key);
}

#endif
