/*
 * html.h - the result file as one page that needs nothing else: no network, no other file.
 *
 * The page is report/page.html with its style and scripts, embedded at build time; the data is the
 * JSON of json.h, which the page draws from and which can be copied out of it.
 */
#ifndef LOADTEST_HTML_H
#define LOADTEST_HTML_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the page around a JSON document. False when writing failed. */
bool report_html(FILE *out, const char *json);

#endif
