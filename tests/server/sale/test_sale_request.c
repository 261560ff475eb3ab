/* test_sale_request.c - the terms of a sale, as somebody asks for them. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_request.h"

static void a_request_takes_what_is_not_said_from_the_strategy(void **state)
{
    (void)state;
    char err[512];
    sale_terms terms;
    const char *body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"pubsub\",\"wait_ms\":7}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)), JSON_FINE);
    assert_string_equal(terms.strategy, "pubsub");
    assert_int_equal(terms.lease_ms, 30000);
    assert_int_equal(terms.wait_ms, 7);
    assert_int_equal(terms.segments, 0);

    body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"sharded\",\"per_user_limit\":1}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)),
                     JSON_BAD_VALUE);
    assert_non_null(strstr(err, "per_user_limit"));
    body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"hope\"}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)),
                     JSON_BAD_VALUE);
    assert_non_null(strstr(err, "combined"));
}

/* 0 is a wish like any other. */
static void a_request_may_ask_for_nothing(void **state)
{
    (void)state;
    char err[512];
    sale_terms terms;
    const char *body = "{\"item\":\"P1\",\"stock\":0,\"strategy\":\"pubsub\",\"wait_ms\":0}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)), JSON_FINE);
    assert_int_equal(terms.wait_ms, 0);
    assert_int_equal(terms.initial, 0);
    body = "{\"item\":\"P1\",\"stock\":1,\"strategy\":\"pubsub\",\"wait_ms\":1}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)), JSON_FINE);
    assert_int_equal(terms.wait_ms, 1);
    assert_int_equal(terms.initial, 1);
}

/* Whatever was in the terms before. */
static void a_request_tells_nothing_of_sales_before(void **state)
{
    (void)state;
    char err[512];
    sale_terms terms;
    const char *body = "{\"item\":\"P1\",\"stock\":10}";
    memset(&terms, 'x', sizeof(terms));
    terms.segments_started = true;
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)), JSON_FINE);
    assert_string_equal(terms.id, "");
    assert_string_equal(terms.previous, "");
    assert_int_equal(terms.previous_segments, 0);
    assert_string_equal(terms.replaces, "");
    assert_false(terms.segments_started);
    assert_int_equal(terms.accepted, 0);
}

static void replicas_go_with_durability_replicated(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        int min_replicas; /* -1: refused */
        const char *says;
    } cases[] = {
        {"", 0, NULL},
        {",\"durability\":\"disk\"", 0, NULL},
        {",\"durability\":\"replicated\"", 1, NULL},
        {",\"durability\":\"replicated\",\"min_replicas\":16", 16, NULL},
        {",\"durability\":\"replicated\",\"min_replicas\":17", -1, "from 1 to 16"},
        {",\"durability\":\"replicated\",\"min_replicas\":0", -1, "from 1 to 16"},
        {",\"durability\":\"disk\",\"min_replicas\":1", -1, "goes with durability 'replicated'"},
        {",\"durability\":\"everywhere\"", -1, "memory, replicated or disk"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char body[256], err[512] = "";
        sale_terms terms;
        snprintf(body, sizeof(body), "{\"item\":\"P1\",\"stock\":10%s}", cases[i].members);
        bool fine = sale_request_read(body, strlen(body), &terms, err, sizeof(err)) == JSON_FINE;
        assert_int_equal(fine ? terms.min_replicas : -1, cases[i].min_replicas);
        if (!fine && !strstr(err, cases[i].says))
            fail_msg("%s: %s", cases[i].members, err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_takes_what_is_not_said_from_the_strategy),
        cmocka_unit_test(a_request_may_ask_for_nothing),
        cmocka_unit_test(a_request_tells_nothing_of_sales_before),
        cmocka_unit_test(replicas_go_with_durability_replicated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
