/*
 * plain.h - texts from outside on their way to a terminal: of the service, of Redis, of a file. A
 * control character (C0, DEL, C1) in them would move the cursor, set a title or hide a line, so
 * each byte of one, and of what is no UTF-8, is shown as \xNN.
 */
#ifndef LOADTEST_PLAIN_H
#define LOADTEST_PLAIN_H

#include <cjson/cJSON.h>

/* All texts and names of a document that is only shown from now on. */
void plain_json(cJSON *document);

/* A line on stderr, "loadtest: ...". */
__attribute__((format(printf, 1, 2))) void plain_complain(const char *format, ...);

#endif
