/*
 * The table of the service's contract: which status and which problem code mean what to a buyer.
 */
#include "loadtest/base/outcome.h"

#include <string.h>

const char *outcome_name(lt_outcome outcome)
{
    static const char *const names[OUT_COUNT] = {
        [OUT_SOLD] = "sold",   [OUT_SOLD_OUT] = "sold_out",       [OUT_LIMIT] = "limit_reached",
        [OUT_BUSY] = "busy",   [OUT_UNAVAILABLE] = "unavailable", [OUT_UNKNOWN] = "unknown",
        [OUT_ERROR] = "error",
    };
    return names[outcome];
}

lt_outcome outcome_of_response(long status, const char *code)
{
    static const struct {
        long status;
        const char *code;
        lt_outcome outcome;
    } known[] = {
        {409, "sold_out", OUT_SOLD_OUT},
        {409, "limit_reached", OUT_LIMIT},
        {503, "busy", OUT_BUSY},
        {503, "store_unavailable", OUT_UNAVAILABLE},
    };
    if (status == 201)
        return OUT_SOLD;
    if (status == 504)
        return OUT_UNKNOWN;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status && strcmp(known[i].code, code) == 0)
            return known[i].outcome;
    }
    return OUT_ERROR;
}

bool outcome_is_served(lt_outcome outcome)
{
    return outcome == OUT_SOLD || outcome == OUT_SOLD_OUT || outcome == OUT_LIMIT;
}
