/*
 * heals.c - after a fault buys succeed in time, and nothing is left behind.
 *
 * A buy counts for the last heal before it began; a buy that is under way when the fault ends may
 * have been spoiled by it. "Sold out" and other refusals of the sale count as success, because the
 * service read the ledger to say so; buys in another sale do not count. If the next fault comes
 * before the time is up, a heal is judged only if a buy succeeded. A heal with enough time after it
 * but no buy leaves the guarantee unchecked.
 *
 * After the last heal every target is judged by itself: a target that is asked again and again once
 * the time is up, and never sells, is stuck, whatever the others sell.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_AGAIN = 20 }; /* so many refusals in a row are no chance */

typedef struct lt_window {
    const lt_turn *heal;
    int64_t end_us;  /* the next fault begins; NEVER */
    int64_t good_us; /* the first success ended; NEVER */
    bool tried;      /* a buy began early enough */
} lt_window;

static int by_time(const void *left, const void *right)
{
    const lt_turn *a = *(const lt_turn *const *)left, *b = *(const lt_turn *const *)right;
    return either(compare(a->at_us, b->at_us), compare(a->line, b->line));
}

/* The periods after the heals, in order; returns how many. */
static size_t find_windows(const lt_history *h, lt_window *windows)
{
    const lt_turn **turns = zeroed(h->turns_len, sizeof(*turns));
    size_t len = 0;
    for (size_t i = 0; i < h->turns_len; i++)
        turns[i] = &h->turns[i];
    qsort(turns, h->turns_len, sizeof(*turns), by_time);
    for (size_t i = 0; i < h->turns_len; i++) {
        if (turns[i]->heal)
            windows[len++] = (lt_window){.heal = turns[i], .end_us = NEVER, .good_us = NEVER};
        else if (len > 0 && windows[len - 1].end_us == NEVER)
            windows[len - 1].end_us = turns[i]->at_us;
    }
    free(turns);
    return len;
}

/* The last period that had begun by then; NULL. */
static lt_window *window_at(lt_window *windows, size_t len, int64_t us)
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

static bool succeeded(const lt_judging *j, const lt_ask *ask)
{
    static const char *const codes[] = {"sold_out",
                                        "limit_reached",
                                        "quantity_above_limit",
                                        "request_void",
                                        "too_late",
                                        "sale_closed",
                                        NULL};
    return ask->status == 201 || was_told(j, ask, 422, "request_reused") ||
           (ask->status == 409 && is_one_of(text_of(j, ask->code), codes));
}

static void note_asks(const lt_judging *j, lt_window *windows, size_t len, int64_t within_us)
{
    const lt_history *h = j->history;
    EACH(const lt_ask, ask, h->asks) {
        lt_window *window = window_at(windows, len, ask->from_us);
        if (!window || ask->answer == ANSWER_ELSEWHERE)
            continue;
        if (ask->from_us - window->heal->at_us < within_us)
            window->tried = true;
        if (succeeded(j, ask) && ask->to_us < window->good_us)
            window->good_us = ask->to_us;
    }
}

static bool is_cut_short(const lt_window *window, int64_t within_us)
{
    return window->end_us != NEVER && window->end_us - window->heal->at_us < within_us;
}

/* False: unknown. */
static bool judge(lt_judging *j, const lt_window *window, int64_t within_us)
{
    int64_t at = window->heal->at_us;
    if (window->good_us != NEVER && window->good_us - at <= within_us)
        return true;
    if (!window->tried || is_cut_short(window, within_us))
        return false;
    if (window->good_us == NEVER)
        violated(j, "no buy succeeded after the heal of line %" PRId64, window->heal->line);
    else
        violated(j,
                 "the first buy succeeded %" PRId64 " ms after the heal of line %" PRId64
                 ", not %" PRId64,
                 (window->good_us - at) / 1000, window->heal->line, within_us / 1000);
    return true;
}

/* What became of the buys at one target that began after the last heal. */
typedef struct lt_target {
    int64_t late; /* begun when the time was up */
    bool good;
} lt_target;

static void check_targets(lt_judging *j, const lt_window *last, int64_t within_us)
{
    const lt_history *h = j->history;
    lt_target *targets = zeroed(h->texts.len, sizeof(*targets));
    int64_t at = last->heal->at_us;
    for (size_t i = 0; last->end_us == NEVER && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        if (ask->from_us < at || ask->answer == ANSWER_ELSEWHERE)
            continue;
        targets[ask->target].late += ask->from_us - at >= within_us;
        targets[ask->target].good = targets[ask->target].good || succeeded(j, ask);
    }
    for (size_t i = 0; i < h->texts.len; i++) {
        if (targets[i].late >= ASKED_AGAIN && !targets[i].good)
            violated(j, "no buy succeeded at target %s after the heal of line %" PRId64,
                     text_of(j, (lt_text)i), last->heal->line);
    }
    free(targets);
}

void check_heals(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t within_us = j->options.i7_us;
    lt_window *windows = zeroed(h->turns_len, sizeof(*windows));
    size_t len = find_windows(h, windows), judged = 0, open = 0;
    note_asks(j, windows, len, within_us);
    for (size_t i = 0; j->whole && i < len; i++) {
        bool said = judge(j, &windows[i], within_us);
        judged += said;
        open += !said && !is_cut_short(&windows[i], within_us);
    }
    if (j->whole && len > 0 && windows[len - 1].good_us != NEVER)
        check_targets(j, &windows[len - 1], within_us);
    free(windows);
    settle(j,
           h->turns_len == 0         ? STATE_NOTHING
           : judged > 0 && open == 0 ? STATE_OK
                                     : STATE_UNCHECKED,
           len == 0 ? "no fault has healed" : "nobody bought for long enough after a heal");
    const lt_finding *finding = &j->judgement->findings[j->row];
    int64_t *stuck = &j->judgement->figures.stuck;
    *stuck = finding->state == STATE_UNCHECKED ? JUDGE_UNKNOWN : finding->count;
}

/* ---- what is left ---------------------------------------------------------------------------- */

void check_ends(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t *stuck = &j->judgement->figures.stuck;
    for (size_t i = 0; i < h->asks_len; i++) {
        if (h->asks[i].to_us == NEVER)
            violated(j, "an attempt of %s never ended (line %" PRId64 ")",
                     text_of(j, h->asks[i].request_name), h->asks[i].line);
    }
    int64_t count = j->judgement->findings[j->row].count;
    if (count > 0)
        *stuck = count + (*stuck == JUDGE_UNKNOWN ? 0 : *stuck);
    settle(j, STATE_OK, "");
}

/* False: not known. */
static bool check_one(lt_judging *j, const char *what, int64_t count)
{
    if (count > 0)
        violated(j, "%" PRId64 " %s are left", count, what);
    return count != UNKNOWN;
}

void check_left(lt_judging *j)
{
    const lt_history *h = j->history;
    bool all = true;
    EACH(const lt_left, left, h->lefts) {
        all &= check_one(j, "locks", left->locks);
        all &= check_one(j, "waiters", left->waiters);
        all &= check_one(j, "threads", left->threads);
        all &= check_one(j, "descriptors", left->descriptors);
    }
    settle(j,
           h->lefts_len == 0 ? STATE_NOTHING
           : all             ? STATE_OK
                             : STATE_UNCHECKED,
           "not all of what could be left was counted");
}
