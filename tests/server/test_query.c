/* test_query.c - what stands behind the question mark is read strictly. */
#include "tests/support/fixture.h"

#include <string.h>

#include "server/api/query.h"
#include "server/base/text.h"

static void queries_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *query, *value;
        query_status status;
    } cases[] = {
        {"item=P1&user=u", "P1", QUERY_OK}, {"user=u&item=P%31", "P1", QUERY_OK},
        {"user=u", "", QUERY_ABSENT},       {"xitem=P1", "", QUERY_ABSENT},
        {"item=", "", QUERY_BAD},           {"item=P1&item=P2", "", QUERY_BAD},
        {"item=P%3", "", QUERY_BAD},        {"item=P%00", "", QUERY_BAD},
        {"item=P%zz", "", QUERY_BAD},       {"item=a+b", "", QUERY_BAD},
        {"item", "", QUERY_ABSENT},         {"", "", QUERY_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char value[IDENT_MAX + 1] = "";
        query_status status = query_ident(cases[i].query, "item", value);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].query, status);
        if (status == QUERY_OK)
            assert_string_equal(value, cases[i].value);
    }
}

static void numbers_in_queries_are_whole_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        query_status status;
    } cases[] = {
        {"n=1", QUERY_OK},     {"n=10", QUERY_OK},
        {"n=0", QUERY_BAD},    {"n=11", QUERY_BAD},
        {"n=-1", QUERY_BAD},   {"n=+1", QUERY_BAD},
        {"n=1.0", QUERY_BAD},  {"n=1x", QUERY_BAD},
        {"n=%201", QUERY_BAD}, {"n=9999999999999999999999", QUERY_BAD},
        {"m=1", QUERY_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t number;
        if (query_int(cases[i].query, "n", 1, 10, &number) != cases[i].status)
            fail_msg("%s", cases[i].query);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_are_read_strictly),
        cmocka_unit_test(numbers_in_queries_are_whole_and_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
