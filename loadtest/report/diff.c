/*
 * Compares two result files: rows are matched by strategy, metrics by name.
 *
 * A change within the range of the runs on either side is noise, and is reported as noise. Without
 * a range on both sides noise is unknown, so the change is called neither better nor worse.
 */
#include "loadtest/base/plain.h"
#include "loadtest/report/json_file.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <math.h>
#include <string.h>

typedef struct lt_metric {
    const char *title;
    const char *object; /* the member that has it, or NULL */
    const char *name;
    const char *range; /* its member of "range"; NULL: shown, not judged */
    int better;        /* +1: more is better, -1: less is */
} lt_metric;

static const lt_metric metrics[] = {
    {"throughput /s", NULL, "throughput_rps", "throughput_rps", 1},
    {"goodput /s", NULL, "goodput_sps", "goodput_sps", 1},
    {"p50 ms", "latency_ms", "p50", "p50_ms", -1},
    {"p90 ms", "latency_ms", "p90", NULL, 0},
    {"p99 ms", "latency_ms", "p99", "p99_ms", -1},
    {"p99.9 ms", "latency_ms", "p999", NULL, 0},
    {"mean ms", "latency_ms", "mean", NULL, 0},
    {"fairness", NULL, "fairness", NULL, 0},
    {"sell-out s", NULL, "sellout_s", NULL, 0},
    {"Redis cmds/sale", NULL, "redis_cmds_per_sale", NULL, 0},
    {"sold", NULL, "sold", NULL, 0},
    {"oversold", NULL, "oversold", NULL, 0},
    {"lost updates", NULL, "lost_updates", NULL, 0},
    {"undersold", NULL, "undersold", NULL, 0},
    {"duplicates", NULL, "duplicates", NULL, 0},
    {"errors", NULL, "errors", NULL, 0},
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The document of a result file, or NULL with a sentence. */
static cJSON *read_result(const char *path, char *err, size_t err_len)
{
    static const char kind[] = "a result file of loadtest (schema 1)";
    cJSON *json = json_file_read(path, kind, err, err_len);
    if (json && !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(json, "runs"))) {
        snprintf(err, err_len, "%s is not %s: it has no \"runs\"", path, kind);
        cJSON_Delete(json);
        return NULL;
    }
    plain_json(json);
    return json;
}

static const char *text_of(const cJSON *row, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name));
    return !text ? "" : text;
}

static double number_of(const cJSON *row, const char *object, const char *name)
{
    const cJSON *holder = !object ? row : cJSON_GetObjectItemCaseSensitive(row, object);
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(holder, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static const cJSON *row_of(const cJSON *document, const char *strategy)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(document, "runs"))
    {
        if (strcmp(text_of(row, "strategy"), strategy) == 0)
            return row;
    }
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double bound(const cJSON *row, const char *range, const char *which)
{
    const cJSON *ranges = cJSON_GetObjectItemCaseSensitive(row, "range");
    return number_of(ranges, range, which);
}

static bool has_range(const lt_metric *metric, const cJSON *row)
{
    return number_of(row, NULL, "runs") >= 2.0 && !isnan(bound(row, metric->range, "low"));
}

/* Whether the ranges of both sides overlap: then the runs do not tell them apart. */
static bool within_noise(const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    return bound(before, metric->range, "low") <= bound(after, metric->range, "high") &&
           bound(after, metric->range, "low") <= bound(before, metric->range, "high");
}

static const char *judgement(const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    double a = number_of(before, metric->object, metric->name);
    double b = number_of(after, metric->object, metric->name);
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
    double a = number_of(before, metric->object, metric->name);
    double b = number_of(after, metric->object, metric->name);
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
        if (strcmp(text_of(row, "verdict"), verdict_name((lt_verdict)i)) == 0)
            return i;
    }
    return -1;
}

static bool is_unsafe(const cJSON *row)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "expect_unsafe"));
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

static double figure_at(const cJSON *row, const char *path)
{
    char object[32];
    const char *dot = strchr(path, '.');
    if (!dot)
        return number_of(row, NULL, path);
    snprintf(object, sizeof(object), "%.*s", (int)(dot - path), path);
    return number_of(row, object, dot + 1);
}

/* A change needs a run to compare with, under the same load. */
static void gate_threshold(lt_gate *gate, const lt_threshold *threshold, const cJSON *before,
                           const cJSON *after)
{
    const char *path = threshold_member(threshold);
    double observed = figure_at(after, path);
    bool comparable = before && gate->same_load && verdict_of(before) != VERDICT_INVALID;
    if (threshold->relative)
        observed = comparable ? change_of(figure_at(before, path), observed) : NAN;
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
    const char *is = text_of(after, "verdict"), *was = !before ? is : text_of(before, "verdict");
    lt_exit_code code = is_unsafe(after) ? EXIT_SAFE : gate_verdict(before, after);
    bool same = strcmp(was, is) == 0;
    fprintf(out, "\n%s%s%s  %s%s%s%s%s\n", style_bold(out), text_of(after, "strategy"),
            style_end(out), was, same ? "" : " -> ", same ? "" : is,
            code == EXIT_BROKEN ? "  WORSE" : "", before ? "" : "  is new");
    gate_close(gate, code);
    for (size_t i = 0; before && i < sizeof(metrics) / sizeof(metrics[0]); i++)
        diff_metric(out, &metrics[i], before, after);
    for (int i = 0; i < gate->threshold_count && !is_unsafe(after); i++)
        gate_threshold(gate, &gate->thresholds[i], before, after);
}

static void diff_documents(lt_gate *gate, const cJSON *before, const cJSON *after)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(after, "runs"))
        diff_row(gate, row_of(before, text_of(row, "strategy")), row);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(before, "runs"))
    {
        if (row_of(after, text_of(row, "strategy")))
            continue;
        fprintf(gate->out, "\n%s is gone\n", text_of(row, "strategy"));
        gate_close(gate, is_unsafe(row) ? EXIT_SAFE : EXIT_INVALID);
    }
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(after, "runs")) == 0)
        gate_close(gate, EXIT_INVALID);
}

/* Says so if the loads differ, because they can not be compared. Whether they are the same. */
static bool compare_loads(FILE *out, const cJSON *before, const cJSON *after)
{
    static const char *const names[] = {"users",    "requests",   "stock",        "quantity",
                                        "think_ms", "duration_s", "run_length_s", "rate_rps"};
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(before, "load");
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(after, "load");
    bool same = strcmp(text_of(a, "model"), text_of(b, "model")) == 0;
    if (!same)
        fprintf(out, "careful: the model was %s and is %s\n", text_of(a, "model"),
                text_of(b, "model"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        double was = number_of(a, NULL, names[i]), is = number_of(b, NULL, names[i]);
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
