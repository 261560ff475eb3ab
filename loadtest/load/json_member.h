/*
 * json_member.h - one string member of a small JSON object, without building a tree.
 *
 * A buyer needs two members of each answer, "order" or "code", at 50,000 answers a second. Answers
 * whose numbers matter (GET /stock, the ledger) are parsed properly, with cJSON.
 */
#ifndef LOADTEST_JSON_MEMBER_H
#define LOADTEST_JSON_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the value of the outermost member `name` of the object `json` (of `length` bytes) into
 * `value`, which has room for `size` bytes and is always terminated. A number is copied as it is
 * written. False, with an empty value, when there is no such member, when it is neither string nor
 * number, when it has an escape or does not fit.
 */
bool json_member(const char *json, size_t length, const char *name, char *value, size_t size);

#endif
