/*
 * audits.c - compares the readings of the ledger. What one reading shows is there, even if the
 * reading was cut off; what it does not show is missing only if it was read to its end.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The texts' numbers depend on the order of the lines, the texts do not. */
static int by_name(const lt_judging *j, lt_text a, lt_text b)
{
    return strcmp(text_of(j, a), text_of(j, b));
}

/* Orders entries by the members that are the same in two audits of one ledger. */
static int by_request(const void *left, const void *right, void *judging)
{
    const lt_order *a = *(const lt_order *const *)left, *b = *(const lt_order *const *)right;
    if (a->audit != b->audit)
        return compare(a->audit, b->audit);
    if (a->told.request != b->told.request)
        return by_name(judging, a->told.request, b->told.request);
    return a->number != b->number ? compare(a->number, b->number)
                                  : by_name(judging, a->told.order, b->told.order);
}

const lt_order **sorted_entries(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_order **orders = zeroed(h->orders_len, sizeof(*orders));
    for (size_t i = 0; i < h->orders_len; i++)
        orders[i] = &h->orders[i];
    qsort_r(orders, h->orders_len, sizeof(*orders), by_request, j);
    return orders;
}

/* The entries of one audit. */
typedef struct lt_listed {
    const lt_order *const *orders;
    size_t len;
    bool whole; /* there are no others */
} lt_listed;

/* The entries of one audit among the sorted ones. */
static lt_listed entries_of(const lt_order *const *orders, size_t len, int64_t n, bool whole)
{
    size_t from = 0, to;
    while (from < len && orders[from]->audit < n)
        from++;
    for (to = from; to < len && orders[to]->audit == n;)
        to++;
    return (lt_listed){orders + from, to - from, whole};
}

static void compare_audits(lt_judging *j, const lt_listed *a, const lt_listed *b)
{
    size_t i = 0, k = 0;
    while (i < a->len || k < b->len) {
        int order = i == a->len ? 1
                    : k == b->len
                        ? -1
                        : by_name(j, a->orders[i]->told.request, b->orders[k]->told.request);
        if (order != 0) {
            const lt_order *alone = order < 0 ? a->orders[i++] : b->orders[k++];
            if (order < 0 ? b->whole : a->whole)
                violated(j, "an audit has an order of %s (line %" PRId64 "), another has none",
                         text_of(j, alone->told.request), alone->line);
            continue;
        }
        const lt_order *one = a->orders[i++], *other = b->orders[k++];
        const char *what = told_difference(&one->told, &other->told);
        if (texts_differ(one->told.order, other->told.order))
            what = "id";
        if (what)
            violated(j,
                     "%s's order has another %s in another audit (lines %" PRId64 ", %" PRId64 ")",
                     text_of(j, one->told.request), what, one->line, other->line);
    }
}

static const lt_audit_line *audit_of(const lt_history *h, int64_t n)
{
    for (size_t i = 0; i < h->audits_len; i++) {
        if (h->audits[i].n == n)
            return &h->audits[i];
    }
    return NULL;
}

bool is_cut_off(const lt_judging *j, int64_t n)
{
    const lt_audit_line *audit = audit_of(j->history, n);
    return !j->whole || (audit ? audit->status != 200 : n != j->books);
}

/* When the ledger was read once and a second reading fails, nobody knows whether it is still the
 * same. */
void check_audits(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_order **orders = sorted_entries(j);
    const lt_listed books = entries_of(orders, h->orders_len, j->books, j->ledger);
    bool again = false, in_vain = false;
    EACH(const lt_audit_line, audit, h->audits) {
        bool whole = !is_cut_off(j, audit->n);
        if (audit->n == j->books)
            continue;
        again = again || whole;
        in_vain = in_vain || (!whole && audit->n > j->books);
        const lt_listed other = entries_of(orders, h->orders_len, audit->n, whole);
        compare_audits(j, &books, &other);
    }
    for (size_t i = 0; i < h->orders_len; i++) {
        int64_t n = orders[i]->audit;
        if ((i > 0 && orders[i - 1]->audit == n) || n == j->books || audit_of(h, n))
            continue;
        in_vain = true;
        const lt_listed other = entries_of(orders, h->orders_len, n, false);
        compare_audits(j, &books, &other);
    }
    free(orders);
    if (in_vain && j->ledger)
        settle(j, STATE_UNCHECKED, "the ledger could not be read again");
    else
        settle_by_ledger(j, again ? STATE_OK : STATE_NOTHING);
}
