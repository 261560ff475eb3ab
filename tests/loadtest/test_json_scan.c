/*
 * The members of an answer that a buyer reads.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/json_scan.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void members_are_found_only_outermost(void **unused)
{
    (void)unused;
    static const struct {
        const char *json, *value; /* "": not found */
    } table[] = {
        {"{\"order\":\"17\",\"user\":\"u\"}", "17"},
        {"{ \"user\" : \"order\" , \"order\" : 42 }", "42"},
        {"{\"user\":\"\\\"order\\\":\\\"x\\\"\",\"order\":\"y\"}", "y"},
        {"{\"inner\":{\"order\":\"no\"},\"order\":\"yes\"}", "yes"},
        {"{\"list\":[\"order\",{\"order\":1}]}", ""},
        {"{\"orders\":\"a\",\"xorder\":\"b\"}", ""},
        {"{\"order\":\"with \\\\ escape\"}", ""},
        {"{\"order\":\"0123456789012345\"}", ""}, /* does not fit */
        {"{\"order\":", ""},
        {"{\"order", ""},
        {"", ""},
        {"{\"order\":null}", ""},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char value[16];
        const char *json = table[i].json;
        assert_int_equal(json_member(json, strlen(json), "order", value, sizeof(value)),
                         table[i].value[0] != '\0');
        assert_string_equal(value, table[i].value);
    }
}

static void an_object_is_whole_and_says_things_once(void **unused)
{
    (void)unused;
    static const struct {
        const char *json;
        bool whole;
    } table[] = {
        {"{\"order\":1}", true},
        {" {\"order\":[{\"order\":2}],\"a\":1}\n", true},
        {"{\"order\":1,\"order\":1}", false},
        {"{\"order\":1}x", false},
        {"x{\"order\":1}", false},
        {"{\"order\":1}}", false},
        {"{\"order\":1}{}", false},
        {"{\"order\":1", false},
        {"{\"order\":1}\"\"", false},
        {"{\"order\":\"1", false},
        {"[1]", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char value[16];
        const lt_json_member member = {"order", value, sizeof(value), false};
        assert_int_equal(json_members(table[i].json, strlen(table[i].json), &member, 1),
                         table[i].whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_only_outermost),
        cmocka_unit_test(an_object_is_whole_and_says_things_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
