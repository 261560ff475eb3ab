/*
 * told.c - compares one answer with its question and with other answers to the same request.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <string.h>

/* ---- what was asked for ---------------------------------------------------------------------- */

/* Whether the order's id begins with the sale's, as the service's own do. */
static bool is_of_sale(const lt_judging *j, lt_text order)
{
    const char *sale = text_of(j, j->history->sale.id), *id = text_of(j, order);
    size_t len = strlen(sale);
    return text_told(order) && strncmp(id, sale, len) == 0 && id[len] == '-';
}

static bool names_the_sale(const lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; i < h->asks_len; i++) {
        if (h->asks[i].answer == ANSWER_YES && is_of_sale(j, h->asks[i].told.order))
            return true;
    }
    return false;
}

/* `named`: the sale's orders carry the sale's id in theirs. */
static const char *misses(const lt_judging *j, const lt_told *told, lt_text request, bool named)
{
    const lt_sale_line *sale = &j->history->sale;
    bool other = texts_differ(told->sale, sale->id) ||
                 (named && text_told(told->order) && strchr(text_of(j, told->order), '-') &&
                  !is_of_sale(j, told->order));
    return texts_differ(told->request, request)                     ? "request"
           : texts_differ(told->item, sale->item)                   ? "item"
           : other                                                  ? "sale"
           : !is_reserving(j) && texts_differ(told->state, j->sold) ? "state"
           : !is_reserving(j) && known(told->expires_us)            ? "expiry"
                                                                    : NULL;
}

static const char *misses_payload(const lt_told *told, lt_text user, int64_t quantity)
{
    return texts_differ(told->user, user)     ? "user"
           : differ(told->quantity, quantity) ? "quantity"
                                              : NULL;
}

static bool is_unfit(const lt_told *told)
{
    return told->order == TEXT_UNFIT || told->request == TEXT_UNFIT || told->item == TEXT_UNFIT ||
           told->user == TEXT_UNFIT || told->sale == TEXT_UNFIT || told->instance == TEXT_UNFIT ||
           told->quantity == UNFIT || told->remaining == UNFIT || told->fence == UNFIT ||
           told->time_us == UNFIT || told->state == TEXT_UNFIT || told->expires_us == UNFIT;
}

/* The members of a 201 that the recorder writes. */
typedef struct lt_recorded {
    bool all; /* every member */
    bool remaining, fence, state;
} lt_recorded;

static bool is_readable(const lt_told *told, lt_recorded recorded)
{
    bool named = told->order != TEXT_NONE && (told->remaining != UNKNOWN || !recorded.remaining) &&
                 (told->fence != UNKNOWN || !recorded.fence) &&
                 (told->state != TEXT_NONE || !recorded.state);
    if (recorded.all)
        named = named && told->request != TEXT_NONE && told->item != TEXT_NONE &&
                told->user != TEXT_NONE && told->sale != TEXT_NONE && told->quantity != UNKNOWN &&
                told->remaining != UNKNOWN;
    return named && !is_unfit(told);
}

/* Whether a 200 tells nothing, or nothing that makes sense. */
static bool is_silent(const lt_look *look, lt_recorded recorded)
{
    bool none = recorded.all && look->told.order == TEXT_NONE;
    return none || look->unread != TEXT_NONE || is_unfit(&look->told);
}

/* If one 201 tells a member, each has to tell it, provided the ledger has it. */
static lt_recorded recorded_of(const lt_judging *j, lt_recorded recorded, const lt_ask *ask)
{
    uint32_t order = j->requests[ask->request].order;
    const lt_told *is = order != NO_ELEMENT ? &j->history->orders[order].told : NULL;
    recorded.remaining &= is && known(is->remaining);
    recorded.fence &= is && known(is->fence);
    recorded.state &= is && text_told(is->state);
    return recorded;
}

static void say_other(lt_judging *j, lt_text request, const char *what, int64_t line)
{
    if (what)
        violated(j, "%s was told of another %s than it asked for (line %" PRId64 ")",
                 text_of(j, request), what, line);
}

/* A recorder that keeps whole answers has hashed them, or has read the request's id. */
static lt_recorded find_recorded(const lt_history *h)
{
    lt_recorded recorded = {0};
    EACH(const lt_ask, ask, h->asks) {
        if (ask->answer != ANSWER_YES)
            continue;
        recorded.all |= ask->body != TEXT_NONE || ask->told.request != TEXT_NONE;
        recorded.remaining |= ask->told.remaining != UNKNOWN;
        recorded.fence |= ask->told.fence != UNKNOWN;
        recorded.state |= ask->told.state != TEXT_NONE;
    }
    return recorded;
}

void check_told_as_asked(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_recorded recorded = find_recorded(h);
    bool named = names_the_sale(j);
    char why[128] = "";
    EACH(const lt_ask, ask, h->asks) {
        if (why[0] == '\0' && ask->unread != TEXT_NONE)
            snprintf(why, sizeof(why), "an answer could not be read: %.32s (line %" PRId64 ")",
                     text_of(j, ask->unread), ask->line);
        if (ask->answer == ANSWER_ELSEWHERE)
            continue;
        const char *what = misses(j, &ask->told, ask->request_name, named);
        what = what ? what : misses_payload(&ask->told, ask->user, ask->quantity);
        say_other(j, ask->request_name, what, ask->line);
        if (!what && (ask->answer == ANSWER_NO || ask->answer == ANSWER_NEVER) &&
            text_told(ask->told.order))
            violated(j, "%s was refused, and told of order %s (line %" PRId64 ")",
                     text_of(j, ask->request_name), text_of(j, ask->told.order), ask->line);
        if (ask->answer != ANSWER_YES)
            continue;
        if (why[0] == '\0' && !is_readable(&ask->told, recorded_of(j, recorded, ask)))
            snprintf(why, sizeof(why),
                     "a 201 lacks what it must tell, or is not as it must be "
                     "(line %" PRId64 ")",
                     ask->line);
    }
    EACH(const lt_look, look, h->looks) {
        const lt_request *request = &j->requests[look->request];
        if (!text_told(look->asked) && !look_found(j, look) &&
            texts_differ(look->told.sale, j->history->sale.id))
            say_other(j, look->request_name, "sale", look->line);
        if (!look_found(j, look))
            continue;
        const char *what = misses(j, &look->told, look->request_name, named);
        if (!what && !request->mixed && request->attempts > 0)
            what = misses_payload(&look->told, request->user, request->quantity);
        if (!what && look->ending &&
            texts_differ(look->told.state, look->ending == ENDING_CONFIRM ? j->sold : j->cancelled))
            what = "state";
        say_other(j, look->request_name, what, look->line);
        if (why[0] == '\0' && is_silent(look, recorded))
            snprintf(why, sizeof(why), "a 200 is not as it must be (line %" PRId64 ")", look->line);
    }
    settle(j, why[0] == '\0' ? STATE_OK : STATE_UNCHECKED, why);
}

/* ---- the same again -------------------------------------------------------------------------- */

static void say_varies(lt_judging *j, const lt_request *request, const char *what, int64_t line)
{
    if (what)
        violated(j, "%s was told another %s of its order than before (line %" PRId64 ")",
                 text_of(j, request->name), what, line);
}

/* A different order is a violation of another guarantee. */
void check_same_again(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        const lt_request *request = &j->requests[ask->request];
        if (ask->answer != ANSWER_YES || request->yes == i || !has_payload(request, ask))
            continue;
        const lt_ask *before = &h->asks[request->yes];
        if (texts_differ(ask->told.order, before->told.order))
            continue;
        const char *what = told_difference(&ask->told, &before->told);
        if (!what && texts_differ(ask->body, before->body))
            what = "body";
        say_varies(j, request, what, ask->line);
    }
    EACH(const lt_look, look, h->looks) {
        const lt_request *request = &j->requests[look->request];
        if (!look_found(j, look))
            continue;
        const lt_told *before = first_told(j, request), *first = &h->looks[request->found].told;
        if (!texts_differ(look->told.order, before->order)) {
            const char *what = told_difference(&look->told, before);
            say_varies(j, request, what ? what : told_difference(&look->told, first), look->line);
        }
        const lt_look *ended = request->ended == NO_ELEMENT ? NULL : &h->looks[request->ended];
        if (look->ending && ended && ended->ending == look->ending &&
            texts_differ(look->body, ended->body))
            say_varies(j, request, "body", look->line);
    }
    settle(j, STATE_OK, "");
}

/* Whether the answer is a final refusal of the request. A token may have expired meanwhile. */
static bool refuses(const lt_judging *j, const lt_ask *ask)
{
    if (ask->status < 400 || ask->status > 499 || ask->status == 429 ||
        is_of_the_asking(j, ask->status, ask->code))
        return false;
    return ask->answer == ANSWER_NEVER || ask->answer == ANSWER_NO;
}

#define TRIES_SURE 10 /* so many without it are no chance */

void check_retry_refused(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t retries = 0, told = 0;
    EACH(const lt_ask, ask, h->asks) {
        const lt_request *request = &j->requests[ask->request];
        bool certain = request->yes != NO_ELEMENT || !request->mixed;
        if (!certain || !has_payload(request, ask) || ask->from_us <= request->known_us ||
            text_told(ask->asked))
            continue;
        retries++;
        told += refuses(j, ask) || ask->answer == ANSWER_YES;
        if (refuses(j, ask))
            violated(j, "%s has an order, and was refused for good afterwards (line %" PRId64 ")",
                     text_of(j, ask->request_name), ask->line);
    }
    settle(j, retries >= TRIES_SURE && told == 0 ? STATE_UNCHECKED : STATE_OK,
           "no retry got a conclusive answer");
}

/* Whether it says that there is no such order. Why a reservation does not end as asked is
 * checked by another guarantee. A replica says "not yet" to a question with a not_after. */
static bool is_not_found(const lt_judging *j, const lt_look *look)
{
    bool refused = look->ending == ENDING_NONE && look->status >= 400 && look->status <= 499 &&
                   look->status != 405 && look->status != 429 && look_refused(j, look) &&
                   !is_of_the_asking(j, look->status, look->code);
    bool not_yet = look->status == 404 && look->final != 1 && known(look->not_after_us);
    return (look->status == 404 || refused) && !(not_yet && j->history->sale.failovers == 1);
}

void check_found_stays(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t looks = 0, told = 0;
    EACH(const lt_look, look, h->looks) {
        const lt_request *request = &j->requests[look->request];
        bool gone = is_not_found(j, look);
        if (!look_is_here(j, look) || look->from_us <= request->known_us)
            continue;
        looks += look->ending == ENDING_NONE;
        told += look->ending == ENDING_NONE && (look->status == 200 || gone);
        if (gone)
            violated(j, "%s has an order, and was not found afterwards (line %" PRId64 ")",
                     text_of(j, look->request_name), look->line);
    }
    settle(j, looks >= TRIES_SURE && told == 0 ? STATE_UNCHECKED : STATE_OK,
           "no lookup got a conclusive answer");
}

/* The service gives an id to one buyer who sent none, and to no other buyer. */
void check_other_payload(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        const lt_request *request = &j->requests[ask->request];
        if (ask->answer == ANSWER_YES && request->yes != i && !has_payload(request, ask))
            violated(j,
                     "%s bought for another user, quantity or time than before (lines %" PRId64
                     ", %" PRId64 ")",
                     text_of(j, ask->request_name), h->asks[request->yes].line, ask->line);
        if (ask->keyed == 0 && ask->answer != ANSWER_ELSEWHERE && request->unkeyed != i)
            violated(j, "%s was given to two buyers without a key (lines %" PRId64 ", %" PRId64 ")",
                     text_of(j, ask->request_name), h->asks[request->unkeyed].line, ask->line);
    }
    settle(j, STATE_OK, "");
}

/* "Sold out" is the wrong answer to a reused request id: the shop's stock is not the reason, the
 * id is. */
void check_reused(lt_judging *j)
{
    static const char *const of_the_sale[] = {"sold_out", "limit_reached", "quantity_above_limit",
                                              "request_void", "too_late"};
    const lt_history *h = j->history;
    EACH(const lt_ask, ask, h->asks) {
        const lt_request *request = &j->requests[ask->request];
        if (has_payload(request, ask) || ask->from_us <= request->known_us ||
            ask->answer == ANSWER_ELSEWHERE || ask->status != 409)
            continue;
        size_t codes = sizeof(of_the_sale) / sizeof(of_the_sale[0]) - known(ask->not_after_us);
        for (size_t k = 0; k < codes; k++) {
            if (strcmp(text_of(j, ask->code), of_the_sale[k]) == 0)
                violated(j,
                         "%s has an order of another payload, but was told %s (line %" PRId64 ")",
                         text_of(j, ask->request_name), of_the_sale[k], ask->line);
        }
    }
    settle(j, STATE_OK, "");
}

/* ---- the sale that was asked for ------------------------------------------------------------- */

/* A final refusal that names another sale than was asked for. */
static bool refuses_elsewhere(const lt_judging *j, const lt_ask *ask)
{
    return ask->asked == TEXT_NONE && ask->status == 409 &&
           texts_differ(ask->told.sale, j->history->sale.id);
}

/* An attempt that began after somebody was told that the sale is over can not buy. A failover
 * may undo the end of a sale. */
static bool check_over(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_ask *over = NULL;
    EACH(const lt_ask, ask, h->asks) {
        if (ask->answer == ANSWER_NEVER && strcmp(text_of(j, ask->code), "sale_closed") == 0 &&
            (!over || ask->to_us < over->to_us))
            over = ask;
    }
    for (uint32_t i = 0; over && h->sale.failovers != 1 && i < j->requests_len; i++) {
        const lt_request *request = &j->requests[i];
        bool bought = request->bought == BOUGHT_YES || request->order != NO_ELEMENT;
        if (bought && request->attempts > 0 && request->buying_us > over->to_us)
            violated(j,
                     "%s bought at %" PRId64 " us, after the sale had been said to be over"
                     " (line %" PRId64 ")",
                     text_of(j, request->name), request->buying_us, over->line);
    }
    return over;
}

/* While this sale is the item's current one, no other sells. A repetition is of an earlier time. */
static bool sells_elsewhere(const lt_judging *j, const lt_ask *ask)
{
    const lt_sale_line *sale = &j->history->sale;
    return ask->status == 201 && ask->replayed == 0 && sale->failovers != 1 && known(sale->at_us) &&
           ask->from_us > sale->at_us && ask->to_us < j->current_us - IN_FORCE_US;
}

void check_sale_obeyed(lt_judging *j)
{
    const lt_history *h = j->history;
    bool seen = check_over(j);
    EACH(const lt_ask, ask, h->asks) {
        if (refuses_elsewhere(j, ask))
            violated(j, "%s asked for this sale, and was refused by sale %s (line %" PRId64 ")",
                     text_of(j, ask->request_name), text_of(j, ask->told.sale), ask->line);
        if (!text_told(ask->asked) || text_of(j, ask->asked)[0] == '\0')
            continue;
        seen = true;
        if (ask->status == 201 && (ask->told.sale == h->sale.id || is_of_sale(j, ask->told.order)))
            violated(j, "%s asked for sale %s, and bought in this one (line %" PRId64 ")",
                     text_of(j, ask->request_name), text_of(j, ask->asked), ask->line);
        else if (sells_elsewhere(j, ask))
            violated(j, "%s bought in sale %s, which is not the current one (line %" PRId64 ")",
                     text_of(j, ask->request_name), text_of(j, ask->asked), ask->line);
    }
    settle(j, seen ? STATE_OK : STATE_NOTHING, "");
}
