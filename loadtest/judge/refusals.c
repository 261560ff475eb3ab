/*
 * refusals.c - a refused request has no order, nobody has an order without asking, and unknown
 * outcomes become known.
 *
 * If something is open because nobody looked, the guarantee is unchecked; if it stays open although
 * somebody looks again and again, the guarantee is violated.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void check_refused(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; i < h->orders_len; i++) {
        const lt_request *request = &j->requests[h->orders[i].request];
        if (request->bought == BOUGHT_NO)
            violated(j, "%s was told no, and has an order (line %" PRId64 ")",
                     text_of(j, request->name), h->orders[i].line);
    }
    settle_by_ledger(j, STATE_OK);
}

/* Told both yes and no, each final. */
void check_no_stays(lt_judging *j)
{
    const lt_history *h = j->history;
    EACH(const lt_request, request, j->requests) {
        bool never = request->never != NO_ELEMENT, told = request->yes != NO_ELEMENT;
        if (!told && request->found == NO_ELEMENT)
            continue;
        if (never || is_final(j, request))
            violated(j, "%s was told yes (line %" PRId64 "), and a final no (line %" PRId64 ")",
                     text_of(j, request->name),
                     told ? h->asks[request->yes].line : h->looks[request->found].line,
                     never ? h->asks[request->never].line : h->looks[request->final].line);
    }
    settle(j, STATE_OK, "");
}

void check_resolved(lt_judging *j)
{
    EACH(const lt_request, request, j->requests) {
        if (request->bought == BOUGHT_UNRESOLVED && request->not_yet_us != UNKNOWN &&
            request->not_yet_us - request->looked_us >= j->options.final_us)
            violated(j, "%s is not resolved %" PRId64 " ms after it was first looked for",
                     text_of(j, request->name), (request->not_yet_us - request->looked_us) / 1000);
    }
    const char *why = j->judgement->figures.unresolved > 0 ? "some requests are not resolved"
                      : is_reserving(j)                    ? why_unsure(j)
                                                           : NULL;
    settle(j, why ? STATE_UNCHECKED : STATE_OK, why);
}

/* ---- nobody asked ---------------------------------------------------------------------------- */

/* The name without the number at its end. */
static lt_text stem_of(lt_texts *stems, const char *name)
{
    char stem[256];
    size_t len = strlen(name);
    while (len > 0 && name[len - 1] >= '0' && name[len - 1] <= '9')
        len--;
    snprintf(stem, sizeof(stem), "%.*s", (int)len, name);
    return texts_add(stems, stem);
}

/* For an attempt without an answer, its order is the only sign of what was sold. What was told
 * of other attempts is compared with the order by another guarantee. */
static bool is_as_asked(const lt_judging *j, const lt_order *order)
{
    const lt_request *request = &j->requests[order->request];
    return request->bought != BOUGHT_UNRESOLVED || request->mixed ||
           (!texts_differ(order->told.user, request->user) &&
            !differ(order->told.quantity, request->quantity));
}

/* An order is the service's invention if its request is named as ours are, except for the
 * number. Otherwise it is another client's, unless the recorder owns the shop. */
void check_nobody_asked(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_texts stems = {0};
    char why[160] = "";
    texts_init(&stems);
    for (uint32_t i = 0; i < j->requests_len; i++) {
        if (j->requests[i].ask != NO_ELEMENT)
            stem_of(&stems, text_of(j, j->requests[i].name));
    }
    size_t ours = stems.len;
    for (size_t i = 0; j->whole && i < h->orders_len; i++) {
        const lt_request *request = &j->requests[h->orders[i].request];
        const char *name = text_of(j, request->name);
        bool nobody = request->bought == BOUGHT_NOBODY;
        if (request->bought == BOUGHT_ELSEWHERE)
            violated(j, "%s has an order (line %" PRId64 "), and asked another sale for it", name,
                     h->orders[i].line);
        else if (nobody && (owns_shop(j) || stem_of(&stems, name) < ours))
            violated(j, "%s has an order (line %" PRId64 "), and nobody asked for it", name,
                     h->orders[i].line);
        else if (nobody && why[0] == '\0')
            snprintf(why, sizeof(why), "others bought: an order is %.64s's (line %" PRId64 ")",
                     name, h->orders[i].line);
        else if (!is_as_asked(j, &h->orders[i]))
            violated(j,
                     "%s has an order (line %" PRId64 ") of another user, or quantity, than"
                     " it asked for",
                     name, h->orders[i].line);
    }
    texts_release(&stems);
    if (why[0] != '\0')
        settle(j, STATE_UNCHECKED, why);
    else
        settle_by_ledger(j, STATE_OK);
}

/* ---- refused although it was there ----------------------------------------------------------- */

/* Sorted by the end of the refusal; with the fewest units of all refusals up to this one. */
typedef struct lt_refused {
    int64_t to_us, quantity, line;
} lt_refused;

static int by_end(const void *left, const void *right)
{
    const lt_refused *a = left, *b = right;
    return either(compare(a->to_us, b->to_us), compare(a->line, b->line));
}

/* The units that were there when a request's order was made, as told, or else from the ledger.
 * UNKNOWN. */
static int64_t units_found(const lt_judging *j, const lt_request *request)
{
    const lt_told *told = first_told(j, request);
    if (told && known(told->remaining))
        return told->remaining + request->quantity;
    bool ours = request->order != NO_ELEMENT && request->bought != BOUGHT_NO;
    told = ours ? &j->history->orders[request->order].told : NULL;
    bool listed = told && known(told->remaining) && known(told->quantity);
    return listed ? told->remaining + told->quantity : UNKNOWN;
}

/* Who began then and found so many units in one segment proves an earlier "sold out" wrong. */
static void hold_refusals(lt_judging *j, const lt_refused *refused, size_t len, int64_t from_us,
                          const char *who, int64_t were_there)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (refused[middle].to_us < from_us)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && refused[low - 1].quantity <= were_there)
        violated(j,
                 "%" PRId64 " were said to be sold out (line %" PRId64 "), and %s found %" PRId64
                 " later",
                 refused[low - 1].quantity, refused[low - 1].line, who, were_there);
}

/* Stock only falls, so what a buyer or a reading found later had been there before. In a sharded
 * sale each segment had fewer, and one of them has no less than its share. */
static void check_later(lt_judging *j, const lt_refused *refused, size_t len)
{
    EACH(const lt_request, request, j->requests) {
        int64_t were_there = units_found(j, request);
        if (request->attempts > 0 && known(were_there))
            hold_refusals(j, refused, len, request->buying_us, text_of(j, request->name),
                          were_there);
    }
    EACH(const lt_stock_line, s, j->history->stocks) {
        int64_t shares = s->segment == UNKNOWN ? (int64_t)history_segments(j->history) : 1;
        char who[32];
        snprintf(who, sizeof(who), "line %" PRId64, s->line);
        if (stock_is_ours(j, s) && known(s->remaining) && s->remaining > 0)
            hold_refusals(j, refused, len, s->from_us, who, (s->remaining + shares - 1) / shares);
    }
}

static int by_reading(const void *left, const void *right)
{
    const lt_stock_line *a = *(const lt_stock_line *const *)left;
    const lt_stock_line *b = *(const lt_stock_line *const *)right;
    return either(compare(a->to_us, b->to_us), compare(a->line, b->line));
}

/* The last reading of the stock that had ended by then; NULL. Readings are sorted by their ends. */
static const lt_stock_line *reading_by(const lt_stock_line *const *readings, size_t len, int64_t us)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (readings[middle]->to_us < us)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? readings[low - 1] : NULL;
}

/* Where units come back, counts units that nobody can have had all the time, or that were seen
 * before. */
static void check_free(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_stock_line **readings = zeroed(h->stocks_len, sizeof(*readings));
    size_t len = 0;
    for (size_t i = 0; i < h->stocks_len; i++) {
        if (stock_is_ours(j, &h->stocks[i]))
            readings[len++] = &h->stocks[i];
    }
    qsort(readings, len, sizeof(*readings), by_reading);
    EACH(const lt_ask, ask, h->asks) {
        int64_t there = later(units_free(j, ask->from_us, ask->to_us),
                              units_seen(j, reading_by(readings, len, ask->from_us), ask->to_us));
        if (was_told(j, ask, 409, "sold_out") && ask->quantity <= there)
            violated(j,
                     "%s was told that %" PRId64 " are sold out (line %" PRId64 "), and %" PRId64
                     " were neither sold nor reserved",
                     text_of(j, ask->request_name), ask->quantity, ask->line, there);
    }
    free(readings);
}

void check_sold_out(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_sale_line *sale = &h->sale;
    lt_refused *refused = zeroed(h->asks_len, sizeof(*refused));
    int64_t most = most_left(j);
    bool rest = j->remaining != UNKNOWN;
    size_t len = 0;
    EACH(const lt_ask, ask, h->asks) {
        if (!was_told(j, ask, 409, "sold_out"))
            continue;
        refused[len++] = (lt_refused){ask->to_us, ask->quantity, ask->line};
        if (!is_reserving(j) && rest && ask->quantity <= most)
            violated(j,
                     "%s was told that %" PRId64 " are sold out (line %" PRId64 "), and %" PRId64
                     " are left",
                     text_of(j, ask->request_name), ask->quantity, ask->line, most);
    }
    if (is_reserving(j))
        check_free(j);
    qsort(refused, len, sizeof(*refused), by_end);
    for (size_t i = 1; i < len; i++) {
        if (refused[i].quantity >= refused[i - 1].quantity) {
            refused[i].quantity = refused[i - 1].quantity;
            refused[i].line = refused[i - 1].line;
        }
    }
    if (sale->guarded == 1 && !is_reserving(j) && sale->failovers != 1)
        check_later(j, refused, len);
    free(refused);
    settle(j, rest ? STATE_OK : STATE_UNCHECKED, "the stock at rest is not known");
}

/* ---- the limit ------------------------------------------------------------------------------- */

/* A user has the units that the ledger lists for the user, or those that the user asked for and
 * was told of; some of these may be listed under a request that nobody made. The larger sum
 * counts: adding them would count one order twice. */
int64_t *units_of_users(const lt_judging *j, bool open)
{
    const lt_history *h = j->history;
    int64_t *listed = zeroed(h->texts.len, sizeof(*listed));
    int64_t *has = zeroed(h->texts.len, sizeof(*has));
    for (size_t i = 0; i < h->orders_len; i++) {
        const lt_told *told = &h->orders[i].told;
        if (h->orders[i].audit != j->books || !known(told->quantity) ||
            !holds_units(j, &h->orders[i]))
            continue;
        listed[told->user] += told->quantity;
        if (j->requests[h->orders[i].request].bought != BOUGHT_NOBODY)
            has[told->user] += told->quantity;
    }
    EACH(const lt_request, request, j->requests) {
        bool owed = request->bought == BOUGHT_YES && request->order == NO_ELEMENT;
        bool for_a_while = open && request->attempts > 0 && request->order == NO_ELEMENT &&
                           (request->bought == BOUGHT_UNRESOLVED ||
                            (h->sale.guarded == 0 && request->never == NO_ELEMENT));
        if (owed || for_a_while || (open && request->released))
            has[request->user] += request->quantity;
    }
    for (size_t i = 0; i < h->texts.len; i++)
        has[i] = listed[i] > has[i] ? listed[i] : has[i];
    free(listed);
    return has;
}

void check_limit(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t limit = h->sale.limit;
    int64_t *has = units_of_users(j, false);
    for (size_t i = TEXT_UNFIT + 1; limit > 0 && i < h->texts.len; i++) {
        if (has[i] > limit)
            violated(j, "%s has %" PRId64 " units, not %" PRId64, text_of(j, (lt_text)i), has[i],
                     limit);
    }
    free(has);
    if (limit > 0 && is_reserving(j) && j->ledger)
        check_limit_meanwhile(j);
    if (limit == 0)
        settle(j, STATE_NOTHING, "");
    else if (j->counts_only)
        settle(j, STATE_OK, "");
    else
        settle_by_ledger(j, STATE_OK);
}

/* Chains of requests by their users, from 1. */
typedef struct lt_chains {
    uint32_t *first, *next;
} lt_chains;

static lt_chains chain_released(const lt_judging *j)
{
    lt_chains chains = {zeroed(j->history->texts.len, sizeof(uint32_t)),
                        zeroed(j->requests_len, sizeof(uint32_t))};
    for (uint32_t i = 0; i < j->requests_len; i++) {
        if (!j->requests[i].released)
            continue;
        chains.next[i] = chains.first[j->requests[i].user];
        chains.first[j->requests[i].user] = i + 1;
    }
    return chains;
}

/* Of what was the user's for a while: what was not his yet, or not any more, all the time. */
static int64_t units_apart(const lt_judging *j, const lt_chains *released, const lt_ask *ask)
{
    int64_t units = 0;
    for (uint32_t i = released->first[ask->user]; i > 0; i = released->next[i - 1]) {
        const lt_request *request = &j->requests[i - 1];
        if (!counts_for_limit(j, request, ask->from_us, ask->to_us))
            units += request->quantity;
    }
    return units;
}

/* What a user has at rest is the most the user ever had, but for units held for a while. */
void check_limit_refusals(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t limit = h->sale.limit, most = limit > 0 ? limit : INT64_MAX;
    int64_t *at_rest = units_of_users(j, false), *ever = units_of_users(j, true);
    lt_chains released = chain_released(j);
    bool certain = (j->ledger || j->counts_only) && j->whole && h->sale.failovers != 1;
    for (size_t i = 0; certain && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        bool by_limit = was_told(j, ask, 409, "limit_reached");
        bool above = was_told(j, ask, 409, "quantity_above_limit");
        int64_t has =
            !by_limit ? ever[ask->user]
                      : later(at_rest[ask->user], ever[ask->user] - units_apart(j, &released, ask));
        if ((by_limit && has + ask->quantity <= most) || (above && ask->quantity <= most))
            violated(j,
                     "%s was refused %" PRId64 " units by the limit of %" PRId64
                     ", and has %" PRId64 " (line %" PRId64 ")",
                     text_of(j, ask->user), ask->quantity, limit, has, ask->line);
    }
    free(at_rest);
    free(ever);
    free(released.first);
    free(released.next);
    if (limit == 0)
        settle(j, STATE_NOTHING, "");
    else if (j->counts_only || h->sale.failovers == 1)
        settle(j, STATE_OK, "");
    else
        settle_by_ledger(j, STATE_OK);
}
