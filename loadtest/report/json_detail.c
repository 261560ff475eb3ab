/*
 * The members that charts need of a run and that explain its verdict: invariants, errors, targets,
 * curves. A run without figures has only its invariants.
 */
#include "loadtest/report/json_detail.h"

#include "loadtest/base/number.h"
#include "loadtest/report/json_figure.h"

#include <math.h>

#define USER_POINTS 100

static void add_invariants(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "invariants");
    for (int i = 0; i < result->invariant_count; i++) {
        const lt_invariant *invariant = &result->invariants[i];
        const lt_guarantee *guarantee = invariant->guarantee;
        cJSON *item = cJSON_CreateObject();
        char name[160];
        snprintf(name, sizeof(name), "%s%s%s%s", invariant->of_old_sale ? "old sale: " : "",
                 guarantee->id, guarantee->id[0] ? " " : "", guarantee->sentence);
        cJSON_AddStringToObject(item, "name", name);
        cJSON_AddStringToObject(item, "guarantee", guarantee->name);
        cJSON_AddStringToObject(item, "state", state_name(invariant->finding.state));
        add_count(item, "expected", 0);
        add_count(item, "observed", invariant->finding.count);
        cJSON_AddBoolToObject(item, "ok", invariant->ok);
        cJSON_AddStringToObject(item, "first", invariant->finding.first);
        cJSON_AddStringToObject(item, "verdict", verdict_name(guarantee->verdict));
        if (invariant->check[0] != '\0')
            cJSON_AddStringToObject(item, "check", invariant->check);
        cJSON_AddItemToArray(list, item);
    }
}

static void add_errors(cJSON *json, const lt_result *result, const lt_plan *plan)
{
    cJSON *list = cJSON_AddArrayToObject(json, "errors_by_kind");
    for (int i = 0; i < result->error_count; i++) {
        const lt_error_entry *entry = &result->errors[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "phase", error_phase_name(entry->phase));
        cJSON_AddStringToObject(item, "code", entry->code);
        cJSON_AddStringToObject(item, "target", plan->targets[entry->target]);
        add_count(item, "count", entry->count);
        cJSON_AddStringToObject(item, "hint", error_hint(entry));
        cJSON_AddItemToArray(list, item);
    }
}

static void add_targets(cJSON *json, const lt_result *result, const lt_plan *plan)
{
    cJSON *list = cJSON_AddArrayToObject(json, "targets");
    for (int i = 0; i < plan->target_count; i++) {
        const lt_target_tally *target = &result->tally->targets[i];
        lt_latency latency = latency_of(tally_histogram(&target->latency));
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "target", plan->targets[i]);
        add_count(item, "answers", target_answers(target));
        add_count(item, "sold", counter_get(&target->sold));
        add_count(item, "failed", counter_get(&target->failed));
        add_figure(item, "p50_ms", latency.at[P50]);
        add_figure(item, "p99_ms", latency.at[P99]);
        cJSON_AddItemToArray(list, item);
    }
}

static void add_stock_curve(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "stock_curve");
    int step = result->watch.count / 500 + 1;
    for (int i = 0; i < result->watch.count; i += step) {
        const lt_stock_sample *sample = &result->watch.samples[i];
        cJSON *item = cJSON_CreateObject();
        add_figure(item, "t_s", sample->at_s);
        add_count(item, "remaining", sample->remaining);
        add_count(item, "units", sample->units);
        if (result->reserved > 0)
            add_count(item, "reserved", sample->reserved);
        cJSON_AddItemToArray(list, item);
    }
}

static void add_timeline(cJSON *json, const lt_result *result)
{
    cJSON *timeline = cJSON_AddObjectToObject(json, "timeline");
    add_figure(timeline, "width_s", result->bin_width_s);
    cJSON *list = cJSON_AddArrayToObject(timeline, "bins");
    for (int i = 0; result->bins && i < result->bin_count; i++) {
        const lt_timeline_bin *bin = &result->bins[i];
        cJSON *item = cJSON_CreateObject();
        add_figure(item, "t_s", bin->start_s);
        for (int j = 0; j < SERIES_COUNT; j++) {
            if (bin->outcomes[j] > 0)
                add_count(item, series_name(j), bin->outcomes[j]);
        }
        add_figure(item, "p50_ms", bin->p50_ms);
        add_figure(item, "p99_ms", bin->p99_ms);
        cJSON_AddItemToArray(list, item);
    }
}

/* Latency at quantiles that get denser towards 1 (half the rest at every fourth step), up to where
 * samples end. */
static void add_curve(cJSON *json, const char *name, const lt_histogram *h)
{
    cJSON *list = cJSON_AddArrayToObject(json, name);
    int64_t count = !h ? 0 : histogram_count(h);
    double quantile = 0.0;
    for (int i = 1; latency_enough(count, quantile); i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "q", quantile);
        add_figure(item, "ms", (double)histogram_at(h, quantile) / 1000.0);
        cJSON_AddItemToArray(list, item);
        quantile = 1.0 - pow(0.5, i / 4.0);
    }
}

/* Sales per user from the fewest to the most, at most a hundred points. */
static void add_users(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "sales_per_user");
    int users = !result->user_sales ? 0 : result->fairness.users;
    int points = (int)number_smaller(users, USER_POINTS);
    for (int i = 0; i < points; i++) {
        int at = points == 1 ? 0 : (int)((int64_t)i * (users - 1) / (points - 1));
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)result->user_sales[at]));
    }
}

void json_add_detail(cJSON *json, const lt_result *books, const lt_result *shown,
                     const lt_plan *plan)
{
    add_invariants(json, books);
    if (!books->tally || !shown->tally)
        return;
    add_errors(json, books, plan);
    add_targets(json, shown, plan);
    add_stock_curve(json, books);
    add_timeline(json, shown);
    lt_histogram *headline = tally_headline(shown->tally);
    add_curve(json, "percentiles", headline);
    histogram_free(headline);
    add_curve(json, "percentiles_all", shown->all_due);
    add_users(json, shown);
}
