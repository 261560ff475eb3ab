/*
 * response.h - how one attempt ended: an HTTP answer, or a transport failure with its phase.
 */
#ifndef LOADTEST_RESPONSE_H
#define LOADTEST_RESPONSE_H

#include "loadtest/base/outcome.h"
#include "loadtest/stats/errors.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lt_response {
    bool came; /* an HTTP answer, whole */
    long status;
    lt_outcome outcome;
    char order[72]; /* of a 201 */
    char code[64];  /* of anything else: the problem's code, or the name of the failure */
    bool is_error;  /* counted among the errors, with `phase` and `code` */
    lt_error_phase phase;
    long bytes_received, bytes_sent;
} lt_response;

/* Reads the end of a performed transfer; `body` is what was received. */
lt_response response_read(CURL *easy, CURLcode result, const char *body, size_t length);

/*
 * Copies the value of the outermost member `name` of the object `json` (of `length` bytes) into
 * `value`, which has room for `size` bytes and is always terminated. A number is copied as it is
 * written. False, with an empty value, when there is no such member, when it is neither string nor
 * number, when it has an escape or does not fit.
 *
 * A buyer needs one member of each answer, "order" or "code", at 50,000 answers a second: too many
 * to build trees. Answers whose numbers matter (GET /stock, the ledger) are parsed with cJSON.
 */
bool json_member(const char *json, size_t length, const char *name, char *value, size_t size);

#endif
