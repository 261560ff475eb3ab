/*
 * purchase.c - translates Redis's answers for the buyer. sell.lua, reserve.lua and record.lua write
 * the records that are read here.
 */
#include "server/store/purchase.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"

/* ---- its time -------------------------------------------------------------------------------- */

void purchase_set_not_after(purchase *request, int64_t deadline_us)
{
    int64_t wanted_us = request->wanted_by_us;
    request->own_time = wanted_us != 0 && wanted_us <= deadline_us;
    request->not_after_us = request->own_time ? wanted_us : deadline_us;
}

/* ---- the order ------------------------------------------------------------------------------- */

static const struct {
    const char *word, *name;
} states[] = {
    [ORDER_SOLD] = {"sold", "sold"},           [ORDER_RESERVED] = {"reserved", "reserved"},
    [ORDER_CONFIRMED] = {"confirmed", "sold"}, [ORDER_CANCELLED] = {"cancelled", "cancelled"},
    [ORDER_EXPIRED] = {"expired", "expired"},
};

const char *order_state_name(order_state state)
{
    return states[state].name;
}

/* The state, and when the reservation ends if the order began as one. */
static bool read_state(const char **text, const char *end, fs_order *ret)
{
    int64_t bucket = 0;
    char word[16];
    unsigned state = 0;
    bool good = text_take_word(text, end, word, sizeof(word)) &&
                (*text == end || (text_take_number(text, end, &bucket) && bucket > 0 &&
                                  bucket <= INT64_MAX / BUCKET_US));
    while (good && state <= ORDER_EXPIRED && strcmp(states[state].word, word) != 0)
        state++;
    ret->state = good && state <= ORDER_EXPIRED ? (order_state)state : ORDER_SOLD;
    ret->expires_us = good ? bucket * BUCKET_US : 0;
    return good && state <= ORDER_EXPIRED && *text == end && end[-1] != ' ' &&
           (bucket > 0 ? state != ORDER_SOLD : state == ORDER_SOLD || state == ORDER_CANCELLED);
}

bool order_read(const char *record, size_t len, fs_order *ret)
{
    const char *text = record, *end = record + len;
    int64_t fence;
    bool whole =
        text_take_number(&text, end, &ret->number) &&
        text_take_word(&text, end, ret->user, sizeof(ret->user)) &&
        text_take_number(&text, end, &ret->quantity) &&
        text_take_number(&text, end, &ret->remaining) && text_take_number(&text, end, &fence) &&
        text_take_word(&text, end, ret->instance, sizeof(ret->instance)) &&
        text_take_number(&text, end, &ret->time_us) &&
        text_take_word(&text, end, ret->epoch, sizeof(ret->epoch)) && read_state(&text, end, ret);
    ret->fence = whole ? (uint64_t)fence : 0;
    return whole;
}

void order_put_id(fs_text *out, const char *sale, int segment, const fs_order *order)
{
    char part[16] = "-";
    if (segment >= 0)
        snprintf(part, sizeof(part), "-%d-", segment);
    text_add_all(out, sale, part, order->epoch, "-");
    text_add_int(out, order->number);
}

/* ---- what a buyer is told -------------------------------------------------------------------- */

void purchase_answer(purchase_result *result, purchase_outcome outcome)
{
    result->outcome = outcome;
    result->replayed = false;
    result->told = false;
    result->replicated = false;
    result->segment = 0;
    result->remaining = -1;
    result->reserved = -1;
    result->redis[0] = '\0';
    if (outcome == BUY_UNAVAILABLE)
        snprintf(result->redis, sizeof(result->redis), "%s", dlock_redis_said());
}

/* A refusal, by its first word, if this request can get it. "=" is an earlier record that cannot be
 * read. */
static void answer_refusal(purchase_result *result, const char *answer, const purchase *asked)
{
    bool settles = asked->action != PURCHASE_BUY, reserves = asked->reserve_s > 0;
    const struct {
        const char *word;
        purchase_outcome outcome;
        bool possible;
    } refusals[] = {
        {"=", BUY_DAMAGED, true},
        {"closed", BUY_CLOSED, true},
        {"damaged", BUY_DAMAGED, true},
        {"rolled_back", BUY_ROLLED_BACK, true},
        {"epoch", BUY_CLOSED, true},
        {"void", BUY_VOID, true},
        {"late", BUY_TOO_LATE, true},
        {"limit", BUY_LIMIT_REACHED, true},
        {"sold_out", BUY_SOLD_OUT, true},
        {"NOPERM", BUY_UNAVAILABLE, true},
        {"busy", BUY_BUSY, true},
        {"not_offered", BUY_NOT_OFFERED, reserves},
        {"none", BUY_NO_ORDER, settles},
        {"expired", BUY_EXPIRED, settles},
        {"cancelled", BUY_WAS_CANCELLED, settles},
        {"sold", BUY_WAS_SOLD, settles},
    };
    size_t word = answer[0] == '=' ? 1 : strcspn(answer, " ");
    purchase_answer(result, BUY_UNKNOWN);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (refusals[i].possible && strlen(refusals[i].word) == word &&
            memcmp(refusals[i].word, answer, word) == 0)
            result->outcome = refusals[i].outcome;
    if (result->outcome == BUY_TOO_LATE && !asked->own_time)
        result->outcome = BUY_BUSY;
    if (result->outcome == BUY_UNAVAILABLE)
        snprintf(result->redis, sizeof(result->redis), "%.*s", (int)word, answer);
}

/* The seconds that it was reserved for. The end is rounded up by less than one second. */
static int64_t reserved_for_s(const fs_order *order)
{
    return order->expires_us > 0 ? (order->expires_us - order->time_us) / 1000000 : 0;
}

static void answer_settled(purchase_result *result, const purchase *asked)
{
    const fs_order *order = &result->order;
    bool sold = order->state == ORDER_SOLD || order->state == ORDER_CONFIRMED;
    bool done = asked->action == PURCHASE_CONFIRM ? sold : order->state == ORDER_CANCELLED;
    if (asked->user[0] != '\0' && strcmp(order->user, asked->user) != 0)
        purchase_answer(result, BUY_NO_ORDER);
    else if (done || result->outcome == BUY_NO_ORDER)
        purchase_answer(result, done ? BUY_SOLD : BUY_NOT_OFFERED);
}

/* result->order has been read. It is the buyer's, or another's under the same request id. */
static void answer_order(purchase_result *result, bool replayed, const purchase *asked)
{
    const fs_order *order = &result->order;
    if (asked->action != PURCHASE_BUY) {
        answer_settled(result, asked);
        result->replayed = result->outcome == BUY_SOLD && replayed;
        return;
    }
    bool same = order->quantity == asked->quantity && strcmp(order->user, asked->user) == 0 &&
                reserved_for_s(order) == asked->reserve_s;
    purchase_answer(result, same ? BUY_SOLD : BUY_CONFLICT);
    result->replayed = same && replayed;
}

void purchase_answer_script(purchase_result *result, const char *answer, size_t len,
                            const purchase *asked)
{
    bool replayed = len > 0 && answer[0] == '=';
    size_t sign = replayed || (len > 0 && answer[0] == '+');
    purchase_answer(result, BUY_UNKNOWN);
    if (order_read(answer + sign, len - sign, &result->order))
        answer_order(result, replayed, asked);
    else
        answer_refusal(result, answer, asked);
}

void purchase_answer_earlier(purchase_result *result, const fs_order *order, int segment,
                             const purchase *asked)
{
    result->order = *order;
    answer_order(result, true, asked);
    result->segment = segment;
    result->replicated = true;
}

purchase_outcome purchase_write_failed(fs_store *store, dlock_redis_outcome outcome)
{
    store_log_failure(store, "write", dlock_redis_outcome_text(outcome));
    bool definite = outcome == DLOCK_REDIS_NOT_SENT || outcome == DLOCK_REDIS_REFUSED;
    return definite ? BUY_UNAVAILABLE : BUY_UNKNOWN;
}

purchase_outcome purchase_lock_failed(fs_store *store, dlock_status status)
{
    if (status == DLOCK_BUSY)
        return BUY_BUSY;
    store_log_failure(store, "lock", dlock_status_text(status));
    return BUY_UNAVAILABLE;
}

purchase_outcome purchase_guard_failed(fs_store *store, dlock_status status)
{
    if (status == DLOCK_STALE || status == DLOCK_EXPIRED || status == DLOCK_NOT_OWNER)
        return BUY_STALE;
    store_log_failure(store, "guarded write", dlock_status_text(status));
    bool sent = status == DLOCK_UNKNOWN || status == DLOCK_FAILED;
    return sent ? BUY_UNKNOWN : BUY_UNAVAILABLE;
}
