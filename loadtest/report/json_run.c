/*
 * One run as JSON: the summary that every sample has, and the detail that charts are drawn from.
 */
#include "loadtest/report/json.h"

#include <math.h>

#define CURVE_POINTS 96
#define USER_POINTS  100

static void add_count(cJSON *json, const char *name, int64_t value)
{
    cJSON_AddNumberToObject(json, name, (double)value);
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void add_latency(cJSON *json, const char *name, lt_latency latency)
{
    cJSON *object = cJSON_AddObjectToObject(json, name);
    bool any = latency.count > 0;
    add_count(object, "n", (int64_t)latency.count);
    json_add_figure(object, "mean", any ? latency.mean : NAN);
    for (int i = 0; i < P_COUNT; i++)
        json_add_figure(object, latency_names[i], latency.at[i]);
    json_add_figure(object, "min", any ? latency.min : NAN);
    json_add_figure(object, "max", any ? latency.max : NAN);
}

static void add_latencies(cJSON *json, const lt_result *result)
{
    add_latency(json, "latency_ms", result_latency(result, OUT_SOLD));
    cJSON *by_outcome = cJSON_AddObjectToObject(json, "latency_by_outcome");
    for (int i = 0; i < OUT_COUNT; i++) {
        lt_latency latency = result_latency(result, (lt_outcome)i);
        if (latency.count > 0)
            add_latency(by_outcome, outcome_name((lt_outcome)i), latency);
    }
    add_latency(by_outcome, "all", latency_of(result->all_due));
    add_latency(json, "latency_from_send_ms", latency_of(result->all_send));
}

static void add_business(cJSON *json, const lt_result *result)
{
    add_count(json, "sold", result->sold);
    add_count(json, "sold_out", result_count(result, OUT_SOLD_OUT));
    add_count(json, "limit_reached", result_count(result, OUT_LIMIT));
    add_count(json, "busy", result_count(result, OUT_BUSY));
    add_count(json, "errors", result_errors(result));
    add_count(json, "unavailable", result_count(result, OUT_UNAVAILABLE));
    add_count(json, "unknown", result_count(result, OUT_UNKNOWN));
    add_count(json, "oversold", result->oversold);
    add_count(json, "undersold", result->undersold);
    add_count(json, "lost_updates", result->lost_updates);
    add_count(json, "duplicates", result->duplicates);
    json_add_figure(json, "throughput_rps", result_throughput(result));
    json_add_figure(json, "goodput_sps", result_goodput(result));
    json_add_figure(json, "sellout_s", result->sellout_s);
    json_add_figure(json, "elapsed_s", result->elapsed_s);
    json_add_figure(json, "fairness", result->fairness.ratio);
    json_add_figure(json, "fairness_jain", result->fairness.jain);
    add_count(json, "users_never_served", result->fairness.never_served);
    add_count(json, "users_starved", result->fairness.starved);
}

static void add_accounts(cJSON *json, const lt_tally *tally)
{
    add_count(json, "issued", (int64_t)counter_get(&tally->issued));
    add_count(json, "completed", (int64_t)counter_get(&tally->completed));
    add_count(json, "failed", (int64_t)counter_get(&tally->failed));
    add_count(json, "unfinished", (int64_t)counter_get(&tally->unfinished));
    add_count(json, "retries", (int64_t)counter_get(&tally->retries));
    add_count(json, "replays", (int64_t)counter_get(&tally->replays));
    add_count(json, "waited_for_connection", (int64_t)counter_get(&tally->waited));
    add_count(json, "unsent", (int64_t)counter_get(&tally->unsent));
    add_count(json, "connections", (int64_t)counter_get(&tally->connects));
}

static void add_generator(cJSON *json, const lt_result *result)
{
    cJSON *object = cJSON_AddObjectToObject(json, "generator");
    lt_latency lag = latency_of(tally_histogram(&result->tally->lag));
    double issued = (double)counter_get(&result->tally->issued);
    json_add_figure(object, "cpu_s", result->health.cpu_s);
    cJSON_AddNumberToObject(object, "cores", result->health.cores);
    json_add_figure(object, "share", result->health.share);
    json_add_figure(object, "cpu_us_per_request",
                    issued > 0.0 ? result->health.cpu_s * 1e6 / issued : NAN);
    json_add_figure(object, "lag_p99_ms", lag.at[P99]);
    json_add_figure(object, "lag_max_ms", lag.count > 0 ? lag.max : NAN);
}

cJSON *json_summary(const lt_row *row, const lt_result *result, const lt_plan *plan)
{
    cJSON *json = cJSON_CreateObject();
    bool ran = result->tally;
    cJSON_AddStringToObject(json, "strategy", row->spec.label);
    cJSON_AddStringToObject(json, "verdict", verdict_name(result->verdict));
    cJSON_AddBoolToObject(json, "expect_unsafe", row->expect_unsafe);
    cJSON_AddBoolToObject(json, "partial", result->partial);
    cJSON_AddStringToObject(json, "sale", result->sale);
    add_count(json, "stock", plan->stock);
    add_count(json, "requests", ran ? (int64_t)counter_get(&result->tally->issued) : 0);
    add_count(json, "users", plan->users);
    add_business(json, result);
    add_latencies(json, result);
    if (ran) {
        add_accounts(json, result->tally);
        add_generator(json, result);
    }
    cJSON *lock_wait = cJSON_AddObjectToObject(json, "lock_wait_ms");
    json_add_figure(lock_wait, "p50", result->lock_wait_p50_ms);
    json_add_figure(lock_wait, "p99", result->lock_wait_p99_ms);
    json_add_figure(json, "redis_cmds_per_sale", result->redis_per_sale);
    cJSON_AddStringToObject(json, "stopped_by", stop_reason_name(result->stop_reason));
    cJSON *reasons = cJSON_AddArrayToObject(json, "invalid_because");
    for (int i = 0; i < result->reason_count; i++)
        cJSON_AddItemToArray(reasons, cJSON_CreateString(result->reasons[i]));
    return json;
}

/* ---- the detail ------------------------------------------------------------------------------ */

static void add_invariants(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "invariants");
    for (int i = 0; i < result->invariant_count; i++) {
        const lt_invariant *invariant = &result->invariants[i];
        cJSON *item = cJSON_CreateObject();
        char name[96];
        snprintf(name, sizeof(name), "%s%s%s", invariant->id, invariant->id[0] ? " " : "",
                 invariant->name);
        cJSON_AddStringToObject(item, "name", name);
        add_count(item, "expected", invariant->expected);
        cJSON_AddStringToObject(item, "relation",
                                invariant->at_least  ? ">="
                                : invariant->at_most ? "<="
                                                     : "=");
        add_count(item, "observed", invariant->observed);
        cJSON_AddBoolToObject(item, "ok", invariant->ok);
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
        add_count(item, "count", (int64_t)entry->count);
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
        add_count(item, "answers", (int64_t)latency.count);
        add_count(item, "sold", (int64_t)counter_get(&target->outcomes[OUT_SOLD]));
        add_count(item, "failed", (int64_t)counter_get(&target->failed));
        json_add_figure(item, "p50_ms", latency.at[P50]);
        json_add_figure(item, "p99_ms", latency.at[P99]);
        cJSON_AddItemToArray(list, item);
    }
}

static void add_stock_curve(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "stock_curve");
    int step = result->sample_count / 500 + 1;
    for (int i = 0; i < result->sample_count; i += step) {
        const lt_stock_sample *sample = &result->samples[i];
        cJSON *item = cJSON_CreateObject();
        json_add_figure(item, "t_s", sample->at_s);
        add_count(item, "remaining", sample->remaining);
        add_count(item, "units", sample->units);
        cJSON_AddItemToArray(list, item);
    }
}

static void add_timeline(cJSON *json, const lt_result *result)
{
    cJSON *timeline = cJSON_AddObjectToObject(json, "timeline");
    json_add_figure(timeline, "width_s", result->bin_width_s);
    cJSON *list = cJSON_AddArrayToObject(timeline, "bins");
    for (int i = 0; result->bins && i < result->bin_count; i++) {
        const lt_timeline_bin *bin = &result->bins[i];
        cJSON *item = cJSON_CreateObject();
        json_add_figure(item, "t_s", bin->start_s);
        for (int j = 0; j < OUT_COUNT; j++) {
            if (bin->outcomes[j] > 0)
                add_count(item, outcome_name((lt_outcome)j), (int64_t)bin->outcomes[j]);
        }
        json_add_figure(item, "p50_ms", bin->p50_ms);
        json_add_figure(item, "p99_ms", bin->p99_ms);
        cJSON_AddItemToArray(list, item);
    }
}

/*
 * Latency at quantiles that get denser towards 1 (half the rest at every fourth step), up to where
 * samples end.
 */
static void add_curve(cJSON *json, const char *name, const lt_histogram *h)
{
    cJSON *list = cJSON_AddArrayToObject(json, name);
    uint64_t count = !h ? 0 : histogram_count(h);
    for (int i = 0; i <= CURVE_POINTS && count > 0; i++) {
        double quantile = 1.0 - pow(0.5, i / 4.0);
        if (!latency_enough(count, quantile))
            break;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "q", quantile);
        json_add_figure(item, "ms", (double)histogram_at(h, quantile) / 1000.0);
        cJSON_AddItemToArray(list, item);
    }
}

/* Sales per user from the fewest to the most, at most a hundred points. */
static void add_users(cJSON *json, const lt_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(json, "sales_per_user");
    int users = !result->user_sales ? 0 : result->fairness.users;
    int points = users < USER_POINTS ? users : USER_POINTS;
    for (int i = 0; i < points; i++) {
        int at = points == 1 ? 0 : (int)((int64_t)i * (users - 1) / (points - 1));
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)result->user_sales[at]));
    }
}

void json_add_detail(cJSON *json, const lt_result *result, const lt_plan *plan)
{
    add_invariants(json, result);
    if (!result->tally)
        return;
    add_errors(json, result, plan);
    add_targets(json, result, plan);
    add_stock_curve(json, result);
    add_timeline(json, result);
    add_curve(json, "percentiles", tally_histogram(&result->tally->from_due[OUT_SOLD]));
    add_curve(json, "percentiles_all", result->all_due);
    add_users(json, result);
}
