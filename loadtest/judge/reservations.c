/*
 * reservations.c - where buys reserve, an order is first reserved and then becomes sold, cancelled
 * or expired, once and for good; its units either belong to a buyer or are back.
 *
 * The moment of each is known from both sides. An order was made after its first attempt began and
 * before somebody knew of it. So it can not expire before its first attempt plus the time asked
 * for, and its units must be back soon after it was known plus that time.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <string.h>

enum {
    BUCKET_US = 100000, /* to which an expiry is rounded up */
    LATE_US = 200000,   /* after it: surely late, on any clock */
    PUT_OFFS = 3,       /* a buyer who is put off so often ... */
    PUT_OFF_US = 50000, /* ... over no less than this has asked often enough */
    BACK_US = 5000000,  /* after it: a second until units are back, plus a wide margin */
    UNSURE_MOST = 10 /* so many orders whose end got no answer, and none that did, are no chance */
};

const lt_seen no_fate = {.to_us = INT64_MAX};

/* ---- what is said of an order ---------------------------------------------------------------- */

static bool is_state(const lt_judging *j, lt_text state)
{
    return state == j->sold || state == j->reserved || state == j->cancelled || state == j->expired;
}

/* The code of a refused confirm or cancel says what the order is. */
static lt_text state_of_look(const lt_judging *j, const lt_look *look)
{
    const char *code = text_of(j, look->code);
    bool confirm = look->ending == ENDING_CONFIRM;
    if (look->ending == ENDING_NONE || look->status != 409)
        return look->status == 200 ? look->told.state : TEXT_NONE;
    if (strcmp(code, "reservation_expired") == 0)
        return j->expired;
    bool other = strcmp(code, confirm ? "order_cancelled" : "order_sold") == 0;
    return !other ? TEXT_NONE : confirm ? j->cancelled : j->sold;
}

/* Also notes the first final state, by the time at which it was known. */
static void see(lt_judging *j, lt_seen seen)
{
    lt_request *request = &j->requests[seen.request];
    j->stateless = j->stateless || !is_state(j, seen.state);
    j->seen[j->seen_len++] = seen;
    if (!is_state(j, seen.state) || seen.state == j->reserved)
        return;
    request->told_fate |= seen.told;
    request->owed = request->owed || (seen.state == j->sold && seen.told);
    request->released = request->released || seen.state != j->sold;
    if (seen.to_us < request->fate->to_us)
        request->fate = &j->seen[j->seen_len - 1];
}

/* A 201 tells the order's first state, however often it is repeated. */
static void collect_seen(lt_judging *j)
{
    const lt_history *h = j->history;
    j->seen = zeroed(h->asks_len + h->looks_len + h->orders_len, sizeof(*j->seen));
    EACH(const lt_ask, a, h->asks) {
        if (a->answer == ANSWER_YES && a->told.state == j->sold)
            see(j, (lt_seen){a->from_us, a->to_us, a->line, a->request, j->sold, true});
    }
    EACH(const lt_look, l, h->looks) {
        lt_text state = state_of_look(j, l);
        if (look_is_here(j, l) && (l->status == 200 || state != TEXT_NONE))
            see(j, (lt_seen){l->from_us, l->to_us, l->line, l->request, state, true});
    }
    EACH(const lt_order, order, h->orders) {
        int64_t from_us = NEVER - 1, to_us = NEVER - 1; /* it is at rest */
        for (size_t k = 0; k < h->audits_len; k++) {
            if (h->audits[k].n == order->audit)
                from_us = h->audits[k].from_us, to_us = h->audits[k].to_us;
        }
        see(j, (lt_seen){from_us, to_us, order->line, order->request, order->told.state, false});
    }
    for (uint32_t i = 0; i < j->requests_len; i++)
        j->requests[i].released = j->requests[i].released && !j->requests[i].owed;
}

/* ---- whose units are whose ------------------------------------------------------------------- */

/* The latest moment at which its time is over, plus so much. */
static int64_t over_by(const lt_judging *j, const lt_request *request, int64_t more_us)
{
    int64_t after_us = request->reserve_us + BUCKET_US + more_us;
    return request->known_us == NEVER || !j->calm ? NEVER : request->known_us + after_us;
}

/* A fault keeps units whose time ends during it until the fault has healed. */
static int64_t kept_until(const lt_judging *j, int64_t by_us)
{
    bool meanwhile = by_us != NEVER && by_us >= j->fault_us && by_us - BACK_US <= j->healed_us;
    if (!meanwhile)
        return by_us;
    return j->healed_us >= NEVER - BACK_US ? NEVER : later(by_us, j->healed_us + BACK_US);
}

/* The latest moment at which its units are back. */
static int64_t back_by(const lt_judging *j, const lt_request *request)
{
    const lt_seen *fate = request->fate;
    int64_t by = kept_until(j, over_by(j, request, BACK_US));
    if (request->owed || fate->state == j->sold)
        return NEVER;
    return fate->state == j->cancelled && fate->to_us < by && j->calm ? fate->to_us : by;
}

/* The earliest moment at which its time is over. */
static int64_t over_from(const lt_judging *j, const lt_request *request)
{
    return request->first_us + (j->steady ? request->reserve_us : 0);
}

/* The earliest moment at which they can be back. */
static int64_t back_from(const lt_judging *j, const lt_request *request)
{
    int64_t from = j->calm ? over_from(j, request) : request->first_us;
    if (request->owed || request->fate->state == j->sold)
        return NEVER;
    return request->cancel_us < from ? request->cancel_us : from;
}

bool counts_for_limit(const lt_judging *j, const lt_request *request, int64_t from_us,
                      int64_t to_us)
{
    const lt_seen *fate = request->fate;
    bool over = fate->state == j->expired && over_by(j, request, LATE_US) < from_us;
    bool ended = j->calm && request->released && (fate->to_us < from_us || over);
    return !ended && request->first_us <= to_us;
}

/* For each order and its units: when it may have them, and when it certainly has. */
static void collect_units(lt_judging *j)
{
    size_t len = 0;
    for (int i = 0; i < SPANS; i++)
        j->spans[i] = zeroed(j->requests_len, sizeof(lt_given));
    EACH(const lt_request, request, j->requests) {
        bool none = request->bought == BOUGHT_NO || request->bought == BOUGHT_ELSEWHERE;
        if (none && request->order == NO_ELEMENT)
            continue;
        int64_t units = request->quantity;
        if (request->order != NO_ELEMENT && known(j->history->orders[request->order].told.quantity))
            units = j->history->orders[request->order].told.quantity;
        bool asked = request->attempts > 0;
        j->spans[SPAN_MAY][len] = (lt_given){asked ? request->first_us : 0, units};
        j->spans[SPAN_MAY_END][len] = (lt_given){back_by(j, request), units};
        j->spans[SPAN_HAS][len] = (lt_given){asked ? request->known_us : NEVER, units};
        j->spans[SPAN_HAS_END][len++] = (lt_given){back_from(j, request), units};
    }
    for (int i = 0; i < SPANS; i++)
        given_add_up(j->spans[i], len);
    j->spans_len = len;
}

int64_t units_free(const lt_judging *j, int64_t from_us, int64_t to_us)
{
    return j->history->sale.stock - given_by(j->spans[SPAN_MAY], j->spans_len, to_us, true) +
           given_by(j->spans[SPAN_MAY_END], j->spans_len, from_us, false);
}

/* What a reading of the stock showed is still there later, minus what was sold meanwhile. Only
 * for a reading of one moment, and where no stock is returned by mistake. */
int64_t units_seen(const lt_judging *j, const lt_stock_line *stock, int64_t to_us)
{
    bool sure = j->calm && j->history->sale.guarded == 1 && j->history->sale.segments == 0;
    if (!sure || !stock || !stock_is_ours(j, stock) || !known(stock->remaining))
        return 0;
    return stock->remaining - given_by(j->spans[SPAN_MAY], j->spans_len, to_us, true) +
           given_by(j->spans[SPAN_HAS], j->spans_len, stock->from_us, false);
}

int64_t units_held(const lt_judging *j, int64_t from_us, int64_t to_us)
{
    return given_by(j->spans[SPAN_HAS], j->spans_len, from_us, true) -
           given_by(j->spans[SPAN_HAS_END], j->spans_len, to_us, true);
}

void reservations_collect(lt_judging *j)
{
    const lt_history *h = j->history;
    collect_seen(j);
    if (!is_reserving(j))
        return;
    collect_units(j);
    /* Buyers who could have had units that nobody had from then on. */
    for (uint32_t i = 0; i < j->requests_len; i++)
        j->requests[i].refused = false;
    EACH(const lt_ask, ask, h->asks) {
        if (ask->answer != ANSWER_ELSEWHERE && is_turned_away(j, ask) &&
            units_free(j, ask->from_us, NEVER) >= ask->quantity)
            j->requests[ask->request].refused = true;
    }
    EACH(const lt_look, look, h->looks) {
        lt_request *request = &j->requests[look->request];
        if (j->calm && look->ending == ENDING_CONFIRM && look_is_here(j, look) &&
            look_put_off(j, look) && request->fate->state == j->expired &&
            look->to_us < over_from(j, request)) {
            request->put_offs++;
            request->put_off_to_us = later(request->put_off_to_us, look->from_us);
            request->unpaid = request->put_offs >= PUT_OFFS &&
                              request->put_off_to_us - request->put_off_us >= PUT_OFF_US;
        }
    }
}

void check_returned(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; is_reserving(j) && i < h->stocks_len; i++) {
        const lt_stock_line *s = &h->stocks[i];
        int64_t least = units_free(j, s->from_us, s->to_us);
        if (stock_is_ours(j, s) && known(s->remaining) && s->remaining < least)
            violated(j,
                     "%" PRId64 " units are left (line %" PRId64 "), and %" PRId64
                     " are neither sold nor reserved any more",
                     s->remaining, s->line, least);
    }
    if (j->calm)
        settle_reserving(j, j->open_units == 0 ? NULL : "some reservations are still open");
    else
        settle(j, STATE_NOTHING, "");
}

/* ---- one fate -------------------------------------------------------------------------------- */

/* An order that was known before the stock showed no reservations is no longer reserved. */
static void check_none_left(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_stock_line *none = NULL; /* the last reading that shows none */
    EACH(const lt_stock_line, s, h->stocks) {
        if (stock_is_ours(j, s) && s->reserved == 0 && (!none || s->from_us > none->from_us))
            none = s;
    }
    for (size_t i = 0; none && h->sale.failovers != 1 && i < j->seen_len; i++) {
        const lt_seen *now = &j->seen[i];
        const lt_request *request = &j->requests[now->request];
        if (now->state == j->reserved && now->told && now->from_us > none->to_us &&
            request->known_us < none->from_us)
            violated(
                j, "%s's order is reserved (line %" PRId64 "), and nothing was (line %" PRId64 ")",
                text_of(j, request->name), now->line, none->line);
    }
}

/* Nothing contradicts the order's first final state. */
void check_fates(lt_judging *j)
{
    EACH(const lt_seen, now, j->seen) {
        const lt_seen *fate = j->requests[now->request].fate;
        bool open = now->state == j->reserved && now->from_us <= fate->to_us;
        if (fate->state == TEXT_NONE || open || now->state == fate->state ||
            !is_state(j, now->state))
            continue;
        violated(j, "%s's order is %s (line %" PRId64 "), and was %s (line %" PRId64 ")",
                 text_of(j, j->requests[now->request].name), text_of(j, now->state), now->line,
                 text_of(j, fate->state), fate->line);
    }
    check_none_left(j);
    settle_reserving(j, j->stateless ? "something does not tell what became of an order" : NULL);
}

/* ---- what nobody learned --------------------------------------------------------------------- */

const char *why_unsure(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t unsure = 0;
    bool any = false, open = false;
    EACH(const lt_look, look, h->looks) {
        lt_request *request = &j->requests[look->request];
        bool told = look->status == 200 || look_refused(j, look);
        if (!look_is_here(j, look))
            continue;
        request->missed |= !look->ending && !told && look->from_us > over_by(j, request, LATE_US);
        any |= look->ending && told;
        unsure += look->ending && !told && !request->unsure;
        request->unsure |= look->ending && !told;
    }
    for (uint32_t i = 0; i < j->requests_len; i++)
        open |= j->requests[i].unsure && j->requests[i].missed && !j->requests[i].told_fate;
    return unsure >= UNSURE_MOST && !any ? "no confirm or cancel got a conclusive answer"
           : open                        ? "nobody was told what became of some orders"
                                         : NULL;
}

/* ---- when it is over ------------------------------------------------------------------------- */

/* A 201 says until when, counted from the time of the order, which the ledger has. */
static void check_told(lt_judging *j, const lt_ask *ask)
{
    uint32_t order = j->requests[ask->request].order;
    const lt_told *told = &ask->told;
    int64_t time_us = order == NO_ELEMENT ? UNKNOWN : j->history->orders[order].told.time_us;
    int64_t until = time_us + ask->reserve_us + BUCKET_US - 1;
    until = known(time_us) ? until / BUCKET_US * BUCKET_US : UNKNOWN;
    if (texts_differ(told->state, j->reserved) || differ(told->expires_us, until))
        violated(j, "%s's order is %s until %" PRId64 " (line %" PRId64 ")",
                 text_of(j, ask->request_name), text_of(j, told->state), told->expires_us,
                 ask->line);
}

/* It ends only by a request that came in time and was not refused, or by the end of its time. */
static void check_end(lt_judging *j, const lt_request *request)
{
    const lt_seen *fate = request->fate;
    int64_t asked_us = request->ending_us[fate->state == j->sold ? ENDING_CONFIRM : ENDING_CANCEL];
    bool ends = fate->state == j->expired
                    ? fate->to_us < over_from(j, request)
                    : asked_us > over_by(j, request, LATE_US) || asked_us > fate->to_us;
    if (fate->state != TEXT_NONE && request->attempts > 0 && ends)
        violated(j, "%s's order is %s (line %" PRId64 "), %s", text_of(j, request->name),
                 text_of(j, fate->state), fate->line,
                 fate->state == j->expired
                     ? "before its time was over"
                     : "but no request for that came in time and was accepted");
}

/* Its own not_after has passed, or may have. */
static bool is_too_late(const lt_judging *j, const lt_look *look)
{
    int64_t now_us = time_of_day(j, look->to_us);
    return look->status == 409 && strcmp(text_of(j, look->code), "too_late") == 0 &&
           known(look->not_after_us) &&
           (!known(now_us) || look->not_after_us <= now_us + CLOCKS_US);
}

/* A confirm or cancel succeeds unless the order has ended already or the answer is "not now".
 * Whether the order is found is checked by another guarantee. */
static void check_done(lt_judging *j, const lt_look *look)
{
    if (look->ending && look_is_here(j, look) && look_refused(j, look) && !look_put_off(j, look) &&
        !is_of_the_asking(j, look->status, look->code) && !is_too_late(j, look) &&
        look->status != 404 && look->from_us > j->requests[look->request].known_us &&
        state_of_look(j, look) == TEXT_NONE)
        violated(j, "%s was refused a %s by %" PRId64 " %s (line %" PRId64 ")",
                 text_of(j, look->request_name),
                 look->ending == ENDING_CONFIRM ? "confirm" : "cancel", look->status,
                 text_of(j, look->code), look->line);
}

/* A lookup after its time is certainly over does not say that it is reserved. */
static void check_over(lt_judging *j, const lt_look *look)
{
    const lt_request *request = &j->requests[look->request];
    if (look_found(j, look) && look->told.state == j->reserved && request->attempts > 0 &&
        look->from_us > over_by(j, request, LATE_US))
        violated(j, "%s's order is still reserved (line %" PRId64 "), after its time was over",
                 text_of(j, look->request_name), look->line);
}

void check_lasts(lt_judging *j)
{
    const lt_history *h = j->history;
    bool all = true;
    for (size_t i = 0; is_reserving(j) && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        if (ask->answer != ANSWER_YES)
            continue;
        all = all && is_state(j, ask->told.state) && known(ask->told.expires_us);
        check_told(j, ask);
    }
    for (size_t i = 0; is_reserving(j) && i < h->looks_len; i++) {
        check_done(j, &h->looks[i]);
        check_over(j, &h->looks[i]);
    }
    for (uint32_t i = 0; is_reserving(j) && j->whole && i < j->requests_len; i++)
        check_end(j, &j->requests[i]);
    if (j->calm || !all)
        settle_reserving(j, all ? NULL : "a 201 does not tell what the order is, or until when");
    else
        settle(j, STATE_NOTHING, "");
}
