/*
 * What a buyer makes of what libcurl says: never sent is a definite no, sent without an answer is
 * unknown.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/answer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* Takes one connection, reads what was asked, and says nothing. */
static void *read_one(void *arg)
{
    char request[4096] = "";
    size_t length = 0;
    ssize_t n = 1;
    int fd = accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC);
    while (n > 0 && !strstr(request, "\r\n\r\n")) {
        n = recv(fd, request + length, sizeof(request) - 1 - length, 0);
        length += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return NULL;
}

/* A request to a port that is taken, and where nobody listens, or nobody answers. */
static lt_answer ask(bool listening)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    char url[64];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    pthread_t reader;
    if (listening) {
        assert_int_equal(listen(fd, 4), 0);
        assert_int_equal(pthread_create(&reader, NULL, read_one, &fd), 0);
    }
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/buy", ntohs(at.sin_port));
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    CURLcode code = curl_easy_perform(easy);
    lt_answer answer;
    lt_body body = {NULL};
    answer_read(easy, code, &body, &answer);
    curl_easy_cleanup(easy);
    if (listening)
        pthread_join(reader, NULL);
    close(fd);
    assert_true(!answer.came && answer.is_error);
    return answer;
}

static void what_was_never_sent_is_a_no(void **unused)
{
    (void)unused;
    lt_answer answer = ask(false);
    assert_int_equal(answer.outcome, OUT_ERROR);
    assert_int_equal(answer.phase, PHASE_CONNECT);
    assert_string_equal(answer.code, "refused");
    assert_int_equal(answer.bytes_sent, 0);
}

static void what_was_sent_without_an_answer_is_unknown(void **unused)
{
    (void)unused;
    lt_answer answer = ask(true);
    assert_int_equal(answer.outcome, OUT_UNKNOWN);
    assert_int_equal(answer.phase, PHASE_WAIT);
    assert_string_equal(answer.code, "closed_early");
    assert_true(answer.bytes_sent > 0);
}

/* Whatever is valid JSON, every member by its form: told, not told, or told otherwise. */
static void members_are_told_apart_by_their_form(void **unused)
{
    (void)unused;
    static const struct {
        const char *json, *order;
        lt_form order_form, quantity_form;
        int64_t quantity;
    } table[] = {
        {"{\"order\":\"a-1\",\"quantity\":1}", "a-1", FORM_GOOD, FORM_GOOD, 1},
        {"{\"order\":\"a\\u002d1\",\"quantity\":99.0}", "a-1", FORM_GOOD, FORM_GOOD, 99},
        {" {\n \"quantity\" : 9.9e1 ,\"x\":{\"order\":7}}\t", "", FORM_ABSENT, FORM_GOOD, 99},
        {"{\"order\":9007199254740993}", "9007199254740993", FORM_GOOD, FORM_ABSENT, 0},
        {"{\"order\":-9223372036854775807}", "-9223372036854775807", FORM_GOOD, FORM_ABSENT, 0},
        {"{\"order\":7,\"quantity\":1763773000123456}", "7", FORM_GOOD, FORM_GOOD,
         1763773000123456},
        {"{\"order\":7.0,\"quantity\":9007199254740993}", "7", FORM_GOOD, FORM_OTHER, 0},
        {"{\"order\":7.5,\"quantity\":\"1\"}", "", FORM_OTHER, FORM_OTHER, 0},
        {"{\"order\":null,\"quantity\":null}", "", FORM_ABSENT, FORM_ABSENT, 0},
        {"{\"order\":[],\"quantity\":1.5}", "", FORM_OTHER, FORM_OTHER, 0},
        {"{\"order\":1,\"order\":2,\"quantity\":1,\"quantity\":1}", "", FORM_TWICE, FORM_TWICE, 0},
        {"{\"Order\":1,\"QUANTITY\":1}", "", FORM_ABSENT, FORM_ABSENT, 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        cJSON *json = json_parse(table[i].json, strlen(table[i].json));
        lt_text order = json_read_id(json, "order");
        lt_whole quantity = json_read_whole(json, "quantity");
        if (!json || order.form != table[i].order_form || strcmp(order.text, table[i].order) != 0 ||
            quantity.form != table[i].quantity_form || quantity.value != table[i].quantity)
            fail_msg("%s: \"%s\", %lld", table[i].json, order.text, (long long)quantity.value);
        cJSON_Delete(json);
    }
}

static void what_is_no_json_is_none(void **unused)
{
    (void)unused;
    static const char *const table[] = {"",
                                        " ",
                                        "{",
                                        "{}}",
                                        "{} x",
                                        "{\"a\":1x}",
                                        "{\"a\":\"\x01\"}",
                                        "{\"a\":\"\\u0000\"}",
                                        "{\"a\":[}",
                                        "{\"a\" 1}",
                                        "{a:1}"};
    for (size_t i = 0; i < COUNT(table); i++) {
        cJSON *json = json_parse(table[i], strlen(table[i]));
        if (json)
            fail_msg("%s is taken for JSON", table[i]);
    }
}

/* A body beyond 64 KB is cut, and that is known. */
static void a_body_has_an_end(void **unused)
{
    (void)unused;
    lt_body body = {NULL};
    char part[1000];
    memset(part, 'x', sizeof(part));
    for (int i = 0; i < 65; i++)
        assert_int_equal(body_receive(part, 1, sizeof(part), &body), sizeof(part));
    assert_int_equal(body.length, 65000);
    assert_false(body.cut);
    assert_int_equal(body_receive(part, 1, sizeof(part), &body), sizeof(part));
    assert_true(body.cut && body.length == ANSWER_BODY_MAX);
    body_release(&body);
}

static int set_up(void **unused)
{
    (void)unused;
    return curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK;
}

static int tear_down(void **unused)
{
    (void)unused;
    curl_global_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_never_sent_is_a_no),
        cmocka_unit_test(what_was_sent_without_an_answer_is_unknown),
        cmocka_unit_test(members_are_told_apart_by_their_form),
        cmocka_unit_test(what_is_no_json_is_none),
        cmocka_unit_test(a_body_has_an_end),
    };
    return cmocka_run_group_tests_name("answer", tests, set_up, tear_down);
}
