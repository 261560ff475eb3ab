/* One thread of this process listens for all that wait for a lock with a queue in Redis: it blocks
 * on the process's wake-up list, and gives the process's sign of life in between. */
#include "kinds/queue.h"

#include <stdio.h>

#include "core/client.h"
#include "core/status.h"

int64_t dlock_queue_next_beat(const dlock_lock *lock, int64_t end_ms)
{
    int64_t recheck_ms = lock->client->options.recheck_ms;
    return end_ms >= 0 && end_ms < recheck_ms ? end_ms + 1 : recheck_ms;
}

/* For the threads of this process. Returns when the next one is due. */
static dlock_time give_sign_of_life(dlock_lock *lock)
{
    const kind *how = lock->kind;
    int64_t next_ms = lock->client->options.recheck_ms;
    wait_set *set = &lock->wait_set;
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    int keys = how->beat.args(lock, lock->client->id, ENTRY_NONE, &args);
    pthread_mutex_lock(&set->lock);
    for (const waiter *w = set->waiters.first; w; w = w->next)
        if (w->asleep && !w->woken && !w->on_wake) /* one who asks sees to its entry itself */
            dlock_args_text(&args, w->token);
    pthread_mutex_unlock(&set->lock);
    dlock_time asked = dlock_now();
    dlock_status status = dlock_script_call(lock->client, lock->client->options.redis,
                                            how->beat.script, keys, &args, 0, &reply);
    dlock_args_free(&args);
    if (status == DLOCK_OK) {
        next_ms = how->beaten(lock, asked, reply);
        freeReplyObject(reply);
    }
    return dlock_in_ms(next_ms);
}

void dlock_queue_decline(dlock_lock *lock, const kind_call *decline, const char *token)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    int keys = decline->args(lock, token, ENTRY_NONE, &args);
    if (dlock_script_call(lock->client, lock->client->options.redis, decline->script, keys, &args,
                          0, &reply) == DLOCK_OK)
        freeReplyObject(reply);
    dlock_args_free(&args);
}

void dlock_queue_wake_list(const dlock_lock *lock, char *ret, size_t ret_len)
{
    const char *end = lock->kind->token_end ? lock->kind->token_end : "";
    snprintf(ret, ret_len, "%s%s%s", lock->wake, lock->client->id, end);
}

/* A blocking command's reply may come late by the time of the way: `grace`. */
static bool wait_for_message(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    redisReply *reply = NULL;
    char key[CHANNEL_LEN], seconds[24];
    int left = dlock_left_ms(until);
    left = left > 0 ? left : 1; /* 0 would be for ever */
    dlock_queue_wake_list(lock, key, sizeof(key));
    snprintf(seconds, sizeof(seconds), "%d.%03d", left / 1000, left % 1000);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "BLPOP");
    dlock_args_text(&args, key);
    dlock_args_text(&args, seconds);
    dlock_time grace = dlock_in_ms(left + lock->client->options.io_ms);
    dlock_redis_outcome outcome = dlock_redis_call(set->conn, &args, grace, &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_STRING)
        lock->kind->heard(lock, reply->element[1]->str);
    if (reply)
        freeReplyObject(reply);
    set->listened = set->listened || outcome == DLOCK_REDIS_OK;
    return outcome == DLOCK_REDIS_OK;
}

bool dlock_queue_listen(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    if (dlock_passed(set->beat_at)) {
        set->beat_at = give_sign_of_life(lock);
        return true;
    }
    return wait_for_message(lock, dlock_sooner(until, set->beat_at));
}
