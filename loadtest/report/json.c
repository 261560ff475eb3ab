/*
 * The result file: where and under which load it was measured, then a row for each strategy. Every
 * run has a summary ("samples"); the one that stands for a row also the detail that charts need.
 */
#include "loadtest/report/report.h"

#include "loadtest/base/number.h"

#include <curl/curl.h>
#include <math.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define USER_POINTS 100

/* Adds a number with six significant digits (the others were not measured), or null for what is
 * none: NAN, or a division by nothing. */
static void add_figure(cJSON *json, const char *name, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        cJSON_AddNullToObject(json, name);
        return;
    }
    snprintf(text, sizeof(text), fabs(value) < 1e6 ? "%.6g" : "%.0f", value);
    cJSON_AddRawToObject(json, name, text);
}

static void add_count(cJSON *json, const char *name, int64_t value)
{
    cJSON_AddNumberToObject(json, name, (double)value);
}

/* ---- environment and load -------------------------------------------------------------------- */

static void add_environment(cJSON *json)
{
    struct utsname system;
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    cJSON *environment = cJSON_AddObjectToObject(json, "environment");
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    cJSON_AddStringToObject(environment, "date", date);
    cJSON_AddStringToObject(environment, "loadtest", FLASHSALE_VERSION);
    cJSON_AddStringToObject(environment, "libcurl", curl_version_info(CURLVERSION_NOW)->version);
    cJSON_AddNumberToObject(environment, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) != 0)
        return;
    cJSON_AddStringToObject(environment, "system", system.sysname);
    cJSON_AddStringToObject(environment, "kernel", system.release);
    cJSON_AddStringToObject(environment, "machine", system.machine);
}

static void add_load(cJSON *json, const lt_plan *plan)
{
    cJSON *load = cJSON_AddObjectToObject(json, "load");
    cJSON_AddStringToObject(load, "model", model_name(plan->model));
    cJSON_AddStringToObject(load, "preset", preset_name(plan->preset));
    cJSON_AddNumberToObject(load, "users", plan->users);
    cJSON_AddNumberToObject(load, "requests", (double)plan->requests);
    cJSON_AddNumberToObject(load, "stock", (double)plan->stock);
    cJSON_AddNumberToObject(load, "quantity", (double)plan->quantity);
    cJSON_AddNumberToObject(load, "think_ms", clock_ms(plan->think));
    cJSON_AddNumberToObject(load, "duration_s", clock_seconds(plan->duration));
    cJSON_AddBoolToObject(load, "until_sold_out", plan->until_sold_out);
    if (plan->model == MODEL_OPEN) {
        cJSON_AddNumberToObject(load, "rate_rps", plan->rate);
        cJSON_AddStringToObject(load, "arrivals", plan->poisson ? "poisson" : "constant");
    }
    cJSON_AddNumberToObject(load, "seed", (double)plan->seed);
    cJSON_AddNumberToObject(load, "timeout_ms", (double)plan->timeout_ms);
    cJSON_AddNumberToObject(load, "runs", plan->runs);
    cJSON_AddStringToObject(load, "item", plan->item);
    cJSON *targets = cJSON_AddArrayToObject(load, "targets");
    for (int i = 0; i < plan->target_count; i++)
        cJSON_AddItemToArray(targets, cJSON_CreateString(plan->targets[i]));
}

static void add_reference(cJSON *json)
{
    static const struct {
        const char *name;
        double average_ms, rps;
    } figures[] = {{"hand-made lock", 362, 246}, {"Redisson", 222, 384}};
    cJSON *reference = cJSON_AddObjectToObject(json, "reference");
    cJSON_AddStringToObject(reference, "note",
                            "the article's own figures, measured elsewhere, on another machine, "
                            "over a network: compare ratios only");
    cJSON *rows = cJSON_AddArrayToObject(reference, "rows");
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", figures[i].name);
        cJSON_AddNumberToObject(row, "average_ms", figures[i].average_ms);
        cJSON_AddNumberToObject(row, "throughput_rps", figures[i].rps);
        cJSON_AddItemToArray(rows, row);
    }
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void add_latency(cJSON *json, const char *name, lt_latency latency)
{
    cJSON *object = cJSON_AddObjectToObject(json, name);
    bool any = latency.count > 0;
    add_count(object, "n", latency.count);
    add_figure(object, "mean", any ? latency.mean : NAN);
    for (int i = 0; i < P_COUNT; i++)
        add_figure(object, percentile_names[i], latency.at[i]);
    add_figure(object, "min", any ? latency.min : NAN);
    add_figure(object, "max", any ? latency.max : NAN);
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
    const lt_histogram *from_send =
        !result->tally ? NULL : tally_histogram(&result->tally->from_send);
    add_latency(json, "latency_from_send_ms", latency_of(from_send));
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
    add_figure(json, "throughput_rps", result_throughput(result));
    add_figure(json, "goodput_sps", result_goodput(result));
    add_figure(json, "sellout_s", result->sellout_s);
    add_figure(json, "elapsed_s", result->elapsed_s);
    add_figure(json, "fairness", result->fairness.ratio);
    add_figure(json, "fairness_jain", result->fairness.jain);
    add_count(json, "users_asked", result->fairness.users);
    add_count(json, "users_never_asked", result->fairness.never_asked);
    add_count(json, "users_never_served", result->fairness.never_served);
    add_count(json, "users_starved", result->fairness.starved);
}

static void add_accounts(cJSON *json, const lt_tally *tally)
{
    add_count(json, "issued", counter_get(&tally->issued));
    add_count(json, "completed", counter_get(&tally->completed));
    add_count(json, "failed", counter_get(&tally->failed));
    add_count(json, "unfinished", counter_get(&tally->unfinished));
    add_count(json, "retries", counter_get(&tally->retries));
    add_count(json, "replays", counter_get(&tally->replays));
    add_count(json, "waited_for_connection", counter_get(&tally->waited));
    add_count(json, "unsent", counter_get(&tally->unsent));
    add_count(json, "connections", counter_get(&tally->connects));
}

static void add_generator(cJSON *json, const lt_result *result)
{
    cJSON *object = cJSON_AddObjectToObject(json, "generator");
    lt_latency lag = latency_of(tally_histogram(&result->tally->lag));
    double issued = (double)counter_get(&result->tally->issued);
    add_figure(object, "cpu_s", result->health.cpu_s);
    cJSON_AddNumberToObject(object, "cores", result->health.cores);
    add_figure(object, "share", result->health.share);
    add_figure(object, "cpu_us_per_request", result->health.cpu_s * 1e6 / issued);
    add_figure(object, "lag_p99_ms", lag.at[P99]);
    add_figure(object, "lag_max_ms", lag.count > 0 ? lag.max : NAN);
}

static cJSON *run_summary(const lt_row *row, const lt_result *result, const lt_plan *plan)
{
    cJSON *json = cJSON_CreateObject();
    bool ran = result->tally;
    cJSON_AddStringToObject(json, "strategy", row->spec->label);
    cJSON_AddStringToObject(json, "verdict", verdict_name(result->verdict));
    cJSON_AddBoolToObject(json, "expect_unsafe", row->spec->expect_unsafe);
    cJSON_AddBoolToObject(json, "partial", result->partial);
    cJSON_AddStringToObject(json, "sale", result->sale);
    add_count(json, "stock", plan->stock);
    add_count(json, "requests", ran ? counter_get(&result->tally->issued) : 0);
    add_count(json, "users", plan->users);
    add_business(json, result);
    add_latencies(json, result);
    if (ran) {
        add_accounts(json, result->tally);
        add_generator(json, result);
    }
    cJSON *lock_wait = cJSON_AddObjectToObject(json, "lock_wait_ms");
    add_figure(lock_wait, "p50", result->lock_wait_p50_ms);
    add_figure(lock_wait, "p99", result->lock_wait_p99_ms);
    add_figure(json, "redis_cmds_per_sale", result->redis_per_sale);
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
        cJSON_AddStringToObject(item, "relation", invariant->relation);
        add_count(item, "observed", invariant->observed);
        cJSON_AddBoolToObject(item, "ok", invariant->ok);
        cJSON_AddStringToObject(item, "verdict", verdict_name(invariant->verdict));
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
        add_count(item, "answers", latency.count);
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
        for (int j = 0; j < OUT_COUNT; j++) {
            if (bin->outcomes[j] > 0)
                add_count(item, outcome_name((lt_outcome)j), bin->outcomes[j]);
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

static void add_detail(cJSON *json, const lt_result *result, const lt_plan *plan)
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

/* ---- the document ---------------------------------------------------------------------------- */

static void add_range(cJSON *json, const char *name, lt_range range)
{
    cJSON *object = cJSON_AddObjectToObject(json, name);
    add_figure(object, "low", range.low);
    add_figure(object, "high", range.high);
}

static void add_thresholds(cJSON *json, const lt_comparison *comparison, const lt_result *result)
{
    static const char *const words[] = {
        [THRESHOLD_HOLDS] = "ok", [THRESHOLD_BROKEN] = "broken", [THRESHOLD_NO_VALUE] = "no value"};
    cJSON *list = cJSON_AddArrayToObject(json, "thresholds");
    for (int i = 0; i < comparison->threshold_count; i++) {
        double observed;
        cJSON *item = cJSON_CreateObject();
        lt_threshold_state state = threshold_check(&comparison->thresholds[i], result, &observed);
        cJSON_AddStringToObject(item, "fail_if", comparison->thresholds[i].text);
        add_figure(item, "observed", observed);
        cJSON_AddStringToObject(item, "state", words[state]);
        cJSON_AddItemToArray(list, item);
    }
}

static cJSON *row_json(const lt_comparison *comparison, const lt_row *row)
{
    const lt_result *shown = row_shown(row);
    cJSON *json = run_summary(row, shown, comparison->plan);
    cJSON_AddNumberToObject(json, "runs", row->run_count);
    cJSON *ranges = cJSON_AddObjectToObject(json, "range");
    add_range(ranges, "throughput_rps", row->throughput_rps);
    add_range(ranges, "goodput_sps", row->goodput_sps);
    add_range(ranges, "p50_ms", row->p50_ms);
    add_range(ranges, "p99_ms", row->p99_ms);
    add_figure(json, "of_unlocked", row->of_unlocked);
    add_thresholds(json, comparison, shown);
    add_detail(json, shown, comparison->plan);
    return json;
}

cJSON *report_json(const lt_comparison *comparison)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "schema", 1);
    add_environment(json);
    add_load(json, comparison->plan);
    if (comparison->plan->preset == PRESET_REFERENCE)
        add_reference(json);
    cJSON_AddNumberToObject(json, "exit_code", comparison_exit_code(comparison));
    cJSON *rows = cJSON_AddArrayToObject(json, "runs");
    cJSON *samples = cJSON_AddArrayToObject(json, "samples");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        cJSON_AddItemToArray(rows, row_json(comparison, row));
        for (int j = 0; j < row->run_count; j++)
            cJSON_AddItemToArray(samples, run_summary(row, &row->runs[j], comparison->plan));
    }
    return json;
}
