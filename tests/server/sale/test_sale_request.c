/* test_sale_request.c - the terms of a sale, as somebody asks for them. */
#include "tests/support/fixture.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_takes_what_is_not_said_from_the_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
