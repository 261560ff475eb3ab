/*
 * readings.c - compares one reading of the stock with itself and with the orders known at that
 * time. A guarded strategy takes units and writes their order in one step, and the service reads an
 * unsharded sale in one step, so a reading is of one moment.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_of_one_moment(const lt_judging *j, const lt_stock_line *s)
{
    const lt_sale_line *sale = &j->history->sale;
    return stock_is_ours(j, s) && sale->segments == 0 && (is_reserving(j) || sale->guarded == 1);
}

/* Returns whether the reading has enough members. */
static bool check_sum(lt_judging *j, const lt_stock_line *s)
{
    int64_t stock = j->history->sale.stock;
    bool told = known(s->remaining) && known(s->reserved) && known(s->sold);
    if (told && s->remaining + s->reserved + s->sold != stock)
        violated(j,
                 "%" PRId64 " units are left, %" PRId64 " reserved and %" PRId64
                 " sold, of %" PRId64 " (line %" PRId64 ")",
                 s->remaining, s->reserved, s->sold, stock, s->line);
    else if (known(s->remaining) && known(s->units) && s->remaining + s->units != stock)
        violated(j,
                 "%" PRId64 " units are left and %" PRId64 " in orders, of %" PRId64
                 " (line %" PRId64 ")",
                 s->remaining, s->units, stock, s->line);
    else if (!is_reserving(j) && known(s->reserved) && s->reserved > 0)
        violated(j, "%" PRId64 " units are reserved (line %" PRId64 "), and nobody reserves",
                 s->reserved, s->line);
    return told;
}

/* What holds however a reading is made. */
static void check_units_told(lt_judging *j, const lt_stock_line *s)
{
    if (known(s->units) && known(s->reserved) && known(s->sold) &&
        s->units != s->reserved + s->sold)
        violated(j,
                 "%" PRId64 " units are in orders, %" PRId64 " reserved and %" PRId64
                 " sold (line %" PRId64 ")",
                 s->units, s->reserved, s->sold, s->line);
}

/* Orders up to a time: those that may exist, or did until a failover, and those that are known
 * to. */
typedef struct lt_orders {
    lt_given *may, *known;
    size_t len;
} lt_orders;

static lt_orders collect_orders(const lt_judging *j)
{
    lt_orders o = {zeroed(j->requests_len, sizeof(*o.may)), zeroed(j->requests_len, sizeof(*o.may)),
                   0};
    EACH(const lt_request, request, j->requests) {
        bool none = request->bought == BOUGHT_NO || request->bought == BOUGHT_ELSEWHERE;
        int64_t orders = request->orders > 1 ? request->orders : 1;
        if (none && !may_be_undone(j, request) && request->order == NO_ELEMENT)
            continue;
        o.may[o.len] = (lt_given){request->attempts > 0 ? request->buying_us : 0, orders};
        o.known[o.len++] = (lt_given){request->known_us, 1};
    }
    given_add_up(o.may, o.len);
    given_add_up(o.known, o.len);
    return o;
}

/* Applies if all buyers' orders are known. A failover may take orders away, but never adds one.
 * Without a guard an order may be on its way. */
static void check_count(lt_judging *j, const lt_stock_line *s, const lt_orders *o)
{
    int64_t most = given_by(o->may, o->len, s->to_us, true);
    bool written = j->calm && (is_reserving(j) || j->history->sale.guarded == 1);
    int64_t least = written ? given_by(o->known, o->len, s->from_us, false) : 0;
    if (j->ledger && known(s->orders) && (s->orders < least || s->orders > most))
        violated(j,
                 "there are %" PRId64 " orders (line %" PRId64 "), and not %" PRId64 " to %" PRId64,
                 s->orders, s->line, least, most);
}

void check_conserved(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_orders orders = collect_orders(j);
    bool all = true, seen = false;
    for (size_t i = 0; i < h->stocks_len; i++) {
        const lt_stock_line *s = &h->stocks[i];
        if (!stock_is_ours(j, s) || (s->segment != UNKNOWN && h->sale.segments > 0))
            continue;
        check_count(j, s, &orders);
        if (!is_of_one_moment(j, s)) {
            check_units_told(j, s);
            continue;
        }
        seen = true;
        all = check_sum(j, s) && all;
    }
    free(orders.may);
    free(orders.known);
    if (is_reserving(j))
        settle_reserving(j, all ? NULL : "a reading of the stock lacks what is reserved, or sold");
    else
        settle(j, seen ? STATE_OK : STATE_NOTHING, "");
}
