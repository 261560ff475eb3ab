/*
 * service.c - the service's own account of the sale: what it reports as wrong, and whether all
 * targets report the same and at the end.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <string.h>

static bool is_at_rest(const lt_judging *j, const lt_stock_line *stock)
{
    return stock_is_ours(j, stock) && stock->from_us >= j->rest_us;
}

static bool is_of_all(const lt_judging *j, const lt_stock_line *stock)
{
    return stock->segment == UNKNOWN || j->history->sale.segments == 0;
}

static void hold_loss(lt_judging *j, lt_text request, int64_t status, lt_text code, int64_t line)
{
    const char *told = text_of(j, code);
    if (status == 503 &&
        (strcmp(told, "sale_rolled_back") == 0 || strcmp(told, "sale_damaged") == 0))
        violated(j, "%s was told %s, and nothing failed over (line %" PRId64 ")",
                 text_of(j, request), told, line);
}

/* What buyers were told, if the history is complete. */
static void check_told_loss(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; h->sale.failovers == 0 && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        if (ask->answer != ANSWER_ELSEWHERE)
            hold_loss(j, ask->request_name, ask->status, ask->code, ask->line);
    }
    for (size_t i = 0; h->sale.failovers == 0 && i < h->looks_len; i++) {
        const lt_look *look = &h->looks[i];
        if (look_is_here(j, look))
            hold_loss(j, look->request_name, look->status, look->code, look->line);
    }
}

void check_account(lt_judging *j)
{
    const lt_history *h = j->history;
    bool failovers = h->sale.failovers == 1, seen = false;
    check_told_loss(j);
    EACH(const lt_stock_line, stock, h->stocks) {
        if (!stock_is_ours(j, stock))
            continue;
        seen = true;
        if (known(stock->lost_updates) && stock->lost_updates > 0)
            violated(j, "the service says that %" PRId64 " updates are lost (line %" PRId64 ")",
                     stock->lost_updates, stock->line);
        if (known(stock->unordered) && stock->unordered > 0 && is_at_rest(j, stock))
            violated(j,
                     "the service says that %" PRId64 " units are in no order (line %" PRId64 ")",
                     stock->unordered, stock->line);
        if (!failovers && known(stock->lost_orders) && stock->lost_orders > 0)
            violated(j, "the service says that %" PRId64 " orders are lost (line %" PRId64 ")",
                     stock->lost_orders, stock->line);
        else if (!failovers && text_told(stock->halted))
            violated(j, "the service has halted the sale: %s (line %" PRId64 ")",
                     text_of(j, stock->halted), stock->line);
    }
    settle(j, seen ? STATE_OK : STATE_NOTHING, "");
}

/* ---- at rest --------------------------------------------------------------------------------- */

/* Compares one number with what it must be, or with the first of its kind if that is not known. */
static void hold(lt_judging *j, const char *what, int64_t is, int64_t *must, int64_t line)
{
    if (known(is) && !known(*must))
        *must = is;
    if (differ(is, *must))
        violated(j, "at rest the service says %s %" PRId64 " (line %" PRId64 "), not %" PRId64,
                 what, is, line, *must);
}

/* Orders that buyers were told of. */
static int64_t count_sold(const lt_judging *j)
{
    int64_t sold = 0;
    for (uint32_t i = 0; i < j->requests_len; i++)
        sold += j->requests[i].bought == BOUGHT_YES;
    return sold;
}

static int64_t count_orders(const lt_judging *j)
{
    int64_t orders = 0;
    for (size_t i = 0; i < j->history->orders_len; i++)
        orders += j->history->orders[i].audit == j->books;
    return orders;
}

/* All numbers at rest agree with each other and with the ledger; without a ledger, with what was
 * told. */
void check_at_rest(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_figures *figures = &j->judgement->figures;
    int64_t remaining = j->remaining, units = UNKNOWN, orders = UNKNOWN;
    int64_t reserved = UNKNOWN, sold = UNKNOWN;
    bool told = j->counts_only && figures->unresolved == 0, seen = false;
    if (j->ledger || told) {
        units = j->ledger ? j->ledger_units : figures->sold;
        orders = j->ledger ? count_orders(j) : count_sold(j);
        reserved = j->open_units;
        sold = units - reserved;
    }
    EACH(const lt_stock_line, stock, h->stocks) {
        if (!is_at_rest(j, stock) || !is_of_all(j, stock) || j->open_units > 0)
            continue;
        seen = true;
        hold(j, "remaining", stock->remaining, &remaining, stock->line);
        hold(j, "units", stock->units, &units, stock->line);
        hold(j, "reserved", stock->reserved, &reserved, stock->line);
        hold(j, "sold", stock->sold, &sold, stock->line);
        hold(j, "orders", stock->orders, &orders, stock->line);
    }
    if (j->counts_only)
        settle(j, seen && told ? STATE_OK : STATE_UNCHECKED,
               told ? "the service shows neither a ledger nor how many orders there are"
                    : "some requests are not resolved");
    else
        settle(j, seen ? STATE_OK : STATE_NOTHING, "");
}

/* ---- whether it can be believed -------------------------------------------------------------- */

/* The name without its options: "setnx" of "setnx:wait_ms=0". */
static bool is_other_strategy(const lt_judging *j, lt_text told)
{
    const char *asked = text_of(j, j->history->sale.strategy);
    size_t len = strcspn(asked, ":");
    const char *is = text_of(j, told);
    return text_told(told) && (strlen(is) != len || strncmp(asked, is, len) != 0);
}

void check_same_sale(lt_judging *j)
{
    const lt_history *h = j->history;
    EACH(const lt_stock_line, stock, h->stocks) {
        const char *what = texts_differ(stock->sale, h->sale.id)   ? "another sale"
                           : is_other_strategy(j, stock->strategy) ? "another strategy"
                           : differ(stock->initial, h->sale.stock) ? "another initial stock"
                                                                   : NULL;
        char why[96];
        if (!what || (stock->segment != UNKNOWN && h->sale.segments > 0))
            continue;
        snprintf(why, sizeof(why), "the service tells of %s (line %" PRId64 ")", what, stock->line);
        settle(j, STATE_UNCHECKED, why);
        return;
    }
    settle(j, STATE_OK, "");
}

void check_readings(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t first = NEVER, last = 0, good = 0, bad = 0;
    bool none = h->asks_len > 0; /* at any time */
    char why[96];
    EACH(const lt_ask, ask, h->asks) {
        first = ask->from_us < first ? ask->from_us : first;
        last = ask->to_us != NEVER && ask->to_us > last ? ask->to_us : last;
    }
    EACH(const lt_stock_line, stock, h->stocks) {
        bool meanwhile = stock->from_us >= first && stock->from_us <= last;
        bool read = stock->status == 200 && stock->remaining != UNFIT;
        none = none && !(read && known(stock->remaining));
        good += meanwhile && read;
        bad += meanwhile && !read;
    }
    snprintf(why, sizeof(why), "%" PRId64 " of %" PRId64 " readings of the stock failed", bad,
             good + bad);
    if (none)
        snprintf(why, sizeof(why), "nobody has read the stock");
    settle(j, none || bad > good ? STATE_UNCHECKED : STATE_OK, why);
}
