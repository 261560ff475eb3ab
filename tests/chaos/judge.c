/* judge.c - asks buycheck, and puts its answer beside what the cell knows. */
#include "tests/chaos/judge.h"

#include <stdio.h>

#include "tests/chaos/faults/fault.h"

enum { JUDGED_MS = 60000, UNKNOWN = -1 };

/* buycheck's answer as JSON; NULL when it could not read the history. */
static cJSON *ask_buycheck(const char *history)
{
    char program[512];
    const char *argv[] = {fx_build_path("tests/buycheck", program, sizeof(program)), "--json",
                          history, NULL};
    fx_process *process = fx_spawn(argv, true);
    int code = fx_process_wait(process, JUDGED_MS);
    bool judged = code == 0 || code == 1 || code == 3; /* held, violated, not all checked */
    cJSON *answer = judged ? cJSON_Parse(fx_process_stdout(process)) : NULL;
    if (!answer)
        fprintf(stderr, "buycheck %s: exit code %d: %s\n", history, code,
                fx_process_stderr(process));
    fx_process_free(process);
    return answer;
}

static int count_states(const cJSON *answer, const char *state)
{
    int count = 0;
    const cJSON *invariant;
    cJSON_ArrayForEach(invariant, cJSON_GetObjectItemCaseSensitive(answer, "invariants"))
    {
        const cJSON *has = cJSON_GetObjectItemCaseSensitive(invariant, "state");
        count += cJSON_IsString(has) && strcmp(has->valuestring, state) == 0;
    }
    return count;
}

static bool is_violated(const cJSON *answer, const char *wanted)
{
    const cJSON *invariant;
    cJSON_ArrayForEach(invariant, cJSON_GetObjectItemCaseSensitive(answer, "invariants"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(invariant, "name");
        const cJSON *state = cJSON_GetObjectItemCaseSensitive(invariant, "state");
        if (cJSON_IsString(name) && strcmp(name->valuestring, wanted) == 0)
            return cJSON_IsString(state) && strcmp(state->valuestring, "violated") == 0;
    }
    return false;
}

/* UNKNOWN: buycheck could not say it. */
static long long figure_of(const cJSON *answer, const char *name)
{
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(answer, "figures");
    const cJSON *figure = cJSON_GetObjectItemCaseSensitive(figures, name);
    return cJSON_IsNumber(figure) ? (long long)figure->valuedouble : UNKNOWN;
}

/* Orders beyond the stock, or beyond one a request: losing orders does not excuse that. What was
 * lost counts as oversold, too, once its units are sold again. */
static bool sold_too_much(const cJSON *answer)
{
    long long lost = figure_of(answer, "acked_lost");
    return (lost != UNKNOWN && figure_of(answer, "oversold") > lost) ||
           figure_of(answer, "duplicates") > 0;
}

static bool has_landed(const cell *c)
{
    return c->landed > 0 && !c->missed;
}

/* Of a row whose durability does not cover the fault. What it lost has to be known. */
static const char *verdict_of_uncovered(const cell *c, const cJSON *answer)
{
    if (row_is_guarded(&c->row) && sold_too_much(answer))
        return "BROKEN";
    return has_landed(c) && figure_of(answer, "acked_lost") != UNKNOWN ? "NOT_COVERED"
                                                                       : "INCONCLUSIVE";
}

/* What stays true however the cell ended: what buyers were told, and what was seen meanwhile. */
static bool was_broken_before_it_failed(const cJSON *answer)
{
    return figure_of(answer, "oversold") > 0 || is_violated(answer, "I2") ||
           is_violated(answer, "I3") || is_violated(answer, "I6");
}

static const char *verdict_of(const cell *c, const cJSON *answer, int failed)
{
    if (c->skipped)
        return "SKIPPED";
    bool covered = (c->fault->covered & c->row.durability) != 0;
    if (!answer || (failed && !covered))
        return "INCONCLUSIVE";
    if (failed)
        return was_broken_before_it_failed(answer) ? "BROKEN" : "INCONCLUSIVE";
    if (!covered)
        return verdict_of_uncovered(c, answer);
    if (count_states(answer, "violated") > 0)
        return "BROKEN";
    return has_landed(c) && count_states(answer, "unchecked") == 0 ? "HELD" : "INCONCLUSIVE";
}

static const char *why(const cell *c, const cJSON *answer, int failed)
{
    if (c->skipped)
        return c->note;
    if (failed)
        return "the cell could not be run to its end";
    if (!answer)
        return "buycheck could not read the history";
    bool covered = (c->fault->covered & c->row.durability) != 0;
    if (!covered && row_is_guarded(&c->row) && sold_too_much(answer))
        return "it has orders that no loss explains";
    if (!has_landed(c))
        return c->landed ? "a part of the fault did not land" : "the fault did not land";
    if (!covered) {
        if (figure_of(answer, "acked_lost") == UNKNOWN)
            return "nobody knows what was lost";
        return c->fault->cover ? c->fault->cover : "";
    }
    return count_states(answer, "unchecked") > 0 ? "not all of it could be checked" : "";
}

/* All figures but `landed`, which the cell knows itself. */
static void copy_figures(cJSON *to, const cJSON *from)
{
    const cJSON *figure;
    cJSON_ArrayForEach(figure, from)
    {
        if (strcmp(figure->string, "landed") != 0)
            cJSON_AddItemToObject(to, figure->string, cJSON_Duplicate(figure, true));
    }
}

cJSON *judge_cell(const cell *c, const char *history, int failed)
{
    cJSON *answer = c->skipped ? NULL : ask_buycheck(history);
    cJSON *cell_json = cJSON_CreateObject();
    cJSON_AddStringToObject(cell_json, "row", c->row.name);
    cJSON_AddStringToObject(cell_json, "strategy", c->row.strategy);
    cJSON_AddStringToObject(cell_json, "durability", durability_word(c->row.durability));
    cJSON_AddStringToObject(cell_json, "fault", c->fault->name);
    cJSON_AddNumberToObject(cell_json, "seed", (double)c->seed);
    cJSON_AddNumberToObject(cell_json, "landed", (double)c->landed);
    cJSON_AddStringToObject(cell_json, "counts", c->fault->counts);
    cJSON_AddStringToObject(cell_json, "verdict", verdict_of(c, answer, failed));
    cJSON_AddStringToObject(cell_json, "why", why(c, answer, failed));
    cJSON_AddStringToObject(cell_json, "note", c->note);
    copy_figures(cell_json, cJSON_GetObjectItemCaseSensitive(answer, "figures"));
    cJSON_AddItemToObject(cell_json, "invariants",
                          cJSON_DetachItemFromObjectCaseSensitive(answer, "invariants"));
    cJSON_Delete(answer);
    return cell_json;
}
