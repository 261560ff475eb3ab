/*
 * From an answer's bytes to its line in the history: every status, header and member that counts,
 * and what of them is left out.
 */
#include "tests/loadtest/service/canned.h"

#include "loadtest/base/hash.h"
#include "loadtest/load/answer.h"

#include <inttypes.h>

#define JSON "application/json"
#define ORDER                                                                                      \
    "{\"order\":7,\"request\":\"r\",\"item\":\"P\",\"sale\":\"s\",\"user\":\"u\",\"quantity\":1}"
#define TOLD " order=7 told_request=r told_item=P sale=s told_user=u told_quantity=1"

/* Asks for it, as a buyer does, and reads the answer; the body's hash is in `hash`. */
static lt_answer ask(const canned_answer *answer, char hash[20])
{
    lt_body body = {.text = NULL};
    lt_answer got;
    char url[64];
    canned_set(answer, 1);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/buy", canned.port);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    CURLcode code = curl_easy_perform(easy);
    answer_read(easy, code, &body, &got);
    assert_true(!got.came || got.bytes_received > (long)strlen(answer->body));
    snprintf(hash, 20, "%016" PRIx64, lt_hash(body.text, body.length));
    curl_easy_cleanup(easy);
    body_release(&body);
    return got;
}

/* The line of the history, from `status` on. */
static void line_of(const lt_question *question, const lt_answer *answer, char *ret, size_t size)
{
    char failed[256], text[2048];
    lt_recorder *recorder = recorder_open(NULL, failed, sizeof(failed));
    assert_non_null(recorder);
    lt_pen *pen = pen_new(recorder);
    answer_write(pen, question, answer);
    pen_free(pen);
    FILE *file = fopen(recorder_path(recorder), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    recorder_free(recorder);
    char *line = strchr(text, '\n') + 1;
    line[strcspn(line, "\n")] = '\0';
    snprintf(ret, size, "%s", line);
}

typedef enum who { BUYER, LOOK, CONFIRM } who;

static const struct {
    canned_answer answer;
    who who;
    lt_outcome outcome;
    bool is_error;
    const char *line; /* from the status on; # is the body's hash */
} answers[] = {
    {{201, ORDER, JSON}, BUYER, OUT_SOLD, false, "status=201 replayed=0 body=#" TOLD},
    {{201, ORDER, JSON "\r\nLocation: /orders/r"},
     BUYER,
     OUT_SOLD,
     false,
     "status=201 replayed=0 location=/orders/r body=#" TOLD},
    {{201, ORDER, JSON "\r\nIdempotency-Replayed: TRUE"},
     BUYER,
     OUT_SOLD,
     false,
     "status=201 replayed=1 body=#" TOLD},
    {{201, ORDER, JSON "\r\nIdempotency-Replayed: false"},
     BUYER,
     OUT_SOLD,
     false,
     "status=201 replayed=0 body=#" TOLD},
    {{200, ORDER, JSON "\r\nLocation: /orders/r"},
     LOOK,
     OUT_UNKNOWN,
     true,
     "status=200 body=#" TOLD},
    {{200, ORDER, JSON "\r\nLocation: /orders/r"},
     CONFIRM,
     OUT_UNKNOWN,
     true,
     "status=200 body=#" TOLD},
    {{201, ORDER, JSON "\r\nContent-Encoding: identity"},
     BUYER,
     OUT_SOLD,
     false,
     "status=201 replayed=0 body=#" TOLD},
    {{201, ORDER, JSON "\r\nContent-Encoding: gzip"},
     BUYER,
     OUT_SOLD,
     true,
     "status=201 unread=compressed replayed=0 body=#"},
    {{201, "nothing", "text/plain"},
     BUYER,
     OUT_SOLD,
     true,
     "status=201 unread=no-json replayed=0 body=#"},
    {{201, "[]", JSON}, BUYER, OUT_SOLD, true, "status=201 unread=no-json replayed=0 body=#"},
    {{201, "", JSON}, BUYER, OUT_SOLD, true, "status=201 unread=no-json replayed=0 body=#"},
    {{302, "{\"code\":\"x\"}", JSON "\r\nLocation: /a"},
     BUYER,
     OUT_UNKNOWN,
     true,
     "status=302 unread=redirect"},
    {{300, "", ""}, BUYER, OUT_UNKNOWN, true, "status=300 unread=redirect"},
    {{399, "", ""}, BUYER, OUT_UNKNOWN, true, "status=399 unread=redirect"},
    {{299, "", ""}, BUYER, OUT_UNKNOWN, true, "status=299"},
    {{409, "{\"code\":\"sold_out\",\"sale\":\"s\"}", JSON},
     BUYER,
     OUT_SOLD_OUT,
     false,
     "status=409 code=sold_out sale=s"},
    {{409, "{\"code\":\"limit_reached\",\"sale\":9}", JSON},
     BUYER,
     OUT_LIMIT,
     false,
     "status=409 code=limit_reached sale=9"},
    {{503, "{\"code\":\"busy\"}", JSON}, BUYER, OUT_BUSY, false, "status=503 code=busy"},
    {{503, "{\"code\":\"writes_paused\"}", JSON},
     BUYER,
     OUT_UNAVAILABLE,
     true,
     "status=503 code=writes_paused"},
    {{503, "", "text/html"}, BUYER, OUT_UNKNOWN, true, "status=503"},
    {{400, "", ""}, BUYER, OUT_ERROR, true, "status=400"},
    {{408, "", ""}, BUYER, OUT_UNKNOWN, true, "status=408"},
    {{408, "{\"code\":\"late\"}", JSON}, BUYER, OUT_ERROR, true, "status=408 code=late"},
    {{499, "", ""}, BUYER, OUT_UNKNOWN, true, "status=499"},
    {{404, "{\"code\":\"no_order\",\"final\":true}", JSON},
     LOOK,
     OUT_ERROR,
     true,
     "status=404 code=no_order final=1"},
    {{404, "{\"code\":\"no_order\",\"final\":1}", JSON},
     LOOK,
     OUT_ERROR,
     true,
     "status=404 code=no_order"},
    {{404, "{\"code\":\"no_order\",\"final\":true}", JSON},
     BUYER,
     OUT_ERROR,
     true,
     "status=404 code=no_order"},
    {{0, "", ""}, BUYER, OUT_UNKNOWN, true, "status=0"},
};

static void every_answer_has_its_line(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(answers); i++) {
        char hash[20], line[1024], expected[1024], head[200];
        lt_question question = {.request = "r",
                                .user = answers[i].who == LOOK ? NULL : "u",
                                .ending = answers[i].who == CONFIRM ? "confirm" : NULL,
                                .quantity = 1,
                                .target = 2,
                                .from = 5 * NS_PER_US,
                                .to = 9 * NS_PER_US};
        lt_answer answer = ask(&answers[i].answer, hash);
        line_of(&question, &answer, line, sizeof(line));
        snprintf(head, sizeof(head), "%s from=5 to=9 request=r%s target=2",
                 answers[i].who == BUYER  ? "ask"
                 : answers[i].who == LOOK ? "look"
                                          : "confirm",
                 answers[i].who == BUYER ? " user=u" : "");
        size_t at = strcspn(answers[i].line, "#");
        snprintf(expected, sizeof(expected), "%s %.*s%s%s", head, (int)at, answers[i].line,
                 answers[i].line[at] ? hash : "",
                 answers[i].line[at] ? answers[i].line + at + 1 : "");
        if (strcmp(line, expected) != 0 || answer.outcome != answers[i].outcome ||
            answer.is_error != answers[i].is_error)
            fail_msg("answer %zu: outcome %d, error %d, %s", i, (int)answer.outcome,
                     (int)answer.is_error, line);
    }
}

/* Any member that decides, told twice. */
static void what_is_told_twice_is_unread(void **unused)
{
    (void)unused;
    static const char *const members[] = {"order", "request",  "item",      "sale",
                                          "user",  "quantity", "remaining", "fence"};
    for (size_t i = 0; i < COUNT(members); i++) {
        char hash[20], body[128];
        snprintf(body, sizeof(body), "{\"%s\":1,\"%s\":1}", members[i], members[i]);
        lt_answer answer = ask(&(canned_answer){201, body, NULL}, hash);
        assert_true(answer.is_error && answer.unread);
        assert_string_equal(answer.unread, "twice");
    }
}

/* What was asked is told beside it. */
static void a_question_is_written_as_it_was_put(void **unused)
{
    (void)unused;
    lt_answer none = {.came = false};
    char line[512];
    lt_question question = {.request = "r",
                            .user = "u",
                            .asked = "s2",
                            .quantity = 3,
                            .target = 1,
                            .from = 5 * NS_PER_US,
                            .to = 9 * NS_PER_US};
    line_of(&question, &none, line, sizeof(line));
    assert_string_equal(line, "ask from=5 to=9 request=r user=u quantity=3 target=1 asked=s2 "
                              "status=0 sent=0");
    none.sent = true;
    line_of(&question, &none, line, sizeof(line));
    assert_string_equal(line, "ask from=5 to=9 request=r user=u quantity=3 target=1 asked=s2 "
                              "status=0");
    none.sent = false;
    question.ending = "cancel";
    line_of(&question, &none, line, sizeof(line));
    assert_string_equal(line, "cancel from=5 to=9 request=r target=1 asked=s2 status=0");
}

/* However the bytes come, up to 64 KB are kept, and one more is known to be missing. */
static void a_body_is_kept_to_its_last_byte(void **unused)
{
    (void)unused;
    static const size_t steps[] = {1, 7, 1000, 16384, 40000, 65536};
    static char bytes[ANSWER_BODY_MAX + 1];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i % 251);
    for (size_t i = 0; i < COUNT(steps); i++) {
        lt_body body = {.text = NULL};
        for (size_t at = 0, len; at < ANSWER_BODY_MAX; at += len) {
            len = ANSWER_BODY_MAX - at < steps[i] ? ANSWER_BODY_MAX - at : steps[i];
            assert_int_equal(body_receive(bytes + at, 1, len, &body), len);
        }
        assert_int_equal(body.length, ANSWER_BODY_MAX);
        assert_false(body.cut);
        assert_memory_equal(body.text, bytes, ANSWER_BODY_MAX);
        assert_int_equal(body_receive(bytes, 1, 1, &body), 1);
        assert_true(body.cut);
        assert_int_equal(body.length, ANSWER_BODY_MAX);
        body_release(&body);
    }
}

static int start(void **state)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? canned_start(state) : -1;
}

static int stop(void **state)
{
    curl_global_cleanup();
    return canned_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_its_line),
        cmocka_unit_test(what_is_told_twice_is_unread),
        cmocka_unit_test(a_question_is_written_as_it_was_put),
        cmocka_unit_test(a_body_is_kept_to_its_last_byte),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
