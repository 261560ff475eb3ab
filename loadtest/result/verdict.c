/* Copies the judge's figures, guarantees and reasons into the result. */
#include "loadtest/result/verdict.h"

#include "loadtest/base/number.h"
#include "loadtest/result/redis_check.h"

static void add_findings(lt_result *result, const lt_plan *plan, const lt_judgement *judgement,
                         bool of_old_sale)
{
    for (int i = 0; i < guarantee_count && result->invariant_count < INVARIANTS_MAX; i++) {
        const lt_finding *finding = &judgement->findings[i];
        if (of_old_sale && finding->state != STATE_VIOLATED)
            continue;
        lt_invariant *invariant = &result->invariants[result->invariant_count++];
        *invariant =
            (lt_invariant){.guarantee = &guarantees[i],
                           .of_old_sale = of_old_sale,
                           .finding = *finding,
                           .ok = finding->state == STATE_OK || finding->state == STATE_NOTHING};
        redis_check(invariant, result, plan);
    }
}

static int64_t known(int64_t figure)
{
    return figure == JUDGE_UNKNOWN ? 0 : figure;
}

static void take_figures(lt_result *result, const lt_figures *figures)
{
    result->sold_units = known(figures->sold);
    result->oversold = known(figures->oversold);
    result->lost_updates = known(figures->lost_updates);
    result->undersold = known(figures->undersold);
    result->duplicates = known(figures->duplicates);
    result->reserved = figures->reserved;
    result->confirmed = figures->confirmed;
    result->cancelled = figures->cancelled;
    result->expired = figures->expired;
}

/* The judge's reasons replace the result's: they include its doubts, which are lines of the
 * history. */
static void take_reasons(lt_result *result, const lt_judgement *judgement)
{
    result->reason_count = 0;
    for (int i = 0; i < judgement->reason_count; i++)
        result_invalid(result, "%s", judgement->reasons[i]);
}

static void judge_old_sale(lt_result *result, const lt_plan *plan, const char *path)
{
    char err[256];
    lt_judgement *judgement = judge_file(path, NULL, err, sizeof(err));
    if (!judgement)
        return;
    /* Leftover units of this small sale mean nothing. */
    if (judgement->verdict >= VERDICT_BROKEN) {
        add_findings(result, plan, judgement, true);
        if (judgement->verdict > result->verdict)
            result->verdict = judgement->verdict;
    }
    judgement_free(judgement);
}

void verdict_reach(lt_result *result, const lt_plan *plan, const char *path, const char *old_path)
{
    char err[256] = "the history could not be written";
    lt_judgement *judgement = path ? judge_file(path, NULL, err, sizeof(err)) : NULL;
    result->sold = result_count(result, OUT_SOLD);
    result->verdict = VERDICT_INVALID;
    if (!judgement || !result->tally) {
        if (result->tally || result->reason_count == 0)
            result_invalid(result, "%s", err);
        judgement_free(judgement);
        return;
    }
    result->verdict = judgement->verdict;
    take_figures(result, &judgement->figures);
    take_reasons(result, judgement);
    add_findings(result, plan, judgement, false);
    judgement_free(judgement);
    if (old_path)
        judge_old_sale(result, plan, old_path);
}
