/*
 * stock.c - I2: at no time more is sold than there is, and stock only falls.
 *
 * It is seen in three places: in samples of the numbers, in what each buyer was told was left, and
 * at rest. A rise is what a lost update looks like: somebody wrote a number that he had read before
 * another one's was written.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- samples --------------------------------------------------------------------------------- */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* One segment's behind another's; those of the whole first. */
static int by_end(const void *left, const void *right)
{
    const bc_stock *a = *(const bc_stock *const *)left, *b = *(const bc_stock *const *)right;
    if (a->segment != b->segment)
        return compare(a->segment, b->segment);
    return a->to_us != b->to_us ? compare(a->to_us, b->to_us) : compare(a->line, b->line);
}

static int by_begin(const void *left, const void *right)
{
    const bc_stock *a = *(const bc_stock *const *)left, *b = *(const bc_stock *const *)right;
    if (a->segment != b->segment)
        return compare(a->segment, b->segment);
    return a->from_us != b->from_us ? compare(a->from_us, b->from_us) : compare(a->line, b->line);
}

static void check_sample(bc_report *report, const bc_stock *stock)
{
    int64_t most = report->history->sale.stock;
    if (stock->remaining != UNKNOWN && stock->remaining < 0)
        violated(report, CHECK_I2, "line %" PRId64 ": %" PRId64 " units are left", stock->line,
                 stock->remaining);
    else if (stock->remaining != UNKNOWN && stock->remaining > most)
        violated(report, CHECK_I2, "line %" PRId64 ": %" PRId64 " units are left, of %" PRId64,
                 stock->line, stock->remaining, most);
    if (stock->units != UNKNOWN && stock->units > most)
        violated(report, CHECK_I2, "line %" PRId64 ": %" PRId64 " units are in orders, of %" PRId64,
                 stock->line, stock->units, most);
    else if (stock->oversold != UNKNOWN && stock->oversold > 0)
        violated(report, CHECK_I2, "line %" PRId64 ": %" PRId64 " units are oversold", stock->line,
                 stock->oversold);
}

/* Each sample against the lowest of those that had ended before it began. */
static void check_falling(bc_report *report, const bc_stock **begins, const bc_stock **ends,
                          size_t len)
{
    const bc_stock *lowest = NULL;
    for (size_t i = 0, k = 0; i < len; i++) {
        const bc_stock *now = begins[i];
        if (lowest && lowest->segment != now->segment)
            lowest = NULL;
        for (; k < len && (ends[k]->segment < now->segment ||
                           (ends[k]->segment == now->segment && ends[k]->to_us < now->from_us));
             k++) {
            if (ends[k]->segment == now->segment &&
                (!lowest || ends[k]->remaining < lowest->remaining))
                lowest = ends[k];
        }
        if (lowest && now->remaining > lowest->remaining)
            violated(report, CHECK_I2,
                     "line %" PRId64 ": %" PRId64 " units are left, after %" PRId64
                     " were (line %" PRId64 ")",
                     now->line, now->remaining, lowest->remaining, lowest->line);
    }
}

static size_t check_samples(bc_report *report)
{
    const bc_history *h = report->history;
    const bc_stock **begins = zeroed(h->stocks_len, sizeof(*begins));
    const bc_stock **ends = zeroed(h->stocks_len, sizeof(*ends));
    size_t len = 0;
    for (size_t i = 0; i < h->stocks_len; i++) {
        check_sample(report, &h->stocks[i]);
        if (h->stocks[i].remaining != UNKNOWN) {
            begins[len] = &h->stocks[i];
            ends[len++] = &h->stocks[i];
        }
    }
    qsort(begins, len, sizeof(*begins), by_begin);
    qsort(ends, len, sizeof(*ends), by_end);
    check_falling(report, begins, ends, len);
    free(begins);
    free(ends);
    return len;
}

/* ---- what buyers were told ------------------------------------------------------------------- */

/* In the order of sale. */
static int by_number(const void *left, const void *right)
{
    const bc_ask *a = *(const bc_ask *const *)left, *b = *(const bc_ask *const *)right;
    if (a->segment != b->segment)
        return compare(a->segment, b->segment);
    return a->number != b->number ? compare(a->number, b->number) : compare(a->line, b->line);
}

static void check_pair(bc_report *report, const bc_ask *before, const bc_ask *after)
{
    if (before->segment == after->segment && before->number < after->number &&
        after->remaining > before->remaining - after->quantity)
        violated(report, CHECK_I2,
                 "order %" PRId64 " left %" PRId64 " units (line %" PRId64 "), order %" PRId64
                 " of %" PRId64 " left %" PRId64 " (line %" PRId64 ")",
                 before->number, before->remaining, before->line, after->number, after->quantity,
                 after->remaining, after->line);
}

/* How many were told. */
static size_t check_told(bc_report *report)
{
    const bc_history *h = report->history;
    const bc_ask **told = zeroed(h->asks_len, sizeof(*told));
    size_t len = 0;
    for (size_t i = 0; i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        if (ask->answer != ANSWER_YES || ask->remaining == UNKNOWN)
            continue;
        if (ask->remaining < 0)
            violated(report, CHECK_I2,
                     "line %" PRId64 ": %s was told that %" PRId64 " units are left", ask->line,
                     ask->request_name, ask->remaining);
        if (ask->number > 0 && ask->segment != UNKNOWN)
            told[len++] = ask;
    }
    qsort(told, len, sizeof(*told), by_number);
    for (size_t i = 1; i < len; i++)
        check_pair(report, told[i - 1], told[i]);
    free(told);
    return len;
}

void check_stock(bc_report *report)
{
    const bc_history *h = report->history;
    size_t samples = check_samples(report);
    samples += check_told(report);
    for (size_t i = 0; i < h->rests_len; i++) {
        if (h->rests[i].remaining < 0 && h->rests[i].remaining != UNKNOWN)
            violated(report, CHECK_I2, "%" PRId64 " units are left at rest", h->rests[i].remaining);
    }
    if (report->figures.oversold > 0)
        violated(report, CHECK_I2, "%" PRId64 " units are sold beyond the stock of %" PRId64,
                 report->figures.oversold, h->sale.stock);
    settle(report, CHECK_I2, samples > 0 && h->has_ledger ? STATE_OK : STATE_UNCHECKED,
           samples > 0 ? "stock and orders at rest are not known"
                       : "nobody saw the stock before it came to rest");
}
