/*
 * Whether there is colour is asked for each time: it costs nothing beside the writing, and no
 * caller has to hand it on.
 */
#include "loadtest/report/style.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static bool has_colour(FILE *out)
{
    const char *refused = getenv("NO_COLOR");
    return (!refused || refused[0] == '\0') && isatty(fileno(out));
}

const char *style_verdict(FILE *out, lt_verdict verdict)
{
    if (!has_colour(out))
        return "";
    if (verdict == VERDICT_SAFE)
        return "\033[1;32m";
    return verdict == VERDICT_INVALID ? "\033[1;33m" : "\033[1;31m";
}

const char *style_bold(FILE *out)
{
    return has_colour(out) ? "\033[1m" : "";
}

const char *style_end(FILE *out)
{
    return has_colour(out) ? "\033[0m" : "";
}

lt_figure figure_of(double value)
{
    lt_figure figure;
    double size = fabs(value);
    int digits = size >= 100.0 ? 0 : size >= 10.0 ? 1 : size >= 1.0 ? 2 : 3;
    if (isnan(value))
        snprintf(figure.text, sizeof(figure.text), "n/a");
    else
        snprintf(figure.text, sizeof(figure.text), "%.*f", value == 0.0 ? 0 : digits, value);
    return figure;
}

lt_figure figure_latency(double ms, int64_t count)
{
    lt_figure figure = figure_of(ms);
    if (isnan(ms))
        snprintf(figure.text, sizeof(figure.text), "n/a (n=%" PRId64 ")", count);
    return figure;
}

lt_figure figure_range(double low, double high)
{
    lt_figure figure, from = figure_of(low), to = figure_of(high);
    snprintf(figure.text, sizeof(figure.text), "%.38s..%.38s", from.text, to.text);
    return figure;
}
