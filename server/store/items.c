/* items.c - a sorted set with equal scores is sorted by name. */
#include "server/store/items.h"

#include <stdio.h>

#include "server/base/log.h"
#include "server/base/text.h"

bool items_add(fs_store *store, const char *item, dlock_time deadline)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(store, deadline, WORDS("ZADD", ITEMS_KEY, "0", item), &reply);
    freeReplyObject(reply);
    if (outcome == DLOCK_REDIS_OK)
        return true;
    LOG_SOME(LOG_WARN, "item_not_listed", "item", item, "how", dlock_redis_outcome_text(outcome),
             "redis", dlock_redis_said(), NULL);
    return false;
}

redisReply *items_read(fs_store *store, const char *after, dlock_time deadline)
{
    char from[IDENT_MAX + 2], most[16];
    snprintf(from, sizeof(from), "(%.*s", IDENT_MAX, after);
    snprintf(most, sizeof(most), "%d", ITEMS_PAGE + 1);
    redisReply *reply =
        store_read(store, deadline,
                   WORDS("ZRANGEBYLEX", ITEMS_KEY, after[0] ? from : "-", "+", "LIMIT", "0", most));
    if (!reply || (reply->type == REDIS_REPLY_ARRAY && store_all_are(reply, 0, REDIS_REPLY_STRING)))
        return reply;
    freeReplyObject(reply);
    return NULL;
}
