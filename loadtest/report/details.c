/*
 * --details: everything in the result file that the short reports leave out. For a comparison first
 * the rows side by side, then each strategy's run.
 */
#include "loadtest/report/json_figure.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

typedef struct lt_column {
    const char *title, *path; /* as json_number() takes it */
} lt_column;

#define HEAD(out, title, columns)                                                                  \
    print_head(out, title, columns, sizeof(columns) / sizeof((columns)[0]))
#define ROW(out, name, json, columns)                                                              \
    print_row(out, name, json, columns, sizeof(columns) / sizeof((columns)[0]))

static const lt_column comparison_columns[] = {
    {"sold", "sold_units"},
    {"over", "oversold"},
    {"lost", "lost_updates"},
    {"under", "undersold"},
    {"dup.", "duplicates"},
    {"answers/s", "throughput_rps"},
    {"lowest", "range.throughput_rps.low"},
    {"highest", "range.throughput_rps.high"},
    {"x none", "of_unlocked"},
    {"CPU us", "cpu_us_per_sale.total"},
    {"lowest", "range.cpu_us_per_sale.low"},
    {"highest", "range.cpu_us_per_sale.high"},
};
static const lt_column account_columns[] = {
    {"issued", "issued"},
    {"completed", "completed"},
    {"failed", "failed"},
    {"open", "unfinished"},
    {"retries", "retries"},
    {"replays", "replays"},
    {"waited", "waited_for_connection"},
    {"not sent", "unsent"},
};
static const lt_column latency_columns[] = {
    {"n", "n"},     {"average", "mean"}, {"p50", "p50"}, {"p90", "p90"}, {"p95", "p95"},
    {"p99", "p99"}, {"p99.9", "p999"},   {"min", "min"}, {"max", "max"},
};
static const lt_column target_columns[] = {
    {"answers", "answers"}, {"sold", "sold"},     {"failed", "failed"},
    {"p50 ms", "p50_ms"},   {"p99 ms", "p99_ms"},
};
static const lt_column user_columns[] = {
    {"asked", "users_asked"},           {"not asked", "users_never_asked"},
    {"unserved", "users_never_served"}, {"starved", "users_starved"},
    {"fairness", "fairness"},           {"Jain's", "fairness_jain"},
};
static const lt_column generator_columns[] = {
    {"CPU share", "generator.share"},     {"us/request", "generator.cpu_us_per_request"},
    {"lag p99", "generator.lag_p99_ms"},  {"lag max", "generator.lag_max_ms"},
    {"lock p50", "lock_wait_ms.p50"},     {"lock p99", "lock_wait_ms.p99"},
    {"cmds/sale", "redis_cmds_per_sale"},
};
static const lt_column reference_columns[] = {
    {"average", "average_ms"},
    {"answers/s", "throughput_rps"},
};
static const lt_column our_columns[] = {
    {"average", "latency_by_outcome.all.mean"},
    {"answers/s", "throughput_rps"},
};

static void print_head(FILE *out, const char *title, const lt_column *columns, size_t count)
{
    fprintf(out, "\n%s%-20s", style_bold(out), title);
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %10s", columns[i].title);
    fprintf(out, "%s\n", style_end(out));
}

static void print_row(FILE *out, const char *name, const cJSON *json, const lt_column *columns,
                      size_t count)
{
    if (!json)
        return;
    fprintf(out, "  %-18s", name);
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %10s", figure_short(json_number(json, columns[i].path), 9).text);
    fputc('\n', out);
}

/* Every guarantee with its state, and the first violation of each, or why it is unchecked. */
static void print_guarantees(FILE *out, const cJSON *run)
{
    const cJSON *item;
    fprintf(out, "\n%sGuarantees %10s%s\n", style_bold(out), "violations", style_end(out));
    cJSON_ArrayForEach(item, json_member(run, "invariants")) {
        fprintf(out, "  %-9s %9s  %s\n", json_text(item, "state"),
                figure_short(json_number(item, "observed"), 9).text, json_text(item, "name"));
        if (json_text(item, "first")[0] != '\0')
            fprintf(out, "%23s%s\n", "", json_text(item, "first"));
    }
}

static void print_latencies(FILE *out, const cJSON *run)
{
    const cJSON *latency;
    HEAD(out, "Latency in ms", latency_columns);
    cJSON_ArrayForEach(latency, json_member(run, "latency_by_outcome"))
        ROW(out, latency->string, latency, latency_columns);
    ROW(out, "all, from the send", json_member(run, "latency_from_send_ms"), latency_columns);
}

static void print_targets(FILE *out, const cJSON *run)
{
    const cJSON *item;
    HEAD(out, "Targets", target_columns);
    cJSON_ArrayForEach(item, json_member(run, "targets"))
        ROW(out, json_text(item, "target"), item, target_columns);
    cJSON_ArrayForEach(item, json_member(run, "errors_by_kind"))
        fprintf(out, "  %s errors: %s %s at %s\n    %s\n",
                figure_count(json_number(item, "count")).text, json_text(item, "phase"),
                json_text(item, "code"), json_text(item, "target"), json_text(item, "hint"));
}

static void print_run(FILE *out, const cJSON *run)
{
    const cJSON *reason;
    fprintf(out, "\n%s%s: %s%s\n", style_bold(out), json_text(run, "strategy"),
            json_text(run, "sentence"), style_end(out));
    cJSON_ArrayForEach(reason, json_member(run, "invalid_because"))
        fprintf(out, "  doubt: %s\n", reason->valuestring);
    print_guarantees(out, run);
    if (isnan(json_number(run, "issued")))
        return;
    HEAD(out, "Requests", account_columns);
    ROW(out, json_text(run, "stopped_by"), run, account_columns);
    print_latencies(out, run);
    print_targets(out, run);
    HEAD(out, "Users", user_columns);
    ROW(out, "", run, user_columns);
    HEAD(out, "Generator, lock, Redis", generator_columns);
    ROW(out, "", run, generator_columns);
}

static void print_reference(FILE *out, const cJSON *document)
{
    const cJSON *reference = json_member(document, "reference"), *row;
    if (!reference)
        return;
    HEAD(out, "Beside the article", our_columns);
    cJSON_ArrayForEach(row, json_member(reference, "rows"))
        ROW(out, json_text(row, "name"), row, reference_columns);
    cJSON_ArrayForEach(row, json_member(document, "runs"))
        ROW(out, json_text(row, "strategy"), row, our_columns);
    fprintf(out, "  (%s)\n", json_text(reference, "note"));
}

void report_details(FILE *out, const cJSON *document)
{
    const cJSON *runs = json_member(document, "runs"), *run;
    cJSON_ArrayForEach(run, runs)
        print_run(out, run);
    HEAD(out, "All strategies", comparison_columns);
    cJSON_ArrayForEach(run, runs)
        ROW(out, json_text(run, "strategy"), run, comparison_columns);
    print_reference(out, document);
    fputc('\n', out);
}
