/*
 * parts.h - which parts of the document the answers have used, where it leaves them a choice:
 * members, the values of an enum, the schemas of a oneOf, the types of a list, headers, and the
 * types of a body. One that no answer has used says what the service does not do.
 */
#ifndef TESTS_SERVER_OPENAPI_PARTS_H
#define TESTS_SERVER_OPENAPI_PARTS_H

#include "tests/server/openapi/walk.h"

#include <cjson/cJSON.h>

/* Notes a part as used. */
void parts_note(const cJSON *part);
void parts_forget(void);

/* Prints those parts of all answers of the document that were not used, and counts them; no code
 * that is excused. */
int parts_missing(const walk_excuse *excuses);

#endif
