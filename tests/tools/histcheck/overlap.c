/*
 * Holds are looked at in the order in which acquire returned them, each beside those seen before of
 * its lock that last until then at least. There must have been room for it: beside a holder of all
 * there is none.
 */
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

/* Those that last at the moment. */
struct lasting {
    hc_certain *list;
    size_t len, cap;
};

/* Forgets who is through by the start of `next`; what the others have, and the one of them that
 * lasts longest (NULL: nobody). */
static hc_taken take_stock(struct lasting *lasting, const hc_certain *next,
                           const hc_certain **ret_longest)
{
    hc_taken taken = {0};
    size_t kept = 0;
    *ret_longest = NULL;
    for (size_t i = 0; i < lasting->len; i++) {
        hc_certain *one = &lasting->list[i];
        if (one->hold->lock != next->hold->lock || one->to_ns <= next->from_ns)
            continue;
        taken_add(&taken, one->hold->share);
        lasting->list[kept] = *one;
        if (!*ret_longest || one->to_ns > (*ret_longest)->to_ns)
            *ret_longest = &lasting->list[kept];
        kept++;
    }
    lasting->len = kept;
    return taken;
}

static void check_one(struct lasting *lasting, const hc_certain *next, hc_report *report_to)
{
    const hc_certain *longest;
    hc_taken taken = take_stock(lasting, next, &longest);
    if (!taken_fits(&taken, next->hold->share)) {
        char room[96] = "";
        if (!taken.all && next->hold->share.takes > 0)
            snprintf(room, sizeof(room), "; %lld were taken, %d more asked for",
                     (long long)taken.takes, next->hold->share.takes);
        report(report_to, VIOLATION_OVERLAP, next->hold->lock,
               "%s had it from %.3f to %.3f ms, %s from %.3f to %.3f ms%s",
               report_name(longest->hold), report_ms(report_to, longest->from_ns),
               report_ms(report_to, longest->to_ns), report_name(next->hold),
               report_ms(report_to, next->from_ns), report_ms(report_to, next->to_ns), room);
    }
    lasting->list = hc_grown(lasting->list, lasting->len, &lasting->cap, sizeof(*lasting->list));
    lasting->list[lasting->len++] = *next;
}

void check_overlap(const hc_history *history, hc_report *report_to)
{
    size_t len;
    hc_certain *list = hc_certain_holds(history, &len);
    struct lasting lasting = {0};
    for (size_t i = 0; i < len; i++)
        check_one(&lasting, &list[i], report_to);
    free(lasting.list);
    free(list);
}
