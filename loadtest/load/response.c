/*
 * The line that matters runs between "never sent" and "sent, no answer": the first is a definite
 * no, the second is unknown. libcurl tells how many bytes of the request it has written.
 */
#include "loadtest/load/response.h"

#include "loadtest/load/json_scan.h"

#include <errno.h>
#include <stdio.h>

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
    response->phase = PHASE_ANSWER;
    json_member(body, length, "code", response->code, sizeof(response->code));
    response->outcome = outcome_of_response(status, response->code);
    if (response->outcome == OUT_SOLD) {
        told_read(body, length, &response->told);
        return;
    }
    if (response->code[0] == '\0')
        snprintf(response->code, sizeof(response->code), "http_%ld", status);
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

bool response_denies_sale(const lt_response *response)
{
    static const long for_now[] = {408, 425, 429, 499};
    bool refused =
        response->outcome == OUT_ERROR && response->status >= 400 && response->status < 500;
    for (size_t i = 0; i < sizeof(for_now) / sizeof(for_now[0]); i++)
        refused = refused && response->status != for_now[i];
    return refused || response->outcome == OUT_SOLD_OUT || response->outcome == OUT_LIMIT;
}
