/*
 * number.h - numbers that people write on the command line, parsed strictly.
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

#endif
