/*
 * The service's contract as a table: what each status and problem code mean to a buyer.
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

const char *series_name(int series)
{
    return series == SERIES_UNANSWERED ? "unanswered" : outcome_name((lt_outcome)series);
}

/*
 * The definite refusals of the service's contract. A status alone says little: a 503 may come from
 * a proxy that had already passed the request on, and so may any answer without one of the
 * service's codes.
 */
static const struct {
    long status;
    const char *code;
    lt_outcome outcome;
} definite[] = {
    {409, "sold_out", OUT_SOLD_OUT},
    {409, "limit_reached", OUT_LIMIT},
    {503, "busy", OUT_BUSY},
    {503, "store_unavailable", OUT_UNAVAILABLE},
    {503, "writes_paused", OUT_UNAVAILABLE},
    {503, "draining", OUT_ERROR},
    {503, "sale_damaged", OUT_ERROR},
    {503, "sale_rolled_back", OUT_ERROR},
    {503, "starting", OUT_ERROR},
    {503, "sale_unreadable", OUT_ERROR},
    {503, "no_random_bits", OUT_ERROR},
    {503, "too_many_connections", OUT_ERROR},
    {503, "durability_lost", OUT_ERROR},
    {503, "store_may_evict", OUT_ERROR},
    {503, "server_changed", OUT_ERROR},
};

const char *outcome_code_of_503(size_t i)
{
    for (size_t k = 0; k < sizeof(definite) / sizeof(definite[0]); k++) {
        if (definite[k].status == 503 && i-- == 0)
            return definite[k].code;
    }
    return NULL;
}

/* A 4xx refuses the request itself, except when a proxy says that time ran out or that the
 * client went away: that says nothing about the server behind it. */
static bool is_refusal(long status, const char *code)
{
    bool of_a_proxy = (status == 408 || status == 499) && code[0] == '\0';
    return status >= 400 && status < 500 && !of_a_proxy;
}

lt_outcome outcome_of_response(long status, const char *code)
{
    if (strcmp(code, "unknown") == 0)
        return OUT_UNKNOWN;
    if (status == 201)
        return OUT_SOLD;
    for (size_t i = 0; i < sizeof(definite) / sizeof(definite[0]); i++) {
        if (definite[i].status == status && strcmp(definite[i].code, code) == 0)
            return definite[i].outcome;
    }
    return is_refusal(status, code) ? OUT_ERROR : OUT_UNKNOWN;
}

bool outcome_is_served(lt_outcome outcome)
{
    return outcome == OUT_SOLD || outcome == OUT_SOLD_OUT || outcome == OUT_LIMIT;
}
