/*
 * The result file: where and under which load it was measured, then a row for each strategy. Every
 * run has a summary ("samples"); the run that stands for a row also has the detail that charts
 * need.
 */
#include "loadtest/report/report.h"

#include "loadtest/report/json_detail.h"
#include "loadtest/report/json_figure.h"
#include "loadtest/report/sentence.h"

#include <curl/curl.h>
#include <math.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

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
    if (plan->reserve_s > 0) {
        cJSON_AddNumberToObject(load, "reserve_s", (double)plan->reserve_s);
        cJSON_AddNumberToObject(load, "confirm", plan->confirm);
        cJSON_AddNumberToObject(load, "cancel", plan->cancel);
    }
    cJSON_AddNumberToObject(load, "think_ms", clock_ms(plan->think));
    cJSON_AddNumberToObject(load, "duration_s", clock_seconds(plan->duration));
    cJSON_AddBoolToObject(load, "until_sold_out", plan->until_sold_out);
    cJSON_AddNumberToObject(load, "run_length_s", clock_seconds(plan->run_length));
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
    add_latency(json, "latency_ms", result_headline(result));
    add_latency(json, "latency_sold_ms", result_latency(result, OUT_SOLD));
    cJSON *by_outcome = cJSON_AddObjectToObject(json, "latency_by_outcome");
    for (int i = 0; i < SERIES_COUNT; i++) {
        lt_latency latency = result_latency(result, i);
        if (latency.count > 0)
            add_latency(by_outcome, series_name(i), latency);
    }
    add_latency(by_outcome, "all", latency_of(result->all_due));
    const lt_histogram *from_send =
        !result->tally ? NULL : tally_histogram(&result->tally->from_send);
    add_latency(json, "latency_from_send_ms", latency_of(from_send));
    cJSON *silence = cJSON_AddObjectToObject(json, "silence_s");
    add_figure(silence, "from", result->silent_from_s);
    add_figure(silence, "length", result->silence_s);
}

static void add_books(cJSON *json, const lt_result *result)
{
    add_count(json, "sold", result->sold);
    add_count(json, "sold_units", result->sold_units);
    add_count(json, "sold_out", result_count(result, OUT_SOLD_OUT));
    add_count(json, "limit_reached", result_count(result, OUT_LIMIT));
    add_count(json, "busy", result_count(result, OUT_BUSY));
    add_count(json, "errors", result_errors(result));
    add_count(json, "unavailable", result_count(result, OUT_UNAVAILABLE));
    add_count(json, "unknown", result_count(result, OUT_UNKNOWN));
    add_figure(json, "error_rate", result_error_rate(result));
    add_count(json, "oversold", result->oversold);
    add_count(json, "undersold", result->undersold);
    add_count(json, "lost_updates", result->lost_updates);
    add_count(json, "duplicates", result->duplicates);
    add_count(json, "replays", result->retries_probed);
    add_count(json, "reserved", result->reserved);
    add_count(json, "confirmed", result->confirmed);
    add_count(json, "cancelled", result->cancelled);
    add_count(json, "expired", result->expired);
}

static void add_speed(cJSON *json, const lt_result *result)
{
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

static void add_cpu(cJSON *json, const char *name, const lt_cost *cost)
{
    cJSON *object = cJSON_AddObjectToObject(json, name);
    add_figure(object, "service", cost->service_us);
    add_figure(object, "redis", cost->redis_us);
    add_figure(object, "total", cost_cpu_us(cost));
}

static void add_reasons(cJSON *list, const lt_result *result)
{
    for (int i = 0; i < result->reason_count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(result->reasons[i]));
}

/* One run tells what was sold, the other how fast. */
static cJSON *run_summary(const lt_row *row, const lt_result *books, const lt_result *shown,
                          const lt_plan *plan)
{
    cJSON *json = cJSON_CreateObject();
    bool ran = books->tally;
    cJSON_AddStringToObject(json, "strategy", row->spec->label);
    cJSON_AddStringToObject(json, "verdict", verdict_name(books->verdict));
    cJSON_AddStringToObject(json, "ledger",
                            books->evidence.ledger == LEDGER_NONE    ? "none"
                            : books->evidence.ledger == LEDGER_WHOLE ? "whole"
                                                                     : "broken");
    cJSON_AddBoolToObject(json, "expect_unsafe", row->spec->expect_unsafe);
    cJSON_AddBoolToObject(json, "partial", books->partial || shown->partial);
    cJSON_AddStringToObject(json, "sale", books->sale);
    add_count(json, "stock", books->stock_asked);
    add_count(json, "requests", ran ? counter_get(&books->tally->issued) : 0);
    add_count(json, "users", plan->users);
    add_books(json, books);
    add_speed(json, shown);
    add_latencies(json, shown);
    if (shown->tally) {
        add_accounts(json, shown->tally);
        add_generator(json, shown);
    }
    cJSON *lock_wait = cJSON_AddObjectToObject(json, "lock_wait_ms");
    add_figure(lock_wait, "p50", shown->costs.lock_wait_p50_ms);
    add_figure(lock_wait, "p99", shown->costs.lock_wait_p99_ms);
    add_figure(json, "redis_cmds_per_sale", shown->costs.sale.redis_commands);
    add_cpu(json, "cpu_us_per_sale", &shown->costs.sale);
    add_cpu(json, "cpu_us_per_request", &shown->costs.request);
    cJSON_AddStringToObject(json, "stopped_by", stop_reason_name(books->stop_reason));
    cJSON *reasons = cJSON_AddArrayToObject(json, "invalid_because");
    add_reasons(reasons, books);
    if (shown != books)
        add_reasons(reasons, shown);
    return json;
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
    const lt_result *books = row_books(row), *shown = row_shown(row);
    cJSON *json = run_summary(row, books, shown, comparison->plan);
    cJSON_AddNumberToObject(json, "runs", row_timed_runs(row));
    cJSON *ranges = cJSON_AddObjectToObject(json, "range");
    add_range(ranges, "throughput_rps", row->throughput_rps);
    add_range(ranges, "goodput_sps", row->goodput_sps);
    add_range(ranges, "p50_ms", row->p50_ms);
    add_range(ranges, "p99_ms", row->p99_ms);
    add_range(ranges, "cpu_us_per_sale", row->cpu_us_per_sale);
    add_figure(json, "of_unlocked", row->of_unlocked);
    add_figure(json, "rank", row->rank > 0 ? row->rank : NAN);
    cJSON_AddBoolToObject(json, "shares_rank", row->shares_rank);
    if (row->rank > 0)
        cJSON_AddStringToObject(json, "rank_by", row->ranked_by_cost ? "cost" : "throughput");
    else
        cJSON_AddNullToObject(json, "rank_by");
    add_thresholds(json, comparison, shown);
    json_add_detail(json, books, shown, comparison->plan);
    return json;
}

static cJSON *sample_json(const lt_plan *plan, const lt_row *row, int number)
{
    const lt_result *result = &row->runs[number];
    cJSON *json = run_summary(row, result, result, plan);
    cJSON_AddBoolToObject(json, "timed", number >= row->timed_from);
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
    cJSON_AddBoolToObject(json, "control_missed", comparison_missed_control(comparison));
    cJSON *rows = cJSON_AddArrayToObject(json, "runs");
    cJSON *samples = cJSON_AddArrayToObject(json, "samples");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        cJSON_AddItemToArray(rows, row_json(comparison, row));
        for (int j = 0; j < row->run_count; j++)
            cJSON_AddItemToArray(samples, sample_json(comparison->plan, row, j));
    }
    sentence_add_all(json);
    return json;
}
