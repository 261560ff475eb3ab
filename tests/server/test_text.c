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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_escapes_and_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
