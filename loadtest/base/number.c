/*
 * strtol() and strtod(), but strict: no leading space, "+", hexadecimal, "inf" or text after the
 * number.
 */
#include "loadtest/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool number_parse_long(const char *text, long low, long high, long *ret)
{
    char *end;
    if (!isdigit((unsigned char)text[*text == '-']))
        return false;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < low || value > high)
        return false;
    *ret = value;
    return true;
}

/* strtod() without hexadecimal, "inf", "nan" and leading space. */
static bool parse_decimal(const char *text, double *ret_value, const char **ret_end)
{
    if (strspn(text, "0123456789.") == 0 || strspn(text, "0xX") > 1)
        return false;
    char *end;
    *ret_value = strtod(text, &end);
    *ret_end = end;
    return end != text && isfinite(*ret_value);
}

bool number_parse_double(const char *text, double low, double high, double *ret)
{
    const char *end;
    double value;
    if (!parse_decimal(text, &value, &end) || *end != '\0' || value < low || value > high)
        return false;
    *ret = value;
    return true;
}

bool number_parse_duration(const char *text, int64_t *ret)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}, {"h", 3600e9}};
    const char *unit;
    double value;
    if (!parse_decimal(text, &value, &unit))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        double ns = value * units[i].ns;
        if (ns < 1.0 || ns > 7 * 86400e9)
            return false;
        *ret = (int64_t)ns;
        return true;
    }
    return false;
}
