/*
 * The line that matters runs between "never sent" and "sent, no answer": the first is a definite
 * no, the second is unknown. libcurl tells how many bytes of the request it has written.
 */
#include "loadtest/load/response.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SPACE  " \t\r\n"
#define NUMBER "0123456789-+.eE"

/* ---- one member of the body -------------------------------------------------------------------
 */

/* The position after the string that starts at `at` (a quote), or `end`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at < end ? at + 1 : end;
}

/* The first character from `at` on that is none of `set`, or `end`. */
static const char *skip(const char *at, const char *end, const char *set)
{
    while (at < end && memchr(set, *at, strlen(set)))
        at++;
    return at;
}

static bool copy_value(const char *at, const char *end, char *value, size_t size)
{
    bool quoted = *at == '"';
    at += quoted;
    const char *stop = quoted ? memchr(at, '"', (size_t)(end - at)) : skip(at, end, NUMBER);
    if (!stop || stop == at || (size_t)(stop - at) >= size || memchr(at, '\\', (size_t)(stop - at)))
        return false;
    memcpy(value, at, (size_t)(stop - at));
    value[stop - at] = '\0';
    return true;
}

/*
 * A scan over the tokens of the outermost object: strings are skipped whole, so a name inside a
 * value is never taken for a member, and nesting is only counted.
 */
bool json_member(const char *json, size_t length, const char *name, char *value, size_t size)
{
    const char *end = json + length;
    size_t name_length = strlen(name);
    int depth = 0;
    value[0] = '\0';
    for (const char *at = json; at < end;) {
        if (*at != '"') {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
            continue;
        }
        const char *text = at + 1;
        at = skip_string(at, end);
        const char *colon = skip(at, end, SPACE);
        if (depth != 1 || colon == end || *colon != ':')
            continue;
        at = skip(colon + 1, end, SPACE);
        if (text + name_length < end && memcmp(text, name, name_length) == 0 &&
            text[name_length] == '"')
            return at < end && copy_value(at, end, value, size);
    }
    return false;
}

/* ---- the attempt --------------------------------------------------------------------------------
 */

static const char *failure_code(CURL *easy, CURLcode result)
{
    long os_errno = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_errno);
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "unresolved";
    case CURLE_OPERATION_TIMEDOUT:
        return "timeout";
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return "closed_early";
    case CURLE_COULDNT_CONNECT:
        return os_errno == ECONNREFUSED ? "refused" : "not_connected";
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return "reset";
    default:
        return "transport";
    }
}

static void read_failure(CURL *easy, CURLcode result, lt_response *response)
{
    bool was_sent = response->bytes_sent > 0;
    response->is_error = true;
    response->outcome = was_sent ? OUT_UNKNOWN : OUT_ERROR;
    response->phase = !was_sent                    ? PHASE_CONNECT
                      : result == CURLE_SEND_ERROR ? PHASE_SEND
                                                   : PHASE_WAIT;
    /* After sending, "could not connect" is libcurl's second try, which the buyer refuses. */
    const char *code = failure_code(easy, result);
    if (was_sent && result == CURLE_COULDNT_CONNECT)
        code = "reset";
    snprintf(response->code, sizeof(response->code), "%s", code);
}

static void read_response(long status, const char *body, size_t length, lt_response *response)
{
    response->came = true;
    response->status = status;
    if (status == 201) {
        response->outcome = OUT_SOLD;
        if (json_member(body, length, "order", response->order, sizeof(response->order)))
            return;
        /* A sale without an order's id can not be checked against the ledger. */
        response->is_error = true;
        response->phase = PHASE_ANSWER;
        snprintf(response->code, sizeof(response->code), "201_without_order");
        return;
    }
    if (!json_member(body, length, "code", response->code, sizeof(response->code)))
        snprintf(response->code, sizeof(response->code), "http_%ld", status);
    response->outcome = outcome_of_response(status, response->code);
    response->phase = PHASE_ANSWER;
    response->is_error = response->outcome == OUT_ERROR || response->outcome == OUT_UNKNOWN ||
                         response->outcome == OUT_UNAVAILABLE;
}

lt_response response_read(CURL *easy, CURLcode result, const char *body, size_t length)
{
    lt_response response = {.came = false};
    long status = 0, sent = 0, head = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &head);
    response.bytes_sent = sent;
    response.bytes_received = head + (long)length;
    if (result == CURLE_OK && status > 0)
        read_response(status, body, length, &response);
    else
        read_failure(easy, result, &response);
    return response;
}
