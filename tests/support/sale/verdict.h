/*
 * verdict.h - what a history says, by `loadtest verify`.
 */
#ifndef TESTS_SUPPORT_SALE_VERDICT_H
#define TESTS_SUPPORT_SALE_VERDICT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

enum { VERDICT_UNKNOWN = -1 }; /* of a figure */

/* The judge's answer as JSON; NULL when it could not read the history, with its words on stderr.
 * `recovery_ms`: a buy succeeds so soon behind a heal; 0: the sale's lease and a second. */
cJSON *verdict_ask(const char *history, int recovery_ms);

/* A figure; VERDICT_UNKNOWN: the judge could not say it. */
long long verdict_figure(const cJSON *answer, const char *name);

/* How many guarantees are in that state ("violated", "unchecked"): those with that id ("I2"); NULL:
 * all but that all was sold. */
int verdict_count(const cJSON *answer, const char *id, const char *state);

/* How often the guarantee of that name is violated. */
long long verdict_violations(const cJSON *answer, const char *name);

/* Fails the running test unless it is SAFE. */
void verdict_expect_safe(const char *history);

#endif
