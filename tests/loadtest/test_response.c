/*
 * What a buyer makes of what libcurl says: never sent is a definite no, sent without an answer is
 * unknown.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/response.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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
static lt_response ask(bool listening)
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
    lt_response response = response_read(easy, code, "", 0);
    curl_easy_cleanup(easy);
    if (listening)
        pthread_join(reader, NULL);
    close(fd);
    assert_true(!response.came && response.is_error);
    return response;
}

static void what_was_never_sent_is_a_no(void **unused)
{
    (void)unused;
    lt_response response = ask(false);
    assert_int_equal(response.outcome, OUT_ERROR);
    assert_int_equal(response.phase, PHASE_CONNECT);
    assert_string_equal(response.code, "refused");
    assert_int_equal(response.bytes_sent, 0);
    assert_false(response_denies_sale(&response));
}

static void what_was_sent_without_an_answer_is_unknown(void **unused)
{
    (void)unused;
    lt_response response = ask(true);
    assert_int_equal(response.outcome, OUT_UNKNOWN);
    assert_int_equal(response.phase, PHASE_WAIT);
    assert_string_equal(response.code, "closed_early");
    assert_true(response.bytes_sent > 0);
    assert_false(response_denies_sale(&response));
}

/* A replay that is refused for now tells nothing of the sale before. */
static void only_what_is_final_denies_a_sale(void **unused)
{
    (void)unused;
    static const struct {
        lt_outcome outcome;
        long status;
        bool denied;
    } table[] = {
        {OUT_SOLD, 201, false},    {OUT_SOLD_OUT, 409, true}, {OUT_LIMIT, 409, true},
        {OUT_BUSY, 503, false},    {OUT_ERROR, 399, false},   {OUT_ERROR, 400, true},
        {OUT_ERROR, 408, false},   {OUT_ERROR, 422, true},    {OUT_ERROR, 425, false},
        {OUT_ERROR, 429, false},   {OUT_ERROR, 499, false},   {OUT_ERROR, 500, false},
        {OUT_UNKNOWN, 404, false},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_response response = {.outcome = table[i].outcome, .status = table[i].status};
        if (response_denies_sale(&response) != table[i].denied)
            fail_msg("%s, %ld", outcome_name(table[i].outcome), table[i].status);
    }
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
        cmocka_unit_test(only_what_is_final_denies_a_sale),
    };
    return cmocka_run_group_tests_name("response", tests, set_up, tear_down);
}
