/*
 * One run on a screen: at most 24 lines of 80 columns, the deciding figures first and the verdict
 * last. Made from the result file; a missing member leaves out its line.
 */
#include "loadtest/report/json_figure.h"
#include "loadtest/report/report.h"
#include "loadtest/report/sentence.h"
#include "loadtest/report/style.h"

#include <string.h>

#define ERRORS_SHOWN         2

#define COUNT_OF(json, path) figure_count(json_number(json, path)).text
#define VALUE_OF(json, path) figure_of(json_number(json, path)).text

static void run_sold(FILE *out, const cJSON *run)
{
    char end[96] = "";
    double sellout_s = json_number(run, "sellout_s");
    if (!isnan(sellout_s))
        snprintf(end, sizeof(end), " in %.40s s", figure_of(sellout_s).text);
    style_wrap(out, "sold", 2, "%s of %s%s; oversold %s, doubled %s, lost %s, left %s",
               COUNT_OF(run, "sold_units"), COUNT_OF(run, "stock"), end, COUNT_OF(run, "oversold"),
               COUNT_OF(run, "duplicates"), COUNT_OF(run, "lost_updates"),
               COUNT_OF(run, "undersold"));
}

static void run_reserved(FILE *out, const cJSON *run)
{
    if (json_number(run, "reserved") > 0.0)
        style_wrap(out, "reserved", 1, "%s orders; confirmed %s, cancelled %s, expired %s",
                   COUNT_OF(run, "reserved"), COUNT_OF(run, "confirmed"),
                   COUNT_OF(run, "cancelled"), COUNT_OF(run, "expired"));
}

static void run_rates(FILE *out, const cJSON *run)
{
    static const char *const outcomes[] = {"sold",        "sold_out", "limit_reached", "busy",
                                           "unavailable", "unknown",  "errors"};
    char text[400] = "";
    style_wrap(out, "rates", 1, "%s answers/s, %s sales/s over %s s (%s)",
               VALUE_OF(run, "throughput_rps"), VALUE_OF(run, "goodput_sps"),
               VALUE_OF(run, "elapsed_s"), json_text(run, "stopped_by"));
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        double count = json_number(run, outcomes[i]);
        size_t at = strlen(text);
        if (count > 0.0)
            snprintf(text + at, sizeof(text) - at, "%s%s %.40s", at == 0 ? "" : ", ", outcomes[i],
                     figure_count(count).text);
    }
    style_wrap(out, "answers", 2, "%s", text[0] == '\0' ? "none" : text);
}

static void latency_line(FILE *out, const char *name, const cJSON *latency)
{
    static const char *const columns[] = {"n", "p50", "p90", "p99", "p999", "max"};
    char text[128] = "";
    if (!(json_number(latency, "n") > 0.0))
        return;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, " %7.15s",
                 figure_short(json_number(latency, columns[i]), 7).text);
    }
    style_wrap(out, "", 1, "%-14s%s", name, text);
}

/* The first line covers what buyers care about: sold requests, and failed ones with their age. */
static void run_latency(FILE *out, const cJSON *run)
{
    const cJSON *latencies = json_member(run, "latency_by_outcome");
    const char *first = json_member(run, "latency_sold_ms") ? "sold or failed" : "sold";
    style_wrap(out, "latency, ms", 1, "%14s %7s %7s %7s %7s %7s %7s", "", "n", "p50", "p90", "p99",
               "p99.9", "max");
    latency_line(out, first, json_member(run, "latency_ms"));
    latency_line(out, "unanswered", json_member(latencies, "unanswered"));
    latency_line(out, "all", json_member(latencies, "all"));
}

static void run_service(FILE *out, const cJSON *run)
{
    double silence_s = json_number(run, "silence_s.length");
    double cpu_us = json_number(run, "cpu_us_per_sale.total");
    if (silence_s > 0.0)
        style_wrap(out, "silence", 1, "no answer for %s s, from %s s on", figure_of(silence_s).text,
                   VALUE_OF(run, "silence_s.from"));
    if (!isnan(cpu_us))
        style_wrap(out, "CPU a sale", 1, "%s us: service %s us, Redis %s us",
                   figure_of(cpu_us).text, VALUE_OF(run, "cpu_us_per_sale.service"),
                   VALUE_OF(run, "cpu_us_per_sale.redis"));
    if (json_number(run, "users_asked") > 0.0)
        style_wrap(out, "users", 1, "fairness %s; starved %s, never served %s, never asked %s",
                   VALUE_OF(run, "fairness"), COUNT_OF(run, "users_starved"),
                   COUNT_OF(run, "users_never_served"), COUNT_OF(run, "users_never_asked"));
}

/* The two most frequent errors: a hint for the first, a line for the second. */
static void run_errors(FILE *out, const cJSON *run)
{
    const cJSON *list = json_member(run, "errors_by_kind"), *first = cJSON_GetArrayItem(list, 0);
    const cJSON *second = cJSON_GetArrayItem(list, 1);
    if (first)
        style_wrap(out, "errors", 2, "%s %s %s at %s: %s", COUNT_OF(first, "count"),
                   json_text(first, "phase"), json_text(first, "code"), json_text(first, "target"),
                   json_text(first, "hint"));
    if (second)
        style_wrap(out, "", 1, "%s %s %s at %s; %d kinds in all", COUNT_OF(second, "count"),
                   json_text(second, "phase"), json_text(second, "code"),
                   json_text(second, "target"), cJSON_GetArraySize(list));
}

/* How many guarantees hold, and the first one that does not. */
static void run_guarantees(FILE *out, const cJSON *run)
{
    char first[600];
    const cJSON *item;
    int ok = 0, violated = 0, unchecked = 0, nothing = 0;
    cJSON_ArrayForEach(item, json_member(run, "invariants")) {
        const char *state = json_text(item, "state");
        ok += strcmp(state, "ok") == 0;
        unchecked += strcmp(state, "unchecked") == 0;
        nothing += strcmp(state, "nothing") == 0;
        if (strcmp(state, "violated") == 0 && violated++ == 0)
            sentence_of_violation(item, first, sizeof(first));
    }
    style_wrap(out, "guarantees", 1,
               "%d hold, %d violated, %d unchecked, %d do not apply: --details", ok, violated,
               unchecked, nothing);
    if (violated > 0)
        style_wrap(out, "violated", 2, "%s", first);
}

static void run_doubts(FILE *out, const cJSON *run)
{
    char text[1000] = "";
    const cJSON *reason;
    if (json_true(run, "partial"))
        snprintf(text, sizeof(text), "PARTIAL REPORT: the run was interrupted");
    cJSON_ArrayForEach(reason, json_member(run, "invalid_because")) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", at == 0 ? "" : "; ", reason->valuestring);
    }
    if (text[0] != '\0')
        style_wrap(out, "doubts", 3, "%s", text);
}

void report_text(FILE *out, const cJSON *document)
{
    const cJSON *load = json_member(document, "load"), *run = json_member(document, "runs");
    run = cJSON_GetArrayItem(run, 0);
    style_wrap(out, NULL, 1, "%s: %s model, %s users, %d targets, stock %s",
               figure_name(json_text(run, "strategy"), 28).text, json_text(load, "model"),
               COUNT_OF(load, "users"), cJSON_GetArraySize(json_member(load, "targets")),
               COUNT_OF(run, "stock"));
    if (!isnan(json_number(run, "issued"))) {
        run_sold(out, run);
        run_reserved(out, run);
        run_rates(out, run);
        if (json_number(run, "completed") > 0.0)
            run_latency(out, run);
        run_service(out, run);
        run_errors(out, run);
        run_guarantees(out, run);
    }
    run_doubts(out, run);
    report_limits(out, document);
    report_verdict(out, json_text(run, "verdict"), json_text(run, "sentence"));
}
