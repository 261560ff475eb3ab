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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_only_outermost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
