#include "loadtest/report/json.h"

#include <curl/curl.h>
#include <math.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void json_add_figure(cJSON *json, const char *name, double value)
{
    /* Six significant digits: what is beyond them was not measured. */
    char text[40];
    if (isnan(value) || isinf(value)) {
        cJSON_AddNullToObject(json, name);
        return;
    }
    snprintf(text, sizeof(text), fabs(value) < 1e6 ? "%.6g" : "%.0f", value);
    cJSON_AddRawToObject(json, name, text);
}

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

static void add_load(cJSON *json, const lt_options *options)
{
    const lt_plan *plan = &options->plan;
    cJSON *load = cJSON_AddObjectToObject(json, "load");
    cJSON_AddStringToObject(load, "model", model_name(plan->model));
    cJSON_AddStringToObject(load, "preset", preset_name(options->preset));
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
    cJSON_AddNumberToObject(load, "runs", options->runs);
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

static void add_range(cJSON *json, const char *name, lt_range range)
{
    cJSON *object = cJSON_AddObjectToObject(json, name);
    json_add_figure(object, "low", range.low);
    json_add_figure(object, "high", range.high);
}

static void add_thresholds(cJSON *json, const lt_options *options, const lt_result *result)
{
    static const char *const words[] = {
        [THRESHOLD_HOLDS] = "ok", [THRESHOLD_BROKEN] = "broken", [THRESHOLD_NO_VALUE] = "no value"};
    cJSON *list = cJSON_AddArrayToObject(json, "thresholds");
    for (int i = 0; i < options->threshold_count; i++) {
        double observed;
        cJSON *item = cJSON_CreateObject();
        lt_threshold_state state = threshold_check(&options->thresholds[i], result, &observed);
        cJSON_AddStringToObject(item, "fail_if", options->thresholds[i].text);
        json_add_figure(item, "observed", observed);
        cJSON_AddStringToObject(item, "state", words[state]);
        cJSON_AddItemToArray(list, item);
    }
}

static cJSON *row_json(const lt_comparison *comparison, const lt_row *row)
{
    const lt_options *options = comparison->options;
    const lt_result *shown = row_shown(row);
    cJSON *json = json_summary(row, shown, &options->plan);
    cJSON_AddNumberToObject(json, "runs", row->run_count);
    cJSON *ranges = cJSON_AddObjectToObject(json, "range");
    add_range(ranges, "throughput_rps", row->throughput_rps);
    add_range(ranges, "goodput_sps", row->goodput_sps);
    add_range(ranges, "p50_ms", row->p50_ms);
    add_range(ranges, "p99_ms", row->p99_ms);
    json_add_figure(json, "of_unlocked", row->of_unlocked);
    add_thresholds(json, options, shown);
    json_add_detail(json, shown, &options->plan);
    return json;
}

cJSON *report_json(const lt_comparison *comparison)
{
    const lt_options *options = comparison->options;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "schema", 1);
    add_environment(json);
    add_load(json, options);
    if (options->preset == PRESET_REFERENCE)
        add_reference(json);
    cJSON_AddNumberToObject(json, "exit_code", comparison_exit_code(comparison));
    cJSON *rows = cJSON_AddArrayToObject(json, "runs");
    cJSON *samples = cJSON_AddArrayToObject(json, "samples");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        cJSON_AddItemToArray(rows, row_json(comparison, row));
        for (int j = 0; j < row->run_count; j++)
            cJSON_AddItemToArray(samples, json_summary(row, &row->runs[j], &options->plan));
    }
    return json;
}
