/* rate.c - a script for each key of a buy, and lock-free buckets for questions. */
#include "server/api/rate.h"

#include <stdio.h>

#include "server/api/rate.lua.h"
#include "server/base/text.h"

#define BUY_MS             1000 /* of a request's time at most, for both keys of a buy together */
#define UNKNOWN_ITEMS_RATE 50   /* a second */
#define US_PER_S           1000000

static dlock_script script = DLOCK_SCRIPT("limit", "#!lua\n" RATE_LUA);

/* A server that takes no writes is not asked: its silence would delay the sales of others. */
static int wait_key(const fs_rate *rate, const char *kind, const char *who, int64_t a_second,
                    dlock_time deadline)
{
    char key[192];
    if (a_second == 0)
        return 0;
    snprintf(key, sizeof(key), "fs:rate:%s:{%.128s}", kind, who);
    if (!node_takes_writes(store_node(rate->store, key)))
        return 0;
    dlock_args args = store_words(WORDS(key));
    dlock_args_int(&args, US_PER_S / a_second);
    dlock_args_int(&args, rate->burst);
    redisReply *reply =
        store_read_script(rate->store, deadline, &script, 1, &args, store_is_number);
    int64_t wait_us = reply ? reply->integer : 0;
    freeReplyObject(reply);
    return (int)((wait_us + US_PER_S - 1) / US_PER_S);
}

/* The address comes first: a client can invent users, but not its address. */
int rate_wait_buy(const fs_rate *rate, const char *user, const char *address, dlock_time deadline)
{
    dlock_time until = dlock_sooner(deadline, dlock_in_ms(BUY_MS));
    int wait_s = wait_key(rate, "address", address, rate->address, until);
    return wait_s > 0 ? wait_s : wait_key(rate, "user", user, rate->user, until);
}

static int wait_bucket(_Atomic int64_t *empty_us, int64_t a_second)
{
    int64_t each = US_PER_S / a_second, now = dlock_now().us, before = atomic_load(empty_us), from;
    do {
        from = before > now ? before : now;
        int64_t wait = from - now - (US_PER_S - each);
        if (wait > 0)
            return (int)((wait + US_PER_S - 1) / US_PER_S);
    } while (!atomic_compare_exchange_weak(empty_us, &before, from + each));
    return 0;
}

int rate_wait_question(fs_rate *rate, const char *address)
{
    _Atomic int64_t *bucket = &rate->empty_us[text_hash(address) % RATE_BUCKETS];
    return rate->question == 0 ? 0 : wait_bucket(bucket, rate->question);
}

int rate_wait_unknown_item(fs_rate *rate)
{
    return wait_bucket(&rate->unknown_empty_us, UNKNOWN_ITEMS_RATE);
}
