/*
 * json_scan.h - a few members of a small JSON object, without building a tree.
 *
 * A buyer needs "order", "code" and their like of each answer, at 50,000 answers a second: too many
 * to build trees. Answers that are read once (GET /stock, the ledger) are parsed with cJSON.
 */
#ifndef LOADTEST_JSON_SCAN_H
#define LOADTEST_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* A member to look for, and the room for its value. */
typedef struct lt_json_member {
    const char *name;
    char *value;
    size_t size;
    bool number; /* a value in quotes is none */
} lt_json_member;

/*
 * Copies the values of these outermost members of the object `json` (of `length` bytes), each
 * terminated; the first usable one of that name counts. A number is copied as it is written. The
 * value is empty when there is no such member, when it is neither string nor number, when it has an
 * escape or does not fit. Returns whether `json` is one whole object, with nothing before or behind
 * it, that has none of these members twice. No more than 32 of them.
 */
bool json_members(const char *json, size_t length, const lt_json_member *members, size_t count);

/* Likewise of a single one. False: its value is empty. */
bool json_member(const char *json, size_t length, const char *name, char *value, size_t size);

#endif
