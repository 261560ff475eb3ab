/*
 * fuzz_order.c - what Redis says to one buyer: what is taken for an order's record is written once
 * more as it stood there; a buyer is told "sold" by a record of his own alone, and "no" by the
 * words for it alone. All else is unknown.
 */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/purchase.h"

static void hold_record(const char *text, size_t len, const fs_order *order)
{
    static const char *const states[] = {
        [ORDER_SOLD] = "sold",           [ORDER_RESERVED] = "reserved",
        [ORDER_CONFIRMED] = "confirmed", [ORDER_CANCELLED] = "cancelled",
        [ORDER_EXPIRED] = "expired",
    };
    char record[512];
    int size = snprintf(record, sizeof(record),
                        "%" PRId64 " %s %" PRId64 " %" PRId64 " %" PRIu64 " %s %" PRId64 " %s %s",
                        order->number, order->user, order->quantity, order->remaining, order->fence,
                        order->instance, order->time_us, order->epoch, states[order->state]);
    if (order->expires_us > 0)
        size += snprintf(record + size, sizeof(record) - (size_t)size, " %" PRId64,
                         order->expires_us / BUCKET_US);
    FUZZ_HOLDS(order->user[0] != '\0' && order->instance[0] != '\0', "no word of it is empty");
    FUZZ_HOLDS((size_t)size == len && memcmp(record, text, len) == 0,
               "a record is written as it was read");
}

static bool is_refusal(const char *answer)
{
    static const char *const words[] = {"closed", "epoch", "damaged",  "rolled_back", "void",
                                        "late",   "limit", "sold_out", "NOPERM"};
    size_t len = strcspn(answer, " ");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == len && strncmp(words[i], answer, len) == 0)
            return true;
    return answer[0] == '='; /* an order that can not be read: this try bought nothing */
}

void fuzz_order(const uint8_t *data, size_t len)
{
    fs_order order;
    purchase_result result;
    purchase asked = {.user = "u1", .request = "r1", .quantity = 1};
    char *answer = fuzz_text(data, len);
    size_t sign = answer[0] == '=' || answer[0] == '+';
    bool record = order_read(answer + sign, len - sign, &order);
    if (record)
        hold_record(answer + sign, len - sign, &order);

    purchase_answer_script(&result, answer, len, &asked);
    bool own = record && strcmp(order.user, asked.user) == 0 && order.quantity == asked.quantity &&
               (order.expires_us - order.time_us < 1000000 || order.expires_us == 0);
    FUZZ_HOLDS((result.outcome == BUY_SOLD) == own, "sold is who has a record of his own");
    FUZZ_HOLDS((result.outcome == BUY_CONFLICT) == (record && !own),
               "another's record is a conflict");
    FUZZ_HOLDS(record || (result.outcome == BUY_UNKNOWN) == !is_refusal(answer),
               "what is no answer leaves it unknown");
    free(answer);
}
