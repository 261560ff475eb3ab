/*
 * number.h - numbers as people write them on the command line, parsed strictly; the smaller and
 * larger of two; printable texts.
 */
#ifndef LOADTEST_NUMBER_H
#define LOADTEST_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* A whole decimal number within low..high and nothing after it. */
bool number_parse_long(const char *text, long low, long high, long *ret);

/* A finite decimal number within low..high and nothing after it. */
bool number_parse_double(const char *text, double low, double high, double *ret);

/* "250ms", "1.5s", "30" (seconds), "5m", as nanoseconds; greater than zero. */
bool number_parse_duration(const char *text, int64_t *ret);

static inline int64_t number_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t number_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Makes a line printable: everything but printable ASCII becomes "?". For texts from a service. */
static inline void text_make_printable(char *text)
{
    for (; *text != '\0'; text++)
        *text = *text < ' ' || *text > '~' ? '?' : *text;
}

#endif
