/*
 * heals.c - I7: after a fault a buy succeeds in time. I8: nothing is left behind.
 *
 * A buy counts for the last heal before it began; what is under way when the fault ends may have
 * been spoiled by it. "Sold out" and the limit count as well: the ledger was read to say so. Where
 * the next fault comes before the time is up, a heal is not judged unless a buy did succeed. One
 * behind which there was time enough, and nobody asked, leaves the whole unchecked. Behind
 * the last heal, that is asked of each instance: one that is asked again and again when the time is
 * up, and never sells, is stuck, whatever the others sell.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_AGAIN = 20 }; /* refusals in a row that are not chance */

typedef struct bc_window {
    const bc_turn *heal;
    int64_t end_us;  /* the next fault begins; NEVER */
    int64_t good_us; /* the first success ended; NEVER */
    bool tried;      /* a buy began early enough */
} bc_window;

static int by_time(const void *left, const void *right)
{
    const bc_turn *a = *(const bc_turn *const *)left, *b = *(const bc_turn *const *)right;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* The times behind heals, in order; how many. */
static size_t find_windows(const bc_history *h, bc_window *windows)
{
    const bc_turn **turns = zeroed(h->turns_len, sizeof(*turns));
    size_t len = 0;
    for (size_t i = 0; i < h->turns_len; i++)
        turns[i] = &h->turns[i];
    qsort(turns, h->turns_len, sizeof(*turns), by_time);
    for (size_t i = 0; i < h->turns_len; i++) {
        if (turns[i]->heal)
            windows[len++] = (bc_window){.heal = turns[i], .end_us = NEVER, .good_us = NEVER};
        else if (len > 0 && windows[len - 1].end_us == NEVER)
            windows[len - 1].end_us = turns[i]->at_us;
    }
    free(turns);
    return len;
}

/* The last that had begun by then; NULL. */
static bc_window *window_at(bc_window *windows, size_t len, int64_t us)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (windows[middle].heal->at_us <= us)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &windows[low - 1] : NULL;
}

static bool succeeded(const bc_ask *ask)
{
    return ask->status == 201 ||
           (ask->status == 409 && ask->code &&
            (strcmp(ask->code, "sold_out") == 0 || strcmp(ask->code, "limit_reached") == 0));
}

static void note_asks(const bc_history *h, bc_window *windows, size_t len, int64_t within_us)
{
    for (size_t i = 0; i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        bc_window *window = window_at(windows, len, ask->from_us);
        if (!window)
            continue;
        if (ask->from_us - window->heal->at_us < within_us)
            window->tried = true;
        if (succeeded(ask) && ask->to_us < window->good_us)
            window->good_us = ask->to_us;
    }
}

static bool is_cut_short(const bc_window *window, int64_t within_us)
{
    return window->end_us != NEVER && window->end_us - window->heal->at_us < within_us;
}

/* False: it can not be said. */
static bool judge(bc_report *report, const bc_window *window, int64_t within_us)
{
    int64_t at = window->heal->at_us;
    if (window->good_us != NEVER && window->good_us - at <= within_us)
        return true;
    if (!window->tried || is_cut_short(window, within_us))
        return false;
    if (window->good_us == NEVER)
        violated(report, CHECK_I7, "no buy succeeded behind the heal of line %" PRId64,
                 window->heal->line);
    else
        violated(report, CHECK_I7,
                 "the first buy succeeded %" PRId64 " ms behind the heal of line %" PRId64
                 ", not %" PRId64,
                 (window->good_us - at) / 1000, window->heal->line, within_us / 1000);
    return true;
}

/* What became of the asks at one instance that began behind the last heal. */
typedef struct bc_instance {
    int64_t late; /* begun when the time was up */
    bool good;
} bc_instance;

static void check_instances(bc_report *report, const bc_window *last, int64_t within_us)
{
    const bc_history *h = report->history;
    bc_names names = {0};
    int64_t at = last->heal->at_us;
    for (size_t i = 0; i < h->asks_len; i++) {
        if (h->asks[i].instance)
            names_add(&names, h->asks[i].instance);
    }
    bc_instance *instances = zeroed(names.len, sizeof(*instances));
    for (size_t i = 0; last->end_us == NEVER && i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        if (!ask->instance || ask->from_us < at)
            continue;
        bc_instance *instance = &instances[names_add(&names, ask->instance)];
        instance->late += ask->from_us - at >= within_us;
        instance->good = instance->good || succeeded(ask);
    }
    for (size_t i = 0; i < names.len; i++) {
        if (instances[i].late >= ASKED_AGAIN && !instances[i].good)
            violated(report, CHECK_I7,
                     "no buy succeeded at instance %s behind the heal of line %" PRId64,
                     names.names[i], last->heal->line);
    }
    free(instances);
    names_free(&names);
}

void check_heals(bc_report *report)
{
    const bc_history *h = report->history;
    int64_t within_us = report->options.i7_us;
    if (within_us == UNKNOWN)
        within_us = h->sale.lease_us + 1000000;
    bc_window *windows = zeroed(h->turns_len, sizeof(*windows));
    size_t len = find_windows(h, windows), judged = 0, open = 0;
    note_asks(h, windows, len, within_us);
    for (size_t i = 0; i < len; i++) {
        bool said = judge(report, &windows[i], within_us);
        judged += said;
        open += !said && !is_cut_short(&windows[i], within_us);
    }
    if (len > 0 && windows[len - 1].good_us != NEVER)
        check_instances(report, &windows[len - 1], within_us);
    free(windows);
    settle(report, CHECK_I7,
           h->turns_len == 0         ? STATE_NOTHING
           : judged > 0 && open == 0 ? STATE_OK
                                     : STATE_UNCHECKED,
           len == 0 ? "no fault has healed" : "nobody bought behind a heal for long enough");
}

/* ---- I8 -------------------------------------------------------------------------------------- */

/* False: not known. */
static bool check_one(bc_report *report, const char *what, int64_t count)
{
    if (count > 0)
        violated(report, CHECK_I8, "%" PRId64 " %s are left", count, what);
    return count != UNKNOWN;
}

void check_left(bc_report *report)
{
    const bc_history *h = report->history;
    int64_t unended = 0;
    bool known = h->lefts_len > 0;
    for (size_t i = 0; i < h->asks_len; i++)
        unended += h->asks[i].to_us == NEVER;
    check_one(report, "attempts without an end", unended);
    for (size_t i = 0; i < h->lefts_len; i++) {
        const bc_left *left = &h->lefts[i];
        bool all = check_one(report, "locks", left->locks);
        all &= check_one(report, "waiters", left->waiters);
        all &= check_one(report, "threads", left->threads);
        all &= check_one(report, "descriptors", left->descriptors);
        known = known && all;
    }
    settle(report, CHECK_I8, known ? STATE_OK : STATE_UNCHECKED,
           "not all of what could be left was counted");
    bool open = report->findings[CHECK_I7].state == STATE_UNCHECKED;
    int64_t stuck = report->findings[CHECK_I7].count + unended;
    report->figures.stuck = open && stuck == 0 ? UNKNOWN : stuck;
}
