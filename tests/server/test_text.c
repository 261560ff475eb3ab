/* test_text.c - text that grows, and is escaped for JSON. */
#include "tests/support/fixture.h"

#include <string.h>

#include "server/base/text.h"

static void text_escapes_and_grows(void **state)
{
    (void)state;
    fs_text text;
    text_init(&text);
    text_json(&text, "a\"b\\c\n\xc3\xa4\xff\xed\xa0\x80");
    assert_string_equal(text_bytes(&text),
                        "\"a\\\"b\\\\c\\u000a\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\"");
    text_clear(&text);
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%04d,", i);
    assert_int_equal(text.len, 5000);
    assert_int_equal(strncmp(text_bytes(&text) + 4990, "0998,0999,", 10), 0);
    text_free(&text);
}

static void identifiers_are_1_to_64_safe_characters(void **state)
{
    (void)state;
    char long_one[IDENT_MAX + 2];
    memset(long_one, 'a', sizeof(long_one));
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"P0001", true}, {"a-b_c", true},     {"", false},    {"a b", false},
        {"a{b}", false}, {"\xc3\xa4", false}, {"a\n", false}, {"#", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(ident_ok(cases[i].text, strlen(cases[i].text)), cases[i].good);
    assert_true(ident_ok(long_one, IDENT_MAX));
    assert_false(ident_ok(long_one, IDENT_MAX + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_1_to_64_safe_characters),
        cmocka_unit_test(text_escapes_and_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
