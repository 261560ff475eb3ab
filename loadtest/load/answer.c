/*
 * The important distinction is between "never sent" and "sent, no answer": the first is a definite
 * no, the second is unknown. libcurl says how many bytes of the request it has written.
 */
#include "loadtest/load/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "loadtest/base/hash.h"

/* ---- the body -------------------------------------------------------------------------------- */

size_t body_receive(char *data, size_t size, size_t count, void *user)
{
    lt_body *body = user;
    size_t length = size * count, kept = length;
    if (body->length + length > body->room) {
        size_t room = (body->length + length) * 2;
        char *text = body->room >= ANSWER_BODY_MAX
                         ? NULL
                         : realloc(body->text, room < ANSWER_BODY_MAX ? room : ANSWER_BODY_MAX);
        if (text) {
            body->text = text;
            body->room = room < ANSWER_BODY_MAX ? room : ANSWER_BODY_MAX;
        }
        kept = body->room - body->length < length ? body->room - body->length : length;
    }
    if (kept > 0)
        memcpy(body->text + body->length, data, kept);
    body->length += kept;
    body->cut = body->cut || kept < length;
    return length;
}

void body_release(lt_body *body)
{
    free(body->text);
    *body = (lt_body){.text = NULL};
}

/* ---- failures -------------------------------------------------------------------------------- */

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

static void read_failure(CURL *easy, CURLcode result, lt_answer *answer)
{
    answer->is_error = true;
    answer->outcome = answer->sent ? OUT_UNKNOWN : OUT_ERROR;
    answer->phase = !answer->sent                ? PHASE_CONNECT
                    : result == CURLE_SEND_ERROR ? PHASE_SEND
                                                 : PHASE_WAIT;
    /* After sending, "could not connect" is libcurl's second try, which the buyer refuses. */
    const char *code = failure_code(easy, result);
    if (answer->sent && result == CURLE_COULDNT_CONNECT)
        code = "reset";
    snprintf(answer->code, sizeof(answer->code), "%s", code);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *header(CURL *easy, const char *name)
{
    struct curl_header *found;
    return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value
                                                                                  : NULL;
}

/* Why the body can not be read; NULL: it can. */
static const char *why_unread(CURL *easy, const lt_answer *answer, const lt_body *body)
{
    const char *coding = header(easy, "Content-Encoding");
    if (answer->status >= 300 && answer->status < 400)
        return "redirect";
    if (coding && strcasecmp(coding, "identity") != 0)
        return "compressed";
    return body->cut ? "cut" : NULL;
}

static bool is_twice(const lt_order *told)
{
    return told->order.form == FORM_TWICE || told->request.form == FORM_TWICE ||
           told->item.form == FORM_TWICE || told->sale.form == FORM_TWICE ||
           told->user.form == FORM_TWICE || told->quantity.form == FORM_TWICE ||
           told->remaining.form == FORM_TWICE || told->fence.form == FORM_TWICE;
}

static void read_order(CURL *easy, lt_answer *answer, const cJSON *json)
{
    const char *location = header(easy, "Location");
    order_from_json(json, &answer->told);
    if (is_twice(&answer->told) && !answer->unread)
        answer->unread = "twice";
    snprintf(answer->location, sizeof(answer->location), "%s", location ? location : "");
}

static void read_body(CURL *easy, const lt_body *body, lt_answer *answer)
{
    bool has_order = answer->status == 200 || answer->status == 201;
    answer->unread = why_unread(easy, answer, body);
    cJSON *json = answer->unread || body->length == 0 ? NULL : json_parse(body->text, body->length);
    if (!answer->unread && !cJSON_IsObject(json) && has_order)
        answer->unread = "no-json";
    lt_text code = json_read_text(json, "code");
    memcpy(answer->code, code.text, sizeof(answer->code) - 1);
    if (has_order) {
        read_order(easy, answer, json);
        answer->body_hash = lt_hash(body->text, body->length);
    } else { /* what a refusal may name */
        answer->told.request = json_read_text(json, "request");
        answer->told.sale = json_read_id(json, "sale");
    }
    const char *replayed = header(easy, "Idempotency-Replayed");
    answer->replayed = replayed && strcasecmp(replayed, "true") == 0;
    answer->final = json_is_true(json, "final");
    cJSON_Delete(json);
}

static void read_answer(CURL *easy, const lt_body *body, lt_answer *answer)
{
    answer->came = true;
    answer->phase = PHASE_ANSWER;
    read_body(easy, body, answer);
    answer->outcome = outcome_of_response(answer->status, answer->code);
    answer->is_error = answer->unread || answer->outcome == OUT_ERROR ||
                       answer->outcome == OUT_UNKNOWN || answer->outcome == OUT_UNAVAILABLE;
}

void answer_read(CURL *easy, CURLcode result, const lt_body *body, lt_answer *ret)
{
    long sent = 0, head = 0;
    *ret = (lt_answer){.came = false};
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &head);
    ret->bytes_sent = sent;
    ret->sent = sent > 0;
    ret->bytes_received = head + (long)body->length;
    if (result == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &ret->status);
    if (ret->status > 0)
        read_answer(easy, body, ret);
    else
        read_failure(easy, result, ret);
}

/* ---- the history ----------------------------------------------------------------------------- */

static void write_question(lt_pen *pen, const lt_question *question)
{
    bool buys = question->user && !question->ending;
    pen_word(pen, question->ending ? question->ending : buys ? "ask" : "look");
    pen_time(pen, "from", question->from);
    pen_time(pen, "to", question->to);
    pen_text(pen, "request", question->request);
    if (buys)
        pen_text(pen, "user", question->user);
    if (buys && question->quantity != 1)
        pen_number(pen, "quantity", question->quantity);
    pen_number(pen, "target", question->target);
    if (question->asked)
        pen_text(pen, "asked", question->asked);
    if (question->not_after_us > 0)
        pen_number(pen, "not_after", question->not_after_us);
}

static void write_yes(lt_pen *pen, const lt_question *question, const lt_answer *answer)
{
    char hash[20];
    if (question->user && !question->ending && answer->location[0] != '\0')
        pen_text(pen, "location", answer->location);
    snprintf(hash, sizeof(hash), "%016" PRIx64, answer->body_hash);
    pen_raw(pen, "body", hash);
    order_write_told(pen, &answer->told);
}

static void write_no(lt_pen *pen, const lt_answer *answer)
{
    if (answer->told.request.form == FORM_GOOD)
        pen_text(pen, "told_request", answer->told.request.text);
    if (answer->told.sale.form == FORM_GOOD)
        pen_text(pen, "sale", answer->told.sale.text);
}

void answer_write(lt_pen *pen, const lt_question *question, const lt_answer *answer)
{
    write_question(pen, question);
    pen_number(pen, "status", answer->status);
    if (!answer->came && !answer->sent && question->user && !question->ending)
        pen_number(pen, "sent", 0);
    if (answer->came && answer->code[0] != '\0')
        pen_text(pen, "code", answer->code);
    if (answer->final && !question->user)
        pen_number(pen, "final", 1);
    if (answer->unread)
        pen_raw(pen, "unread", answer->unread);
    bool yes = answer->status == 200 || answer->status == 201;
    if (question->user && !question->ending && (yes || answer->replayed))
        pen_number(pen, "replayed", answer->replayed);
    if (yes)
        write_yes(pen, question, answer);
    else
        write_no(pen, answer);
    pen_line(pen);
}
