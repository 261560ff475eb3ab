/*
 * json_file.h - reads JSON files back: results and benches.
 */
#ifndef LOADTEST_JSON_FILE_H
#define LOADTEST_JSON_FILE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/*
 * Reads a file: one object with "schema": 1, and nothing after it. Otherwise NULL, with a sentence
 * in `err` that says it is not `kind`. The caller deletes the document.
 *
 * An object may have a member twice, and readers differ in which one they see; a caller that relies
 * on a type checks all of them.
 */
cJSON *json_file_read(const char *path, const char *kind, char *err, size_t err_len);

#endif
