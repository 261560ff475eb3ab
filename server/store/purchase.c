/* purchase.c - the names of outcomes. */
#include "server/store/purchase.h"

const char *buy_outcome_name(buy_outcome outcome)
{
    static const char *const names[BUY_OUTCOMES] = {
        [BUY_SOLD] = "sold",         [BUY_SOLD_OUT] = "sold_out",
        [BUY_CONFLICT] = "conflict", [BUY_LIMIT_REACHED] = "limit_reached",
        [BUY_VOID] = "void",         [BUY_BUSY] = "busy",
        [BUY_STALE] = "stale",       [BUY_UNAVAILABLE] = "store_unavailable",
        [BUY_CLOSED] = "closed",     [BUY_UNKNOWN] = "unknown",
    };
    return names[outcome];
}

void buy_answer(buy_result *result, buy_outcome outcome)
{
    result->outcome = outcome;
    result->replayed = false;
    result->segment = 0;
    result->remaining = -1;
}
