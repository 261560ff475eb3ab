/*
 * One table of metrics is used to read a limit (name and unit), to find the figure in a result file
 * (member), and to compare (value). Only the value needs a result.
 */
#include "loadtest/result/threshold.h"

#include "loadtest/base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum lt_unit { UNIT_MS, UNIT_S, UNIT_PLAIN, UNIT_SHARE } lt_unit;

typedef struct lt_metric {
    const char *name;
    const char *member; /* of a row of the result file */
    lt_unit unit;
    double value; /* NAN: the run does not have it */
} lt_metric;

#define METRICS 21

static void list_metrics(const lt_result *result, lt_metric ret[METRICS])
{
    lt_latency latency = result_headline(result);
    bool any = latency.count > 0;
    const lt_metric metrics[] = {
        {"p50", "latency_ms.p50", UNIT_MS, latency.at[P50]},
        {"p90", "latency_ms.p90", UNIT_MS, latency.at[P90]},
        {"p95", "latency_ms.p95", UNIT_MS, latency.at[P95]},
        {"p99", "latency_ms.p99", UNIT_MS, latency.at[P99]},
        {"p99.9", "latency_ms.p999", UNIT_MS, latency.at[P999]},
        {"mean", "latency_ms.mean", UNIT_MS, any ? latency.mean : NAN},
        {"max", "latency_ms.max", UNIT_MS, any ? latency.max : NAN},
        {"throughput", "throughput_rps", UNIT_PLAIN, result_throughput(result)},
        {"goodput", "goodput_sps", UNIT_PLAIN, result_goodput(result)},
        {"sellout", "sellout_s", UNIT_S, result->sellout_s},
        {"fairness", "fairness", UNIT_PLAIN, result->fairness.ratio},
        {"sold", "sold", UNIT_PLAIN, (double)result->sold},
        {"sold_out", "sold_out", UNIT_PLAIN, (double)result_count(result, OUT_SOLD_OUT)},
        {"busy", "busy", UNIT_PLAIN, (double)result_count(result, OUT_BUSY)},
        {"unknown", "unknown", UNIT_PLAIN, (double)result_count(result, OUT_UNKNOWN)},
        {"errors", "errors", UNIT_PLAIN, (double)result_errors(result)},
        {"error_rate", "error_rate", UNIT_SHARE, result_error_rate(result)},
        {"oversold", "oversold", UNIT_PLAIN, (double)result->oversold},
        {"undersold", "undersold", UNIT_PLAIN, (double)result->undersold},
        {"lost_updates", "lost_updates", UNIT_PLAIN, (double)result->lost_updates},
        {"duplicates", "duplicates", UNIT_PLAIN, (double)result->duplicates},
    };
    _Static_assert(sizeof(metrics) == METRICS * sizeof(metrics[0]), "METRICS counts them");
    memcpy(ret, metrics, sizeof(metrics));
}

/* ---- reading --------------------------------------------------------------------------------- */

static int metric_find(const lt_metric metrics[METRICS], const char *name, size_t length)
{
    if (length == 4 && memcmp(name, "p999", 4) == 0)
        return P999;
    for (int i = 0; i < METRICS; i++) {
        if (strlen(metrics[i].name) == length && memcmp(metrics[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static bool fail_unknown(const lt_metric metrics[METRICS], const char *text, char *err,
                         size_t err_len)
{
    size_t at = (size_t)snprintf(err, err_len, "\"%s\": unknown metric; there are", text);
    for (int i = 0; i < METRICS && at < err_len; i++)
        at += (size_t)snprintf(err + at, err_len - at, " %s", metrics[i].name);
    return false;
}

/* The limit in the metric's own unit: ms, s, a plain number, or a share (also as "5%"). */
static bool parse_limit(const char *text, lt_unit unit, double *ret_limit)
{
    int64_t ns;
    char number[32];
    size_t length = strlen(text);
    if (number_parse_double(text, 0.0, 1e12, ret_limit))
        return true;
    if (unit == UNIT_SHARE && length > 1 && length < sizeof(number) && text[length - 1] == '%') {
        snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
        if (!number_parse_double(number, 0.0, 100.0, ret_limit))
            return false;
        *ret_limit /= 100.0;
        return true;
    }
    if ((unit != UNIT_MS && unit != UNIT_S) || !number_parse_duration(text, &ns))
        return false;
    *ret_limit = unit == UNIT_MS ? clock_ms(ns) : clock_seconds(ns);
    return true;
}

/* "+10%" or "-5%": a change between two result files. */
static bool parse_change(const char *text, double *ret_limit)
{
    char number[32];
    size_t length = strlen(text);
    if ((text[0] != '+' && text[0] != '-') || text[length - 1] != '%' ||
        length - 1 > sizeof(number))
        return false;
    snprintf(number, sizeof(number), "%.*s", (int)length - 2, text + 1);
    if (!number_parse_double(number, 0.0, 1e6, ret_limit))
        return false;
    *ret_limit *= text[0] == '-' ? -1.0 : 1.0;
    return true;
}

bool threshold_parse(const char *text, lt_threshold *ret, char *err, size_t err_len)
{
    static const lt_result nothing;
    lt_metric metrics[METRICS];
    lt_threshold threshold = {.metric = -1};
    char squeezed[sizeof(threshold.text)];
    size_t length = 0;
    const char *at = text;
    for (; *at != '\0' && length < sizeof(squeezed) - 1; at++) {
        if (*at != ' ')
            squeezed[length++] = *at;
    }
    squeezed[length] = '\0';
    size_t name_length = strcspn(squeezed, "<>");
    size_t compare_length = strspn(squeezed + name_length, "<>=");
    snprintf(threshold.text, sizeof(threshold.text), "%s", squeezed);
    list_metrics(&nothing, metrics);
    threshold.metric = metric_find(metrics, squeezed, name_length);
    if (threshold.metric < 0)
        return fail_unknown(metrics, text, err, err_len);
    snprintf(threshold.compare, sizeof(threshold.compare), "%.*s", (int)compare_length,
             squeezed + name_length);
    const char *limit = squeezed + name_length + compare_length;
    threshold.relative = parse_change(limit, &threshold.limit);
    if (*at != '\0' || compare_length < 1 || compare_length > 2 ||
        strspn(threshold.compare, "<>") != 1 ||
        (!threshold.relative &&
         !parse_limit(limit, metrics[threshold.metric].unit, &threshold.limit))) {
        snprintf(err, err_len,
                 "\"%s\" is not of the form METRIC>NUMBER, as in p99>200ms, or METRIC>+N%%", text);
        return false;
    }
    *ret = threshold;
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

const char *threshold_state_name(lt_threshold_state state)
{
    static const char *const names[] = {
        [THRESHOLD_HOLDS] = "ok", [THRESHOLD_BROKEN] = "BROKEN", [THRESHOLD_NO_VALUE] = "NO VALUE"};
    return names[state];
}

lt_threshold_state threshold_state(const lt_threshold *threshold, double observed)
{
    bool or_equal = threshold->compare[1] == '=';
    if (isnan(observed))
        return THRESHOLD_NO_VALUE;
    bool beyond =
        threshold->compare[0] == '>' ? observed > threshold->limit : observed < threshold->limit;
    if (or_equal && observed == threshold->limit)
        beyond = true;
    return beyond ? THRESHOLD_BROKEN : THRESHOLD_HOLDS;
}

lt_threshold_state threshold_check(const lt_threshold *threshold, const lt_result *result,
                                   double *ret)
{
    lt_metric metrics[METRICS];
    list_metrics(result, metrics);
    *ret = !result->tally ? NAN : metrics[threshold->metric].value;
    return threshold_state(threshold, *ret);
}

const char *threshold_member(const lt_threshold *threshold)
{
    static const lt_result nothing;
    lt_metric metrics[METRICS];
    list_metrics(&nothing, metrics);
    return metrics[threshold->metric].member;
}
