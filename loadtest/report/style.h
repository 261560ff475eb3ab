/*
 * style.h - colour and number formats of the reports for people.
 *
 * Colour never carries meaning alone; there is none when the stream is no terminal, or NO_COLOR is
 * set to anything.
 */
#ifndef LOADTEST_STYLE_H
#define LOADTEST_STYLE_H

#include <stdio.h>

#define STYLE_COLUMNS 80 /* of a terminal */

/* Starts bold red, green or yellow for a verdict, by its name; "" without colour. */
const char *style_verdict(FILE *out, const char *verdict);
const char *style_bold(FILE *out);
const char *style_end(FILE *out);

typedef struct lt_figure {
    char text[80];
} lt_figure;

/* A number with about three digits that matter: "0.183", "12.4", "1250"; "n/a" for NAN. */
lt_figure figure_of(double value);

/* A number in at most `width` characters (at least 5): whole numbers as they are, large ones as
 * "100k", "1.23M". */
lt_figure figure_short(double value, int width);

/* A whole number for a sentence: "4,000". */
lt_figure figure_count(double count);

/* A name in at most `width` columns: a longer one loses its middle, as "setnx:wa~ms=500". */
lt_figure figure_name(const char *name, int width);

/*
 * Writes a text in at most so many lines of STYLE_COLUMNS; a longer text ends in "...". A name
 * stands before the first line, and the other lines are indented.
 */
void style_wrap(FILE *out, const char *name, int lines, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
