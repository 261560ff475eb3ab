/* judging.c - judges one history: collects what its lines say together, checks each guarantee,
 * and reaches the verdict. */
#include "loadtest/judge/judging.h"

#include "loadtest/base/number.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { I7_MARGIN_US = 1000000, FINAL_US = 30000000, FINAL_MARGIN_US = 20000000 };

#define REASONS (sizeof(((lt_judgement *)0)->reasons) / sizeof(((lt_judgement *)0)->reasons[0]))

const char *verdict_name(lt_verdict verdict)
{
    static const char *const names[] = {[VERDICT_SAFE] = "SAFE",
                                        [VERDICT_COUNTS_ONLY] = "COUNTS_ONLY",
                                        [VERDICT_UNDERSOLD] = "UNDERSOLD",
                                        [VERDICT_INVALID] = "INVALID",
                                        [VERDICT_BROKEN] = "BROKEN",
                                        [VERDICT_LOST] = "LOST",
                                        [VERDICT_DUPLICATED] = "DUPLICATED",
                                        [VERDICT_OVERSOLD] = "OVERSOLD"};
    return names[verdict];
}

bool verdict_is_broken(lt_verdict verdict)
{
    return verdict != VERDICT_SAFE && verdict != VERDICT_COUNTS_ONLY && verdict != VERDICT_INVALID;
}

const char *state_name(lt_state state)
{
    static const char *const names[] = {[STATE_UNCHECKED] = "unchecked",
                                        [STATE_OK] = "ok",
                                        [STATE_NOTHING] = "nothing",
                                        [STATE_VIOLATED] = "violated"};
    return names[state];
}

/* ---- findings -------------------------------------------------------------------------------- */

void violated(lt_judging *j, const char *format, ...)
{
    lt_finding *finding = &j->judgement->findings[j->row];
    finding->state = STATE_VIOLATED;
    if (finding->count++ > 0)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(finding->first, sizeof(finding->first), format, args);
    va_end(args);
    text_make_printable(finding->first);
}

void settle(lt_judging *j, lt_state state, const char *why)
{
    lt_finding *finding = &j->judgement->findings[j->row];
    if (finding->state == STATE_VIOLATED)
        return;
    if (!j->whole) {
        state = STATE_UNCHECKED;
        why = j->history->cut;
    }
    finding->state = state;
    snprintf(finding->first, sizeof(finding->first), "%s", state == STATE_UNCHECKED ? why : "");
    text_make_printable(finding->first);
}

void settle_by_ledger(lt_judging *j, lt_state state)
{
    if (j->ledger)
        settle(j, state, "");
    else
        settle(j, j->counts_only ? STATE_NOTHING : STATE_UNCHECKED, j->no_ledger);
}

void settle_reserving(lt_judging *j, const char *why)
{
    if (!is_reserving(j))
        settle(j, STATE_NOTHING, "");
    else if (why)
        settle(j, STATE_UNCHECKED, why);
    else
        settle_by_ledger(j, STATE_OK);
}

static void add_reason(lt_judgement *judgement, const char *name, const char *why)
{
    char reason[sizeof(judgement->reasons[0])];
    size_t used = 0;
    if (judgement->reason_count == REASONS)
        return;
    for (int i = 0; i < judgement->reason_count; i++) {
        const char *said = strstr(judgement->reasons[i], why);
        if (said && strcmp(said, why) == 0)
            return;
    }
    if (name)
        used = (size_t)snprintf(reason, sizeof(reason), "%s: ", name);
    snprintf(reason + used, sizeof(reason) - used, "%s", why);
    text_make_printable(reason);
    memcpy(judgement->reasons[judgement->reason_count++], reason, sizeof(reason));
}

/* ---- what there is --------------------------------------------------------------------------- */

/* The ledger is the first audit that was read to its end. */
static void find_books(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_audit_line *good = NULL, *none = NULL, *bad = NULL;
    j->rest_us = NEVER;
    EACH(const lt_audit_line, audit, h->audits) {
        bool is_none = audit->status == 404 || audit->status == 405;
        const lt_audit_line **kind = audit->status == 200 ? &good : is_none ? &none : &bad;
        if (!*kind || audit->n < (*kind)->n)
            *kind = audit;
        if (audit->from_us < j->rest_us)
            j->rest_us = audit->from_us;
    }
    j->books = good ? good->n : 1;
    j->ledger = good;
    j->counts_only = !good && !bad && none && !is_reserving(j);
    if (bad && !good)
        snprintf(j->no_ledger, sizeof(j->no_ledger),
                 "the ledger could not be read: status %lld, %s", (long long)bad->status,
                 text_of(j, bad->why));
    else
        snprintf(j->no_ledger, sizeof(j->no_ledger), "the orders are not known");
}

/* Without an audit, the stock that was read from Redis stands for one. */
static bool rests_are_all(const lt_history *h)
{
    return h->rests_len == history_segments(h) || (h->rests_len == 1 && h->rests[0].segment < 0);
}

/* An entry without a quantity is not a whole entry. */
static void check_entries(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; j->ledger && i < h->orders_len; i++) {
        const lt_order *order = &h->orders[i];
        bool stateless = is_reserving(j) && !text_told(order->told.state);
        if (known(order->told.quantity) && text_told(order->told.user) && !stateless)
            continue;
        j->ledger = false;
        snprintf(j->no_ledger, sizeof(j->no_ledger), "the ledger's entry for %.64s has no %s",
                 text_of(j, order->told.request), stateless ? "state" : "user, or no quantity");
    }
}

/* A clock may have moved, and something may have failed over, unless the history excludes it. */
static void find_calm(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t last_us = 0;
    j->fault_us = NEVER;
    j->steady = h->sale.failovers != 1;
    EACH(const lt_turn, turn, h->turns) {
        bool moves = known(turn->clocks) ? turn->clocks == 1 : h->sale.failovers != 0;
        j->steady = j->steady && (turn->heal || !moves);
        if (!turn->heal && turn->at_us < j->fault_us)
            j->fault_us = turn->at_us;
        if (turn->heal && turn->at_us > j->healed_us)
            j->healed_us = turn->at_us;
        last_us = !turn->heal && turn->at_us > last_us ? turn->at_us : last_us;
    }
    if (last_us > j->healed_us)
        j->healed_us = NEVER;
    j->calm = j->steady && (h->turns_len == 0 || h->sale.failovers == 0);
}

static void look_around(lt_judging *j)
{
    lt_history *h = j->history;
    j->whole = h->cut[0] == '\0';
    find_calm(j);
    find_books(j);
    if (h->audits_len == 0)
        j->ledger = rests_are_all(h);
    check_entries(j);
    j->ledger = j->ledger && j->whole;
}

/* ---- judging --------------------------------------------------------------------------------- */

static lt_verdict reach_verdict(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_judgement *judgement = j->judgement;
    lt_verdict worst = j->counts_only ? VERDICT_COUNTS_ONLY : VERDICT_SAFE;
    for (size_t i = 0; i < h->doubts_len; i++)
        add_reason(judgement, NULL, text_of(j, h->doubts[i].why));
    for (int i = 0; i < guarantee_count; i++) {
        const lt_finding *finding = &judgement->findings[i];
        if (finding->state == STATE_UNCHECKED)
            add_reason(judgement, guarantees[i].name, finding->first);
        if (finding->state == STATE_VIOLATED && guarantees[i].verdict > worst)
            worst = guarantees[i].verdict;
    }
    return judgement->reason_count > 0 && worst < VERDICT_INVALID ? VERDICT_INVALID : worst;
}

static void judge(lt_judging *j)
{
    const lt_sale_line *sale = &j->history->sale;
    look_around(j);
    requests_collect(j);
    count_figures(j);
    for (j->row = 0; j->row < guarantee_count; j->row++)
        guarantees[j->row].check(j);
    requests_release(j);
    lt_judgement *judgement = j->judgement;
    judgement->verdict = reach_verdict(j);
    judgement->stock = sale->stock;
    snprintf(judgement->strategy, sizeof(judgement->strategy), "%s", text_of(j, sale->strategy));
    snprintf(judgement->durability, sizeof(judgement->durability), "%s",
             text_of(j, sale->durability));
    text_make_printable(judgement->strategy);
    text_make_printable(judgement->durability);
}

lt_judgement *judge_history(lt_history *history, const lt_judge_options *options)
{
    lt_judging j = {.history = history, .judgement = zeroed(1, sizeof(lt_judgement))};
    if (options)
        j.options = *options;
    if (j.options.i7_us == 0)
        j.options.i7_us = history->sale.lease_us + I7_MARGIN_US;
    if (j.options.final_us == 0)
        j.options.final_us = later(FINAL_US, history->sale.wait_us + FINAL_MARGIN_US);
    judge(&j);
    return j.judgement;
}

lt_judgement *judge_file(const char *path, const lt_judge_options *options, char *err,
                         size_t err_len)
{
    lt_history history;
    bool read = history_read(&history, path, err, err_len);
    lt_judgement *judgement = read ? judge_history(&history, options) : NULL;
    history_release(&history);
    return judgement;
}

void judgement_free(lt_judgement *judgement)
{
    free(judgement);
}
