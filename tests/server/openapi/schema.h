/*
 * schema.h - whether a value is as a schema of an OpenAPI 3.1 document says: the part of JSON
 * Schema (draft 2020-12) that the document uses. A keyword beyond that part is a fault, never
 * ignored.
 */
#ifndef TESTS_SERVER_OPENAPI_SCHEMA_H
#define TESTS_SERVER_OPENAPI_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* The object itself, or what its $ref leads to in the document; NULL = nothing. */
const cJSON *schema_follow(const cJSON *document, const cJSON *object);

/* Whether the schema accepts the value; if not, a sentence in err. */
bool schema_accepts(const cJSON *document, const cJSON *schema, const cJSON *value, char *err,
                    size_t err_len);

/* Calls `note` with each part that the schema has chosen for a value which it accepts: a member's
 * schema, a value of an enum, one schema of a oneOf, one type of several. */
void schema_note(const cJSON *document, const cJSON *schema, const cJSON *value,
                 void (*note)(const cJSON *part));

/* Whether all keywords of the schema, and of those within it, are known here. */
bool schema_is_known(const cJSON *schema, char *err, size_t err_len);

#endif
