/* outcome.c - from Redis's words to the buyer's. */
#include "server/store/outcome.h"

#include <string.h>

#include "server/base/log.h"

static void log_failure(fs_store *store, const char *what, const char *how)
{
    char why[256];
    dlock_redis_last_error(store->redis, why, sizeof(why));
    LOG_SOME(LOG_WARN, "redis_failed", "what", what, "how", how, "detail", why, NULL);
}

buy_outcome outcome_of_read(fs_store *store, dlock_redis_outcome outcome)
{
    log_failure(store, "read", dlock_redis_outcome_text(outcome));
    return BUY_UNAVAILABLE;
}

buy_outcome outcome_of_write(fs_store *store, dlock_redis_outcome outcome)
{
    log_failure(store, "write", dlock_redis_outcome_text(outcome));
    bool definite = outcome == DLOCK_REDIS_NOT_SENT || outcome == DLOCK_REDIS_REFUSED;
    return definite ? BUY_UNAVAILABLE : BUY_UNKNOWN;
}

buy_outcome outcome_of_lock(fs_store *store, dlock_status status)
{
    if (status == DLOCK_BUSY)
        return BUY_BUSY;
    log_failure(store, "lock", dlock_status_text(status));
    return BUY_UNAVAILABLE;
}

buy_outcome outcome_of_guard(fs_store *store, dlock_status status)
{
    if (status == DLOCK_STALE || status == DLOCK_EXPIRED || status == DLOCK_NOT_OWNER)
        return BUY_STALE;
    log_failure(store, "guarded write", dlock_status_text(status));
    bool sent = status == DLOCK_UNKNOWN || status == DLOCK_FAILED;
    return sent ? BUY_UNKNOWN : BUY_UNAVAILABLE;
}

/* The outcome that a refusal's word stands for. */
static buy_outcome refusal(const char *word)
{
    if (strcmp(word, "sold_out") == 0)
        return BUY_SOLD_OUT;
    if (strcmp(word, "limit") == 0)
        return BUY_LIMIT_REACHED;
    if (strcmp(word, "void") == 0)
        return BUY_VOID;
    if (strcmp(word, "closed") == 0)
        return BUY_CLOSED;
    if (strcmp(word, "damaged") == 0) {
        LOG_SOME(LOG_ERROR, "sale_damaged", NULL);
        return BUY_UNAVAILABLE;
    }
    return strcmp(word, "late") == 0 ? BUY_BUSY : BUY_UNKNOWN;
}

/* result->order is read: the buyer's, or another's under the same request id. */
static void answer_order(const buy_request *request, bool replayed, buy_result *result)
{
    const fs_order *order = &result->order;
    bool same = order->quantity == request->quantity && strcmp(order->user, request->user) == 0;
    buy_answer(result, same ? BUY_SOLD : BUY_CONFLICT);
    result->replayed = replayed;
}

void outcome_of_answer(const char *answer, size_t len, const buy_request *request,
                       buy_result *result)
{
    bool replayed = len > 0 && answer[0] == '=';
    if (order_read(answer + replayed, len - replayed, &result->order))
        answer_order(request, replayed, result);
    else
        buy_answer(result, refusal(answer));
}

void outcome_of_earlier(const fs_order *order, int segment, const buy_request *request,
                        buy_result *result)
{
    result->order = *order;
    answer_order(request, true, result);
    result->segment = segment;
}
