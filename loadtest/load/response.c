/*
 * The line that matters runs between "never sent" and "sent, no answer": the first is a definite
 * no, the second is unknown. libcurl tells how many bytes of the request it has written.
 */
#include "loadtest/load/response.h"

#include "loadtest/load/json_member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void read_failure(CURL *easy, CURLcode result, struct answer *answer)
{
    bool was_sent = answer->bytes_sent > 0;
    answer->is_error = true;
    answer->outcome = was_sent ? OUT_UNKNOWN : OUT_ERROR;
    answer->phase = !was_sent                    ? PHASE_CONNECT
                    : result == CURLE_SEND_ERROR ? PHASE_SEND
                                                 : PHASE_WAIT;
    /* After sending, "could not connect" is libcurl's second try, which the buyer refuses. */
    const char *code = failure_code(easy, result);
    if (was_sent && result == CURLE_COULDNT_CONNECT)
        code = "reset";
    snprintf(answer->code, sizeof(answer->code), "%s", code);
}

static void read_answer(long status, const char *body, size_t length, struct answer *answer)
{
    answer->came = true;
    answer->status = status;
    if (status == 201) {
        answer->outcome = OUT_SOLD;
        if (peek_member(body, length, "order", answer->order, sizeof(answer->order)))
            return;
        /* A sale without an order's id can not be checked against the ledger. */
        answer->is_error = true;
        answer->phase = PHASE_ANSWER;
        snprintf(answer->code, sizeof(answer->code), "201_without_order");
        return;
    }
    if (!peek_member(body, length, "code", answer->code, sizeof(answer->code)))
        snprintf(answer->code, sizeof(answer->code), "http_%ld", status);
    answer->outcome = outcome_of_answer(status, answer->code);
    answer->phase = PHASE_ANSWER;
    answer->is_error = answer->outcome == OUT_ERROR || answer->outcome == OUT_UNKNOWN ||
                       answer->outcome == OUT_UNAVAILABLE;
}

struct answer answer_read(CURL *easy, CURLcode result, const char *body, size_t length)
{
    struct answer answer = {.came = false};
    long status = 0, sent = 0, head = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &head);
    answer.bytes_sent = sent > 0 ? (unsigned long)sent : 0;
    answer.bytes_received = (head > 0 ? (unsigned long)head : 0) + length;
    if (result == CURLE_OK && status > 0)
        read_answer(status, body, length, &answer);
    else
        read_failure(easy, result, &answer);
    return answer;
}
