/*
 * Compares two result files: rows are matched by strategy, metrics by name.
 *
 * A change within the range of the runs on either side is noise, and is reported as noise. Without
 * a range on both sides noise is unknown, so the change is called neither better nor worse.
 */
#include "loadtest/base/plain.h"
#include "loadtest/report/json_figure.h"
#include "loadtest/report/json_file.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <math.h>

typedef struct lt_metric {
    const char *title, *path; /* as json_number() takes it */
    const char *range;        /* its member of "range"; NULL: shown, not judged */
    int better;               /* +1: more is better, -1: less is */
} lt_metric;

static const lt_metric metrics[] = {
    {"throughput /s", "throughput_rps", "throughput_rps", 1},
    {"goodput /s", "goodput_sps", "goodput_sps", 1},
    {"p50 ms", "latency_ms.p50", "p50_ms", -1},
    {"p90 ms", "latency_ms.p90", NULL, 0},
    {"p99 ms", "latency_ms.p99", "p99_ms", -1},
    {"p99.9 ms", "latency_ms.p999", NULL, 0},
    {"mean ms", "latency_ms.mean", NULL, 0},
    {"fairness", "fairness", NULL, 0},
    {"sell-out s", "sellout_s", NULL, 0},
    {"Redis cmds/sale", "redis_cmds_per_sale", NULL, 0},
    {"sold", "sold", NULL, 0},
    {"oversold", "oversold", NULL, 0},
    {"lost updates", "lost_updates", NULL, 0},
    {"undersold", "undersold", NULL, 0},
    {"duplicates", "duplicates", NULL, 0},
    {"errors", "errors", NULL, 0},
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The document of a result file, or NULL with a sentence. */
static cJSON *read_result(const char *path, char *err, size_t err_len)
{
    static const char kind[] = "a result file of loadtest (schema 1)";
    cJSON *json = json_file_read(path, kind, err, err_len);
    if (json && !cJSON_IsArray(json_member(json, "runs"))) {
        snprintf(err, err_len, "%s is not %s: it has no \"runs\"", path, kind);
        cJSON_Delete(json);
        return NULL;
    }
    plain_json(json);
    return json;
}

static const cJSON *row_of(const cJSON *document, const char *strategy)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, json_member(document, "runs")) {
        if (strcmp(json_text(row, "strategy"), strategy) == 0)
            return row;
    }
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double bound(const lt_metric *metric, const cJSON *row, const char *which)
{
    char path[64];
    snprintf(path, sizeof(path), "range.%s.%s", metric->range, which);
    return json_number(row, path);
}

static bool has_range(const lt_metric *metric, const cJSON *row)
{
    return json_number(row, "runs") >= 2.0 && !isnan(bound(metric, row, "low"));
}

/* Whether the ranges of both sides overlap: then the runs do not tell them apart. */
static bool within_noise(const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    return bound(metric, before, "low") <= bound(metric, after, "high") &&
           bound(metric, after, "low") <= bound(metric, before, "high");
}

static const char *judgement(const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    double a = json_number(before, metric->path);
    double b = json_number(after, metric->path);
    if (isnan(a) || isnan(b) || a == b || !metric->range)
        return "";
    if (!has_range(metric, before) || !has_range(metric, after))
        return "noise unknown: a single run";
    if (within_noise(metric, before, after))
        return "within the range of the runs";
    return (b > a) == (metric->better > 0) ? "better" : "WORSE";
}

/* In percent; NAN: no base to compare with. */
static double change_of(double a, double b)
{
    /* A limit is written in decimals: the last bit must not break an exact one. */
    return a == b ? 0.0 : a == 0.0 ? NAN : round((b - a) * 100.0 / a * 1e9) / 1e9;
}

static void diff_metric(FILE *out, const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    double a = json_number(before, metric->path);
    double b = json_number(after, metric->path);
    char change[32] = "";
    if (isnan(a) && isnan(b))
        return;
    if (a == b && metric->better <= 0 && a == 0.0)
        return; /* nothing wrong before, nothing wrong now */
    if (a != 0.0 && !isnan(a) && !isnan(b))
        snprintf(change, sizeof(change), "%+.1f %%", change_of(a, b));
    fprintf(out, "  %-16s %10s -> %-10s %-10s %s\n", metric->title, figure_of(a).text,
            figure_of(b).text, change, judgement(metric, before, after));
}

/* ---- the gate -------------------------------------------------------------------------------- */

typedef struct lt_gate {
    FILE *out;
    const lt_threshold *thresholds;
    int threshold_count;
    bool same_load;
    lt_exit_code code;
} lt_gate;

/* Keeps the graver one: broken, then invalid, then a threshold. */
static void gate_close(lt_gate *gate, lt_exit_code code)
{
    static const int weights[] = {
        [EXIT_SAFE] = 0, [EXIT_THRESHOLD] = 1, [EXIT_INVALID] = 2, [EXIT_BROKEN] = 3};
    if (weights[code] > weights[gate->code])
        gate->code = code;
}

/* -1: not a verdict that this program knows. */
static int verdict_of(const cJSON *row)
{
    for (int i = VERDICT_SAFE; i <= VERDICT_OVERSOLD; i++) {
        if (strcmp(json_text(row, "verdict"), verdict_name((lt_verdict)i)) == 0)
            return i;
    }
    return -1;
}

/* Whether the verdict is allowed; `before` is NULL for a new strategy. */
static lt_exit_code gate_verdict(const cJSON *before, const cJSON *after)
{
    int is = verdict_of(after), was = !before ? (int)VERDICT_SAFE : verdict_of(before);
    if (is < 0 || was < 0)
        return EXIT_INVALID;
    if (is > was && (before || is != VERDICT_INVALID))
        return EXIT_BROKEN;
    return is == VERDICT_INVALID ? EXIT_INVALID : EXIT_SAFE;
}

/* A change needs a run to compare with, under the same load. */
static void gate_threshold(lt_gate *gate, const lt_threshold *threshold, const cJSON *before,
                           const cJSON *after)
{
    const char *path = threshold_member(threshold);
    double observed = json_number(after, path);
    bool comparable = before && gate->same_load && verdict_of(before) != VERDICT_INVALID;
    if (threshold->relative)
        observed = comparable ? change_of(json_number(before, path), observed) : NAN;
    lt_threshold_state state = threshold_state(threshold, observed);
    fprintf(gate->out, "  %-8s fail if %-20s observed %s%s\n", threshold_state_name(state),
            threshold->text, figure_of(observed).text,
            threshold->relative && !isnan(observed) ? " %" : "");
    if (state != THRESHOLD_HOLDS)
        gate_close(gate, state == THRESHOLD_BROKEN ? EXIT_THRESHOLD : EXIT_INVALID);
}

static void diff_row(lt_gate *gate, const cJSON *before, const cJSON *after)
{
    FILE *out = gate->out;
    const char *is = json_text(after, "verdict"),
               *was = !before ? is : json_text(before, "verdict");
    lt_exit_code code = json_true(after, "expect_unsafe") ? EXIT_SAFE : gate_verdict(before, after);
    bool same = strcmp(was, is) == 0;
    fprintf(out, "\n%s%s%s  %s%s%s%s%s\n", style_bold(out), json_text(after, "strategy"),
            style_end(out), was, same ? "" : " -> ", same ? "" : is,
            code == EXIT_BROKEN ? "  WORSE" : "", before ? "" : "  is new");
    gate_close(gate, code);
    for (size_t i = 0; before && i < sizeof(metrics) / sizeof(metrics[0]); i++)
        diff_metric(out, &metrics[i], before, after);
    for (int i = 0; i < gate->threshold_count && !json_true(after, "expect_unsafe"); i++)
        gate_threshold(gate, &gate->thresholds[i], before, after);
}

static void diff_documents(lt_gate *gate, const cJSON *before, const cJSON *after)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, json_member(after, "runs"))
        diff_row(gate, row_of(before, json_text(row, "strategy")), row);
    cJSON_ArrayForEach(row, json_member(before, "runs")) {
        if (row_of(after, json_text(row, "strategy")))
            continue;
        fprintf(gate->out, "\n%s is gone\n", json_text(row, "strategy"));
        gate_close(gate, json_true(row, "expect_unsafe") ? EXIT_SAFE : EXIT_INVALID);
    }
    if (cJSON_GetArraySize(json_member(after, "runs")) == 0)
        gate_close(gate, EXIT_INVALID);
}

/* Says so if the loads differ, because they can not be compared. Whether they are the same. */
static bool compare_loads(FILE *out, const cJSON *before, const cJSON *after)
{
    static const char *const names[] = {"users",    "requests",   "stock",        "quantity",
                                        "think_ms", "duration_s", "run_length_s", "rate_rps"};
    const cJSON *a = json_member(before, "load");
    const cJSON *b = json_member(after, "load");
    bool same = strcmp(json_text(a, "model"), json_text(b, "model")) == 0;
    if (!same)
        fprintf(out, "careful: the model was %s and is %s\n", json_text(a, "model"),
                json_text(b, "model"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        double was = json_number(a, names[i]), is = json_number(b, names[i]);
        if (was == is || (isnan(was) && isnan(is)))
            continue;
        fprintf(out, "careful: %s was %s and is %s, so these are different loads\n", names[i],
                figure_of(was).text, figure_of(is).text);
        same = false;
    }
    return same;
}

lt_exit_code report_diff(FILE *out, const char *const files[2], const lt_threshold *thresholds,
                         int threshold_count, char *err, size_t err_len)
{
    lt_gate gate = {.out = out, .thresholds = thresholds, .threshold_count = threshold_count};
    cJSON *a = read_result(files[0], err, err_len);
    cJSON *b = !a ? NULL : read_result(files[1], err, err_len);
    if (b) {
        fprintf(out, "%s -> %s\n", files[0], files[1]);
        gate.same_load = compare_loads(out, a, b);
        diff_documents(&gate, a, b);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    return b ? gate.code : EXIT_USAGE;
}
