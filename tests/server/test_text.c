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

static void members_have_commas_between_them(void **state)
{
    (void)state;
    fs_text text;
    text_init(&text);
    text_next(&text, "{");
    text_put(&text, STRING("a", "x\"y"), NUMBER("b", -5), FLAG("c", true), AS_IS("d", "["));
    text_next(&text, "{");
    text_put(&text, AS_IS("e", "null"));
    text_add(&text, "}");
    text_next(&text, "7");
    text_add(&text, "]");
    text_put(&text, FLAG("f", false));
    assert_string_equal(text_bytes(&text), "{\"a\":\"x\\\"y\",\"b\":-5,\"c\":true,"
                                           "\"d\":[{\"e\":null},7],\"f\":false");
    text_free(&text);
}

/* The first and the last character of each length, and what lies just beyond. */
static void only_utf8_is_passed_on(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int bad; /* replaced, one for each byte; 0 = it is passed on as it is */
    } cases[] = {
        {" ", 0},
        {"\x7f", 0},
        {"\x80", 1},
        {"\xbf", 1},
        {"\xc1\xbf", 2},
        {"\xc2\x80", 0},
        {"\xdf\xbf", 0},
        {"\xc2\xc0", 2},
        {"\xc2", 1},
        {"\xe0\x9f\xbf", 3},
        {"\xe0\xa0\x80", 0},
        {"\xed\x9f\xbf", 0},
        {"\xed\xa0\x80", 3},
        {"\xee\x80\x80", 0},
        {"\xef\xbf\xbf", 0},
        {"\xe1\x80", 2},
        {"\xf0\x8f\xbf\xbf", 4},
        {"\xf0\x90\x80\x80", 0},
        {"\xf4\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 4},
        {"\xf5\x80\x80\x80", 4},
        {"\xf1\x80\x80", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        fs_text text;
        char expected[64] = "\"";
        text_init(&text);
        text_json(&text, cases[i].bytes);
        for (int k = 0; k < cases[i].bad; k++)
            strncat(expected, "\\ufffd", sizeof(expected) - strlen(expected) - 1);
        if (cases[i].bad == 0)
            strncat(expected, cases[i].bytes, sizeof(expected) - strlen(expected) - 1);
        strncat(expected, "\"", sizeof(expected) - strlen(expected) - 1);
        if (strcmp(text_bytes(&text), expected) != 0)
            fail_msg("case %zu: %s, not %s", i, text_bytes(&text), expected);
        text_free(&text);
    }
}

/* A piece that fits exactly, and those a byte shorter and longer: nothing is cut. */
static void text_of_any_length_is_kept_whole(void **state)
{
    (void)state;
    for (int len = 0; len < 2100; len++) {
        fs_text text;
        text_init(&text);
        text_printf(&text, "%*s", len, "");
        text_printf(&text, "%*s", len / 2, "");
        text_add(&text, "x");
        assert_int_equal(text.len, len + len / 2 + 1);
        assert_int_equal(strlen(text_bytes(&text)), text.len);
        assert_true(text.len < text.cap);
        assert_int_equal(text_bytes(&text)[text.len - 1], 'x');
        text_clear(&text);
        text_printf(&text, "%*s", len, "");
        assert_true(text.len < text.cap);
        text_free(&text);
    }
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
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(ident_ok(cases[i].text, strlen(cases[i].text)), cases[i].good);
    assert_true(ident_ok(long_one, IDENT_MAX));
    assert_false(ident_ok(long_one, IDENT_MAX + 1));
}

static void a_line_of_info_is_found_by_its_name(void **state)
{
    (void)state;
    static const char info[] = "# Server\r\nx_run:1\r\nrun:abc\r\nrun:later\r\nempty:\r\nlast:7";
    static const struct {
        const char *name, *value;
    } cases[] = {{"run", "abc"}, {"x_run", "1"}, {"last", "7"},  {"empty", ""},
                 {"ru", ""},     {"none", ""},   {"Server", ""}, {"# Server", ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char value[4] = "old";
        bool found = text_line_value(info, cases[i].name, value, sizeof(value));
        assert_int_equal(found, cases[i].value[0] != '\0');
        assert_string_equal(value, cases[i].value);
    }
    char small[3] = "ol";
    assert_false(text_line_value(info, "run", small, sizeof(small)));
    assert_string_equal(small, "");
    assert_true(text_line_value("run:1", "run", small, sizeof(small)));
    assert_false(text_line_value("", "run", small, sizeof(small)));
}

/* Segments and digests that instances have in common rest on these. */
static void hashes_are_fnv_1a(void **state)
{
    (void)state;
    assert_int_equal(text_hash(""), 0x811c9dc5);
    assert_int_equal(text_hash("foobar"), 0xbf9cf968);
    assert_true(text_hash_64("") == UINT64_C(0xcbf29ce484222325));
    assert_true(text_hash_64("foobar") == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_1_to_64_safe_characters),
        cmocka_unit_test(text_escapes_and_grows),
        cmocka_unit_test(members_have_commas_between_them),
        cmocka_unit_test(only_utf8_is_passed_on),
        cmocka_unit_test(text_of_any_length_is_kept_whole),
        cmocka_unit_test(a_line_of_info_is_found_by_its_name),
        cmocka_unit_test(hashes_are_fnv_1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
