/*
 * response.h - how one attempt ended: an HTTP answer, or a transport failure with its phase.
 */
#ifndef LOADTEST_RESPONSE_H
#define LOADTEST_RESPONSE_H

#include "loadtest/base/outcome.h"
#include "loadtest/load/told.h"
#include "loadtest/stats/errors.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lt_response {
    bool came; /* an HTTP answer, whole */
    long status;
    lt_outcome outcome;
    lt_told told;  /* by a 201 */
    char code[64]; /* of anything else: the problem's code, or the name of the failure */
    bool is_error; /* counted among the errors, with `phase` and `code` */
    lt_error_phase phase;
    long bytes_received, bytes_sent;
} lt_response;

/* Reads the end of a performed transfer; `body` is what was received. */
lt_response response_read(CURL *easy, CURLcode result, const char *body, size_t length);

/* Whether it says for good that there is no such sale, and not only that now is no good time. */
bool response_denies_sale(const lt_response *response);

#endif
