/*
 * json_file.h - files of JSON that are read back: results and benches.
 */
#ifndef LOADTEST_JSON_FILE_H
#define LOADTEST_JSON_FILE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/*
 * The document of a file: one object with "schema": 1, and nothing behind it. NULL, with a sentence
 * in `err` that says it is not `kind`, else. The caller deletes it.
 *
 * An object may have a member twice, and readers differ in which one they see; who relies on a type
 * checks all of them.
 */
cJSON *json_file_read(const char *path, const char *kind, char *err, size_t err_len);

#endif
