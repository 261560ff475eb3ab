/*
 * response.h - how one attempt ended: an HTTP response, or a transport failure with its phase.
 */
#ifndef LOADTEST_RESPONSE_H
#define LOADTEST_RESPONSE_H

#include "loadtest/base/outcome.h"
#include "loadtest/stats/errors.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lt_response {
    bool came; /* an HTTP response, whole */
    long status;
    lt_outcome outcome;
    char order[72]; /* of a 201 */
    char code[64];  /* of anything else: the problem's code, or the name of the failure */
    bool is_error;  /* belongs in the error book, with `phase` and `code` */
    lt_error_phase phase;
    unsigned long bytes_received, bytes_sent;
} lt_response;

/* Reads the end of a performed transfer; `body` is what was received. */
lt_response response_read(CURL *easy, CURLcode result, const char *body, size_t length);

#endif
