/* judge.c - asks the judge of each history, and puts the answers beside what the cell knows. */
#include "tests/chaos/judge.h"

#include "tests/chaos/faults/fault.h"
#include "tests/support/sale/verdict.h"

/* Orders beyond the stock, or beyond one a request: losing orders does not excuse that. What was
 * lost counts as oversold, too, once its units are sold again; and who bought on both sides of a
 * split brain is told of both orders, of which one is lost. */
static bool sold_too_much(const cell *c, const cJSON *answer)
{
    long long lost = verdict_figure(answer, "acked_lost");
    long long excused = c->failed_over ? verdict_figure(answer, "retold") : 0;
    return (lost != VERDICT_UNKNOWN && verdict_figure(answer, "oversold") > lost) ||
           verdict_figure(answer, "duplicates") > excused;
}

static bool has_landed(const cell *c)
{
    return c->landed > 0 && !c->missed;
}

/* Orders of sale k may be lost behind a failover, but not without a word. */
static bool lost_silently(const cell *c, int k, const cJSON *answer)
{
    return c->failed_over && verdict_violations(answer, "acknowledged") > c->told_lost[k];
}

/* Of a row whose durability does not cover the fault. What it lost has to be known. */
static const char *verdict_of_uncovered(const cell *c, int k, const cJSON *answer)
{
    if ((row_is_guarded(&c->row) && sold_too_much(c, answer)) || lost_silently(c, k, answer))
        return "BROKEN";
    return has_landed(c) && verdict_figure(answer, "acked_lost") != VERDICT_UNKNOWN
               ? "NOT_COVERED"
               : "INCONCLUSIVE";
}

/* What stays true however the cell ended: what buyers were told, what was seen meanwhile, and what
 * the ledger has; the judge holds nothing to a ledger that was not read to its end. But doubts that
 * were not resolved may be so only because the cell failed. */
static bool was_broken_before_it_failed(const cJSON *answer)
{
    static const char *const lasting[] = {"I2", "I3", "I4", "I5", "I6"};
    int broken = verdict_violations(answer, "limit") > 0;
    for (size_t i = 0; i < COUNT(lasting); i++)
        broken += verdict_count(answer, lasting[i], "violated");
    broken -= verdict_violations(answer, "resolved") > 0;
    return broken > 0 || verdict_figure(answer, "oversold") > 0;
}

/* From the best to the worst. */
static const char *const verdicts[] = {"SKIPPED", "HELD", "NOT_COVERED", "INCONCLUSIVE", "BROKEN"};

static int rank_of(const char *verdict)
{
    int rank = 0;
    while (strcmp(verdicts[rank], verdict) != 0)
        rank++;
    return rank;
}

static bool is_covered(const cell *c)
{
    return (c->fault->covered & c->row.durability) != 0;
}

/* Of one history; `answer` NULL: it could not be read. */
static const char *verdict_of(const cell *c, int k, const cJSON *answer, int failed)
{
    if (!answer || (failed && !is_covered(c)))
        return "INCONCLUSIVE";
    if (failed)
        return was_broken_before_it_failed(answer) ? "BROKEN" : "INCONCLUSIVE";
    if (!is_covered(c))
        return verdict_of_uncovered(c, k, answer);
    if (verdict_count(answer, NULL, "violated") > 0)
        return "BROKEN";
    return has_landed(c) && verdict_count(answer, NULL, "unchecked") == 0 ? "HELD" : "INCONCLUSIVE";
}

/* Of the history that the verdict is of. */
static const char *why(const cell *c, int k, const cJSON *answer, int failed)
{
    if (failed)
        return "the cell could not be run to its end";
    if (!answer)
        return "the judge could not read the history";
    if (!is_covered(c) && row_is_guarded(&c->row) && sold_too_much(c, answer))
        return "it has orders that no loss explains";
    if (!is_covered(c) && lost_silently(c, k, answer))
        return "orders were lost, and no instance says so of all of them";
    if (is_covered(c) && verdict_count(answer, NULL, "violated") > 0)
        return "";
    if (!has_landed(c))
        return c->landed ? "a part of the fault did not land" : "the fault did not land";
    if (!is_covered(c)) {
        if (verdict_figure(answer, "acked_lost") == VERDICT_UNKNOWN)
            return "nobody knows what was lost";
        return c->fault->cover ? c->fault->cover : "";
    }
    return verdict_count(answer, NULL, "unchecked") > 0 ? "not all of it could be checked" : "";
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Adds all figures but `landed`, which the cell knows itself. What one history does not tell (null)
 * the sum does not tell either. */
static void add_figures(cJSON *to, const cJSON *from)
{
    const cJSON *figure;
    cJSON_ArrayForEach(figure, from) {
        cJSON *sum = cJSON_GetObjectItemCaseSensitive(to, figure->string);
        if (strcmp(figure->string, "landed") == 0)
            continue;
        if (!sum)
            cJSON_AddItemToObject(to, figure->string, cJSON_Duplicate(figure, true));
        else if (cJSON_IsNumber(sum) && cJSON_IsNumber(figure))
            cJSON_SetNumberValue(sum, sum->valuedouble + figure->valuedouble);
        else
            cJSON_ReplaceItemInObjectCaseSensitive(to, figure->string, cJSON_CreateNull());
    }
}

static int rank_of_state(const cJSON *guarantee)
{
    static const char *const states[] = {"violated", "unchecked", "ok"};
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(guarantee, "state");
    int rank = 0;
    while (rank < 3 && strcmp(states[rank], state->valuestring) != 0)
        rank++;
    return rank;
}

/* Of each guarantee the worst, of whichever history. */
static void merge_guarantees(cJSON *to, const cJSON *from)
{
    const cJSON *guarantee;
    int i = 0;
    cJSON_ArrayForEach(guarantee, from) {
        const cJSON *has = cJSON_GetArrayItem(to, i);
        if (!has)
            cJSON_AddItemToArray(to, cJSON_Duplicate(guarantee, true));
        else if (rank_of_state(guarantee) < rank_of_state(has))
            cJSON_ReplaceItemInArray(to, i, cJSON_Duplicate(guarantee, true));
        i++;
    }
}

/* What the cell itself has seen, and no history tells. */
static void add_seen(cJSON *guarantees, const char *name, const char *sentence, long long count,
                     const char *first)
{
    cJSON *seen = cJSON_CreateObject();
    cJSON_AddStringToObject(seen, "id", name);
    cJSON_AddStringToObject(seen, "name", name);
    cJSON_AddStringToObject(seen, "sentence", sentence);
    cJSON_AddStringToObject(seen, "state", count > 0 ? "violated" : "nothing");
    cJSON_AddNumberToObject(seen, "count", (double)count);
    cJSON_AddStringToObject(seen, "first", first);
    cJSON_AddItemToArray(guarantees, seen);
}

/* How soon it must sell again: as soon as on an idle machine, and on a busy one later by as much as
 * that is slower. 0: as soon as the judge says. */
static int recovery_ms(const cell *c)
{
    int recovery_ms = c->fault->recovery_ms > 0 ? c->fault->recovery_ms : c->lease_ms + 1000;
    return c->slowness > 1 ? (int)(recovery_ms * c->slowness) : c->fault->recovery_ms;
}

/* The verdict and why, figures and guarantees. */
static void judge_histories(const cell *c, int failed, cJSON *sum)
{
    const char *worst = "HELD", *reason = "";
    cJSON *guarantees = cJSON_CreateArray();
    for (int k = 0; k < c->history_count || k == 0; k++) {
        cJSON *answer = verdict_ask(c->histories[k], recovery_ms(c));
        const char *verdict = verdict_of(c, k, answer, failed);
        if (k == 0 || rank_of(verdict) > rank_of(worst)) {
            worst = verdict;
            reason = why(c, k, answer, failed);
        }
        add_figures(sum, cJSON_GetObjectItemCaseSensitive(answer, "figures"));
        merge_guarantees(guarantees, cJSON_GetObjectItemCaseSensitive(answer, "guarantees"));
        cJSON_Delete(answer);
    }
    if (c->got_through > 0 || c->died > 0) {
        worst = "BROKEN";
        reason = c->got_through > 0 ? c->first_through : c->first_dead;
    }
    add_seen(guarantees, "guard", "what comes again with something wrong is refused",
             c->got_through, c->first_through);
    add_seen(guarantees, "alive", "no instance ends but those that are told to", c->died,
             c->first_dead);
    cJSON_AddStringToObject(sum, "verdict", worst);
    cJSON_AddStringToObject(sum, "why", reason);
    cJSON_AddItemToObject(sum, "guarantees", guarantees);
}

cJSON *judge_cell(const cell *c, int failed)
{
    cJSON *sum = cJSON_CreateObject();
    cJSON_AddStringToObject(sum, "row", c->row.name);
    cJSON_AddStringToObject(sum, "strategy", c->row.strategy);
    cJSON_AddStringToObject(sum, "durability", durability_word(c->row.durability));
    cJSON_AddStringToObject(sum, "fault", c->fault->name);
    cJSON_AddNumberToObject(sum, "seed", (double)c->seed);
    cJSON_AddNumberToObject(sum, "landed", (double)c->landed);
    cJSON_AddStringToObject(sum, "counts", c->fault->counts);
    cJSON_AddNumberToObject(sum, "i7_us", c->fault->recovery_ms * 1000.0); /* of loadtest verify */
    cJSON_AddStringToObject(sum, "note", c->note);
    cJSON_AddNumberToObject(sum, "slowness", c->slowness);
    cJSON_AddNumberToObject(sum, "recovery_ms", recovery_ms(c));
    if (!c->skipped) {
        judge_histories(c, failed, sum);
    } else {
        cJSON_AddStringToObject(sum, "verdict", "SKIPPED");
        cJSON_AddStringToObject(sum, "why", c->note);
    }
    return sum;
}
