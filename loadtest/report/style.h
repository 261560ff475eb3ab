/*
 * style.h - colour and number formats of the reports for people.
 *
 * Colour never carries meaning alone; it is left out when the stream is no terminal, or NO_COLOR
 * is set to anything.
 */
#ifndef LOADTEST_STYLE_H
#define LOADTEST_STYLE_H

#include "loadtest/result/result.h"

#include <stdio.h>

/* Starts bold red, green or yellow for a verdict; "" without colour. */
const char *style_verdict(FILE *out, lt_verdict verdict);
const char *style_bold(FILE *out);
const char *style_end(FILE *out);

typedef struct lt_figure {
    char text[80];
} lt_figure;

/* A number with about three digits that matter: "0.183", "12.4", "1250"; "n/a" for NAN. */
lt_figure figure_of(double value);

/* "120..135" */
lt_figure figure_range(double low, double high);

/* A latency in ms; where too few samples make it NAN, "n/a (n=812)". */
lt_figure figure_latency(double ms, int64_t count);

#endif
