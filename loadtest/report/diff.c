/*
 * Two result files, read back as JSON: rows are matched by strategy, metrics by name.
 *
 * A change smaller than the range of the runs on either side is noise, and is said to be.
 */
#include "loadtest/report/json_file.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <math.h>
#include <string.h>

typedef struct lt_metric {
    const char *title;
    const char *object; /* the member that has it, or NULL */
    const char *name;
    const char *range; /* its member of "range", or NULL */
    int better; /* +1: more is better, -1: less is; 0: no judgement without a range of the runs */
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
    {"oversold", NULL, "oversold", NULL, -1},
    {"lost updates", NULL, "lost_updates", NULL, -1},
    {"undersold", NULL, "undersold", NULL, -1},
    {"duplicates", NULL, "duplicates", NULL, -1},
    {"errors", NULL, "errors", NULL, -1},
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

/* Whether the ranges of both sides overlap: then the runs do not tell them apart. A single run is a
 * range without width. */
static bool within_noise(const lt_metric *metric, const cJSON *before, const cJSON *after)
{
    if (!metric->range)
        return false;
    return bound(before, metric->range, "low") <= bound(after, metric->range, "high") &&
           bound(after, metric->range, "low") <= bound(before, metric->range, "high");
}

static const char *judgement(const lt_metric *metric, double before, double after, bool noise)
{
    if (isnan(before) || isnan(after) || before == after || metric->better == 0)
        return "";
    if (noise)
        return "within the range of the runs";
    return (after > before) == (metric->better > 0) ? "better" : "WORSE";
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
        snprintf(change, sizeof(change), "%+.1f %%", (b - a) * 100.0 / a);
    fprintf(out, "  %-16s %10s -> %-10s %-10s %s\n", metric->title, figure_of(a).text,
            figure_of(b).text, change,
            judgement(metric, a, b, within_noise(metric, before, after)));
}

static void diff_row(FILE *out, const cJSON *before, const cJSON *after)
{
    const char *was = text_of(before, "verdict"), *is = text_of(after, "verdict");
    fprintf(out, "\n%s%s%s  %s%s%s\n", style_bold(out), text_of(after, "strategy"), style_end(out),
            was, strcmp(was, is) == 0 ? "" : " -> ", strcmp(was, is) == 0 ? "" : is);
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
        diff_metric(out, &metrics[i], before, after);
}

static void diff_documents(FILE *out, const cJSON *before, const cJSON *after)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(after, "runs"))
    {
        const cJSON *earlier = row_of(before, text_of(row, "strategy"));
        if (earlier)
            diff_row(out, earlier, row);
        else
            fprintf(out, "\n%s is new\n", text_of(row, "strategy"));
    }
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(before, "runs"))
    {
        if (!row_of(after, text_of(row, "strategy")))
            fprintf(out, "\n%s is gone\n", text_of(row, "strategy"));
    }
}

/* Loads that differ can not be compared; say so, and leave it to the reader. */
static void warn_of_loads(FILE *out, const cJSON *before, const cJSON *after)
{
    static const char *const names[] = {"users", "requests", "stock", "think_ms", "rate_rps"};
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(before, "load");
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(after, "load");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        double was = number_of(a, NULL, names[i]), is = number_of(b, NULL, names[i]);
        if (was != is && !(isnan(was) && isnan(is)))
            fprintf(out, "careful: %s was %s and is %s, so these are different loads\n", names[i],
                    figure_of(was).text, figure_of(is).text);
    }
}

bool report_diff(FILE *out, const char *before, const char *after, char *err, size_t err_len)
{
    cJSON *a = read_result(before, err, err_len);
    cJSON *b = !a ? NULL : read_result(after, err, err_len);
    if (b) {
        fprintf(out, "%s -> %s\n", before, after);
        warn_of_loads(out, a, b);
        diff_documents(out, a, b);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    return b;
}
