/*
 * Colour is decided on every call: this costs nothing compared with writing, and no caller has to
 * pass it on.
 */
#include "loadtest/report/style.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_WIDTH 13

static bool has_colour(FILE *out)
{
    const char *refused = getenv("NO_COLOR");
    return (!refused || refused[0] == '\0') && isatty(fileno(out));
}

const char *style_verdict(FILE *out, const char *verdict)
{
    if (!has_colour(out))
        return "";
    if (strcmp(verdict, "SAFE") == 0)
        return "\033[1;32m";
    bool doubt = strcmp(verdict, "INVALID") == 0 || strcmp(verdict, "COUNTS_ONLY") == 0;
    return doubt ? "\033[1;33m" : "\033[1;31m";
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

lt_figure figure_short(double value, int width)
{
    static const char units[] = "kMGTP";
    lt_figure figure = figure_of(value);
    size_t unit = 0;
    if (value == round(value))
        snprintf(figure.text, sizeof(figure.text), "%.0f", value);
    if ((int)strlen(figure.text) <= width)
        return figure;
    for (value /= 1000.0; fabs(value) >= 999.5 && unit + 2 < sizeof(units); unit++)
        value /= 1000.0;
    int digits = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(figure.text, sizeof(figure.text), "%.*f%c", digits, value, units[unit]);
    return figure;
}

lt_figure figure_count(double count)
{
    lt_figure figure;
    char digits[32];
    if (isnan(count))
        return figure_of(count);
    snprintf(digits, sizeof(digits), "%.0f", count);
    size_t length = strlen(digits), to = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0)
            figure.text[to++] = ',';
        figure.text[to++] = digits[i];
    }
    figure.text[to] = '\0';
    return figure;
}

lt_figure figure_name(const char *name, int width)
{
    lt_figure figure;
    int length = (int)strlen(name), head = width / 2;
    if (length <= width)
        snprintf(figure.text, sizeof(figure.text), "%s", name);
    else
        snprintf(figure.text, sizeof(figure.text), "%.*s~%s", head, name,
                 name + length - (width - head - 1));
    return figure;
}

void style_wrap(FILE *out, const char *name, int lines, const char *format, ...)
{
    char text[1024], *at = text;
    int indent = name ? NAME_WIDTH : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (int line = 0; line < lines && (line == 0 || *at != '\0'); line++) {
        size_t room = (size_t)(STYLE_COLUMNS - indent), length = strlen(at);
        bool cut = length > room && line == lines - 1;
        if (length > room) {
            length = cut ? room - 3 : room;
            while (!cut && length > 0 && at[length] != ' ')
                length--;
            length = length == 0 ? room : length; /* one long word */
        }
        fprintf(out, "%-*s%.*s%s\n", indent, line == 0 && name ? name : "", (int)length, at,
                cut ? "..." : "");
        at += length;
        at += strspn(at, " ");
    }
}
