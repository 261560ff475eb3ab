/*
 * Figures that several reports derive from a result.
 */
#include "loadtest/result/result.h"

#include "loadtest/base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void result_invalid(lt_result *result, const char *format, ...)
{
    if (result->reason_count == REASONS_MAX)
        return;
    va_list args;
    va_start(args, format);
    char *reason = result->reasons[result->reason_count++];
    vsnprintf(reason, sizeof(result->reasons[0]), format, args);
    va_end(args);
    text_make_printable(reason);
}

void result_free(lt_result *result)
{
    tally_free(result->tally);
    histogram_free(result->all_due);
    free(result->bins);
    free(result->watch.samples);
    free(result->user_sales);
    *result = (lt_result){.sale = ""};
}

double result_throughput(const lt_result *result)
{
    if (!result->tally || !(result->elapsed_s > 0.0))
        return 0.0;
    return (double)counter_get(&result->tally->completed) / result->elapsed_s;
}

double result_goodput(const lt_result *result)
{
    double span_s = isnan(result->sellout_s) ? result->elapsed_s : result->sellout_s;
    return span_s > 0.0 ? (double)result->sold / span_s : 0.0;
}

lt_latency result_latency(const lt_result *result, int series)
{
    if (!result->tally)
        return latency_of(NULL);
    return latency_of(tally_histogram(&result->tally->from_due[series]));
}

lt_latency result_headline(const lt_result *result)
{
    lt_histogram *h = !result->tally ? NULL : tally_headline(result->tally);
    lt_latency latency = latency_of(h);
    histogram_free(h);
    return latency;
}

int64_t result_errors(const lt_result *result)
{
    return result_count(result, OUT_ERROR) + result_count(result, OUT_UNAVAILABLE);
}

double result_error_rate(const lt_result *result)
{
    double issued = !result->tally ? 0.0 : (double)counter_get(&result->tally->issued);
    return (double)(result_errors(result) + result_count(result, OUT_UNKNOWN)) / issued;
}
