/*
 * test_odd_answers.c - answers that the scripts never give. A buyer who gets one hears "unknown",
 * the others of its call hear their own, and nothing is read that is not there.
 *
 * The server that gives them is the test's own: a thread that answers every script alike.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/selling/read_then_write.h"
#include "server/selling/sell.h"
#include "server/strategies/registry.h"
#include "tests/support/fixture.h"

#define SOME_TIME "$16\r\n1700000000000000\r\n"
#define INFO      "$36\r\nredis_version:7.0.0\r\nrun_id:abcdef\r\n\r\n"

enum { BUYERS = 2, PATIENCE_MS = 20000 };

static fs_store store;
static open_sale sale;
static purchase asked[BUYERS];
static purchase_result results[BUYERS];
static sell_buyer buyers[BUYERS];

/* No element of an answer is one of these. The first four have no text. */
static const char *const odd[] = {"$-1\r\n",      "*-1\r\n",   "*0\r\n",
                                  "*1\r\n:1\r\n", "+sold\r\n", "-ERR sold out\r\n"};
enum { ODD = COUNT(odd) };

/* ---- the server ------------------------------------------------------------------------------ */

static struct {
    int listener;
    pthread_t thread;
    char answer[512]; /* to every script; written while nobody asks */
} fake;

/* Each word of a command is two lines, and none of ours has another line within. */
static bool is_whole(const char *command)
{
    long lines = 1 + 2 * strtol(command + 1, NULL, 10);
    for (const char *at = command; (at = strstr(at, "\r\n")); at += 2)
        lines--;
    return lines <= 0;
}

static void answer(int client)
{
    char command[32768] = "";
    size_t len = 0;
    for (ssize_t n; (n = recv(client, command + len, sizeof(command) - 1 - len, 0)) > 0;) {
        len += (size_t)n;
        command[len] = '\0';
        if (!is_whole(command))
            continue;
        const char *reply = strstr(command, "EVAL")   ? fake.answer
                            : strstr(command, "INFO") ? INFO
                                                      : "+OK\r\n";
        if (send(client, reply, strlen(reply), MSG_NOSIGNAL) < 0)
            break;
        len = 0;
    }
}

static void *serve(void *arg)
{
    (void)arg;
    for (int client; (client = accept(fake.listener, NULL, NULL)) >= 0; close(client))
        answer(client);
    return NULL;
}

/* ---- what is made of it ---------------------------------------------------------------------- */

static void check(const char *of, int buyer, purchase_outcome expected)
{
    if (results[buyer].outcome != expected)
        fail_msg("%s: buyer %d is told %s", of, buyer, outcome_table[results[buyer].outcome].name);
}

/* The reply of the selling script, as its text and behind a frame's beginning. */
static void give(const char *begin, const char *one, const char *end)
{
    snprintf(fake.answer, sizeof(fake.answer), "%s*4\r\n:8\r\n%s%s:1\r\n%s", begin, SOME_TIME, one,
             end);
    for (int i = 0; i < BUYERS; i++) {
        asked[i] = (purchase){.quantity = 1, .deadline = dlock_in_ms(PATIENCE_MS)};
        snprintf(asked[i].request, sizeof(asked[i].request), "r%d", i);
        snprintf(asked[i].user, sizeof(asked[i].user), "u%d", i);
        buyers[i] = (sell_buyer){&asked[i], &results[i]};
        results[i].outcome = BUY_CLOSED;
    }
}

static void an_odd_element_is_unknown_to_its_buyer(void **state)
{
    (void)state;
    for (int i = 0; i < ODD; i++) {
        give("", odd[i], "");
        sell(&sale, sale.keys, (sell_lock){.hold = NULL}, buyers, BUYERS, asked[0].deadline);
        check(odd[i], 0, BUY_UNKNOWN);
        check(odd[i], 1, BUY_SOLD);
        assert_int_equal(results[1].order.remaining, 8);
    }
}

static dlock_lock *open_lock(void)
{
    char err[256];
    dlock_lock *lock = NULL;
    if (sale_lock_new(&sale, &sale.strategy->lock, sale.keys->lock, &lock, err, sizeof(err)) !=
        DLOCK_OK)
        fail_msg("%s", err);
    return lock;
}

static bool sell_in_section(dlock_lock *lock)
{
    return sell(&sale, sale.keys, (sell_lock){.free = lock}, buyers, BUYERS, asked[0].deadline);
}

static void an_odd_element_of_a_section_is_unknown_to_its_buyer(void **state)
{
    (void)state;
    dlock_lock *lock = open_lock();
    for (int i = 0; i < ODD; i++) {
        give("*3\r\n:1\r\n", odd[i], "$1\r\n7\r\n");
        assert_true(sell_in_section(lock));
        check(odd[i], 0, BUY_UNKNOWN);
        check(odd[i], 1, BUY_SOLD);
        assert_int_equal(results[1].order.fence, 7);
    }
    dlock_lock_free(lock);
}

static void an_odd_answer_is_unknown_to_all(void **state)
{
    (void)state;
    static const char *const answers[] = {"$-1\r\n", "*0\r\n", ":1\r\n", "$1\r\n1\r\n",
                                          "*2\r\n:8\r\n$1\r\n1\r\n"};
    dlock_lock *lock = open_lock();
    for (size_t i = 0; i < COUNT(answers); i++) {
        give("", "", "");
        snprintf(fake.answer, sizeof(fake.answer), "%s", answers[i]);
        sell(&sale, sale.keys, (sell_lock){.hold = NULL}, buyers, BUYERS, asked[0].deadline);
        check(answers[i], 0, BUY_UNKNOWN);
        check(answers[i], 1, BUY_UNKNOWN);
        give("", "", "");
        snprintf(fake.answer, sizeof(fake.answer), "*3\r\n:1\r\n%s$1\r\n7\r\n", answers[i]);
        assert_true(sell_in_section(lock));
        check(answers[i], 0, BUY_UNKNOWN);
        check(answers[i], 1, BUY_UNKNOWN);
    }
    give("", "", "");
    snprintf(fake.answer, sizeof(fake.answer), "*1\r\n:1\r\n"); /* a section without an answer */
    assert_true(sell_in_section(lock));
    check("nothing", 0, BUY_UNKNOWN);
    check("nothing", 1, BUY_UNKNOWN);
    dlock_lock_free(lock);
}

/* The last one is an error, and is told as such: nothing was written. */
static void a_stock_that_is_no_number_is_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < ODD - 1; i++) {
        give("", "", "");
        snprintf(fake.answer, sizeof(fake.answer), "%s", odd[i]);
        read_then_write(&sale, &asked[0], (fs_section){.fence = 0}, &results[0]);
        check(odd[i], 0, BUY_UNKNOWN);
    }
}

/* ---- the stage ------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    char url[64], err[256];
    fake.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake.listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fake.listener, 8), 0);
    assert_int_equal(getsockname(fake.listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(pthread_create(&fake.thread, NULL, serve, NULL), 0);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(store_open(&store, url, NULL, "i", err, sizeof(err)), 0);
    const sale_terms terms = {.item = "T1", .id = "00000000000001", .initial = 9, .lease_ms = 300};
    assert_true(sale_open(&sale, &terms, strategy_find("combined"), &store));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sale_close(&sale);
    store_close(&store);
    shutdown(fake.listener, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    close(fake.listener);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_odd_element_is_unknown_to_its_buyer),
        cmocka_unit_test(an_odd_element_of_a_section_is_unknown_to_its_buyer),
        cmocka_unit_test(an_odd_answer_is_unknown_to_all),
        cmocka_unit_test(a_stock_that_is_no_number_is_unknown),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
