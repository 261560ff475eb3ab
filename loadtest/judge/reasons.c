/*
 * reasons.c - a refusal that speaks of the request, its user or its sale has a reason, and the
 * history has it: who was told that his id is void has asked for it, and so on.
 *
 * Only what can have no other reason is objected to: a failover, or a fault, may hide a sale.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What may be the reason of a request's refusals. */
typedef struct lt_excuse {
    int64_t asked_us; /* the first look began that did not find it; NEVER */
    bool elsewhere;   /* its id was used in other sales, too */
} lt_excuse;

static lt_excuse *collect_excuses(const lt_judging *j)
{
    const lt_history *h = j->history;
    lt_excuse *excuses = zeroed(j->requests_len, sizeof(*excuses));
    for (uint32_t i = 0; i < j->requests_len; i++)
        excuses[i].asked_us = NEVER;
    for (size_t i = 0; i < h->looks_len; i++) {
        lt_excuse *excuse = &excuses[h->looks[i].request];
        if (h->looks[i].status != 200)
            excuse->asked_us = sooner(excuse->asked_us, h->looks[i].from_us);
    }
    for (size_t i = 0; i < h->asks_len; i++)
        excuses[h->asks[i].request].elsewhere |= h->asks[i].answer == ANSWER_ELSEWHERE;
    return excuses;
}

/* When somebody saw the sale for the last time. */
static int64_t find_sale(const lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t there_us = 0;
    for (size_t i = 0; i < h->asks_len; i++) {
        if (h->asks[i].answer == ANSWER_YES)
            there_us = later(there_us, h->asks[i].from_us);
    }
    return there_us;
}

/* A name as the contract wants it: 1 to 128 letters, digits and ._%+@- */
static bool is_user(const char *name)
{
    static const char good[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+@-";
    size_t len = strlen(name);
    return len > 0 && len <= 128 && strspn(name, good) == len;
}

/* NULL, or what speaks against the refusal. An id is made void for who asks for its end, and by the
 * service itself behind a try of which it knows nothing. Who names the sale knows it. */
static const char *objection(const lt_judging *j, const lt_ask *ask, const lt_excuse *excuse,
                             int64_t there_us)
{
    const lt_request *request = &j->requests[ask->request];
    bool alone = ask->from_us == request->first_us && request->second_us >= ask->to_us;
    bool named = ask->asked == TEXT_NONE && (j->calm || j->history->turns_len == 0);
    if (was_told(j, ask, 409, "request_void") && excuse->asked_us > ask->to_us && alone)
        return "nobody had asked for its end";
    if (was_told(j, ask, 422, "request_reused") && !is_reserving(j) && !request->mixed &&
        !excuse->elsewhere)
        return "nobody used it for anything else";
    if ((was_told(j, ask, 404, "no_such_item") || was_told(j, ask, 404, "no_such_sale")) && named &&
        j->history->sale.failovers != 1 && ask->to_us < there_us)
        return "the sale was there afterwards";
    if (was_told(j, ask, 400, "bad_user") && is_user(text_of(j, ask->user)))
        return "its user has a good name";
    return was_told(j, ask, 401, "token_missing") ? "a buy needs no token of the admin" : NULL;
}

void check_reasons(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_excuse *excuses = collect_excuses(j);
    int64_t there_us = find_sale(j);
    for (size_t i = 0; j->whole && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        const char *why = objection(j, ask, &excuses[ask->request], there_us);
        if (why)
            violated(j, "%s was told %s (line %" PRId64 "), and %s", text_of(j, ask->request_name),
                     text_of(j, ask->code), ask->line, why);
    }
    free(excuses);
    settle(j, STATE_OK, "");
}
