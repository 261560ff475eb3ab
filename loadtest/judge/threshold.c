#include "loadtest/judge/threshold.h"

#include "loadtest/base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum lt_metric {
    M_P50, /* the first P_COUNT are percentiles, in the order of latency.h */
    M_MEAN = P_COUNT,
    M_MAX,
    M_THROUGHPUT,
    M_GOODPUT,
    M_SELLOUT,
    M_FAIRNESS,
    M_SOLD,
    M_SOLD_OUT,
    M_BUSY,
    M_UNKNOWN,
    M_ERRORS,
    M_ERROR_RATE,
    M_OVERSOLD,
    M_UNDERSOLD,
    M_LOST_UPDATES,
    M_DUPLICATES,
    M_COUNT
} lt_metric;

typedef enum lt_unit { UNIT_MS, UNIT_S, UNIT_PLAIN, UNIT_SHARE } lt_unit;

static const struct {
    const char *name;
    lt_unit unit;
} metrics[M_COUNT] = {
    {"p50", UNIT_MS},           {"p90", UNIT_MS},
    {"p95", UNIT_MS},           {"p99", UNIT_MS},
    {"p99.9", UNIT_MS},         {"mean", UNIT_MS},
    {"max", UNIT_MS},           {"throughput", UNIT_PLAIN},
    {"goodput", UNIT_PLAIN},    {"sellout", UNIT_S},
    {"fairness", UNIT_PLAIN},   {"sold", UNIT_PLAIN},
    {"sold_out", UNIT_PLAIN},   {"busy", UNIT_PLAIN},
    {"unknown", UNIT_PLAIN},    {"errors", UNIT_PLAIN},
    {"error_rate", UNIT_SHARE}, {"oversold", UNIT_PLAIN},
    {"undersold", UNIT_PLAIN},  {"lost_updates", UNIT_PLAIN},
    {"duplicates", UNIT_PLAIN},
};

const char *threshold_metrics(void)
{
    return "p50 p90 p95 p99 p99.9 mean max throughput goodput sellout fairness sold sold_out busy "
           "unknown errors error_rate oversold undersold lost_updates duplicates";
}

static int metric_find(const char *name, size_t length)
{
    if (length == 4 && memcmp(name, "p999", 4) == 0)
        return P999;
    for (int i = 0; i < M_COUNT; i++) {
        if (strlen(metrics[i].name) == length && memcmp(metrics[i].name, name, length) == 0)
            return i;
    }
    return -1;
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

bool threshold_parse(const char *text, lt_threshold *ret_threshold, char *err, size_t err_len)
{
    lt_threshold threshold = {.metric = -1};
    char squeezed[sizeof(threshold.text)];
    size_t length = 0;
    for (const char *at = text; *at != '\0' && length < sizeof(squeezed) - 1; at++) {
        if (*at != ' ')
            squeezed[length++] = *at;
    }
    squeezed[length] = '\0';
    size_t name_length = strcspn(squeezed, "<>");
    size_t compare_length = strspn(squeezed + name_length, "<>=");
    snprintf(threshold.text, sizeof(threshold.text), "%s", squeezed);
    threshold.metric = metric_find(squeezed, name_length);
    if (threshold.metric < 0) {
        snprintf(err, err_len, "\"%s\": unknown metric; there are %s", text, threshold_metrics());
        return false;
    }
    snprintf(threshold.compare, sizeof(threshold.compare), "%.*s", (int)compare_length,
             squeezed + name_length);
    if (compare_length < 1 || compare_length > 2 || strspn(threshold.compare, "<>") != 1 ||
        !parse_limit(squeezed + name_length + compare_length, metrics[threshold.metric].unit,
                     &threshold.limit)) {
        snprintf(err, err_len, "\"%s\" is not of the form METRIC>NUMBER, as in p99>200ms", text);
        return false;
    }
    *ret_threshold = threshold;
    return true;
}

static double share_of_errors(const lt_result *result)
{
    double issued = (double)counter_get(&result->tally->issued);
    double bad = (double)(result_errors(result) + result_count(result, OUT_UNKNOWN));
    return issued > 0.0 ? bad / issued : NAN;
}

static double metric_value(int metric, const lt_result *result)
{
    if (!result->tally)
        return NAN;
    lt_latency latency = result_latency(result, OUT_SOLD);
    if (metric < P_COUNT)
        return latency.at[metric];
    switch ((lt_metric)metric) {
    case M_MEAN:
        return latency.count > 0 ? latency.mean : NAN;
    case M_MAX:
        return latency.count > 0 ? latency.max : NAN;
    case M_THROUGHPUT:
        return result_throughput(result);
    case M_GOODPUT:
        return result_goodput(result);
    case M_SELLOUT:
        return result->sellout_s;
    case M_FAIRNESS:
        return result->fairness.ratio;
    case M_SOLD:
        return (double)result->sold;
    case M_SOLD_OUT:
        return (double)result_count(result, OUT_SOLD_OUT);
    case M_BUSY:
        return (double)result_count(result, OUT_BUSY);
    case M_UNKNOWN:
        return (double)result_count(result, OUT_UNKNOWN);
    case M_ERRORS:
        return (double)result_errors(result);
    case M_ERROR_RATE:
        return share_of_errors(result);
    case M_OVERSOLD:
        return (double)result->oversold;
    case M_UNDERSOLD:
        return (double)result->undersold;
    case M_LOST_UPDATES:
        return (double)result->lost_updates;
    case M_DUPLICATES:
        return (double)result->duplicates;
    default:
        return NAN;
    }
}

lt_threshold_state threshold_check(const lt_threshold *threshold, const lt_result *result,
                                   double *ret_observed)
{
    double observed = metric_value(threshold->metric, result), limit = threshold->limit;
    bool or_equal = threshold->compare[1] == '=';
    *ret_observed = observed;
    if (isnan(observed))
        return THRESHOLD_NO_VALUE;
    bool beyond = threshold->compare[0] == '>' ? observed > limit : observed < limit;
    if (or_equal && observed == limit)
        beyond = true;
    return beyond ? THRESHOLD_BROKEN : THRESHOLD_HOLDS;
}
