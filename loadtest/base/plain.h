/*
 * plain.h - makes texts from outside (the service, Redis, a file) safe for a terminal. A control
 * character (C0, DEL, C1) could move the cursor, set a title or hide a line, so each of its bytes,
 * and each byte that is not UTF-8, is shown as \xNN.
 */
#ifndef LOADTEST_PLAIN_H
#define LOADTEST_PLAIN_H

#include <cjson/cJSON.h>

/* Makes all texts and names of a document plain; it is only shown from now on. */
void plain_json(cJSON *document);

/* A line on stderr, "loadtest: ...". */
__attribute__((format(printf, 1, 2))) void plain_complain(const char *format, ...);

#endif
