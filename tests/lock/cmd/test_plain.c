/*
 * test_plain.c - what the command shows of texts that others wrote: UTF-8 as it is, and never a
 * byte that a terminal or a JSON reader takes for something else.
 */
#include "tests/support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The command's parts are no library: their tests take them in whole. */
#include "lock/cmd/json.c"  // NOLINT(bugprone-suspicious-include)
#include "lock/cmd/plain.c" // NOLINT(bugprone-suspicious-include)

/* The bytes of the character that a text begins with, by its value; 0: it is none to be shown. */
static size_t shown_len(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = text[0] < 0x80 ? 1 : 0;
    while (len < 8 && text[0] >= 0x80 && text[0] & (0x80 >> len))
        len++;
    if (len == 0 || len > 4 || (len == 1 && text[0] >= 0x80))
        return 0;
    unsigned value = len == 1 ? text[0] : text[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        value = value << 6 | (text[i] & 0x3Fu);
    }
    bool control = value < 0x20 || (value >= 0x7F && value < 0xA0);
    bool character = value >= least[len] && value <= 0x10FFFF && value >> 11 != 0xD800 >> 11;
    return character && !control ? len : 0;
}

static void every_character_is_told_from_what_is_none(void **state)
{
    (void)state;
    static const char tails[][3] = {"\x80\x80", "\xBF\xBF", "\x7F\x80", "\x80\xC0", "\xC0\x80", ""};
    for (unsigned lead = 1; lead < 256; lead++)
        for (unsigned second = 0; second < 256; second++)
            for (size_t t = 0; t < COUNT(tails); t++) {
                const char text[] = {(char)lead, (char)second, tails[t][0], tails[t][1], 0};
                size_t expected = shown_len((const unsigned char *)text);
                if (plain_len(text) != expected)
                    fail_msg("%02x %02x, tail %zu: %zu, not %zu", lead, second, t, plain_len(text),
                             expected);
            }
}

static void all_else_is_escaped_for_people(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", ""},
        {"plain ~", "plain ~"},
        {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x94\x92", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x94\x92"},
        {"a\nb\x1F\x7F", "a\\x0ab\\x1f\\x7f"},
        {"\x1B[31m", "\\x1b[31m"},
        {"\xC2\x9B"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xFF\xE2\x82", "\\xff\\xe2\\x82"},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *plain = plain_text(texts[i][0]), *written = NULL;
        size_t len;
        FILE *file = open_memstream(&written, &len);
        plain_put(file, texts[i][0]);
        fclose(file);
        assert_string_equal(plain, texts[i][1]);
        assert_string_equal(written, texts[i][1]);
        free(plain);
        free(written);
    }
}

static void all_else_is_escaped_in_json(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", "\"\"\n"},
        {"plain ~", "\"plain ~\"\n"},
        {"\"\\/", "\"\\\"\\\\/\"\n"},
        {"\xC3\xA4\xE2\x82\xAC", "\"\xC3\xA4\xE2\x82\xAC\"\n"},
        {"\x01\n\x1F\x7F!", "\"\\u0001\\u000a\\u001f\\u007f!\"\n"},
        {"\xC2\x80\xC2\x9F\xC2\xA0", "\"\\u0080\\u009f\xC2\xA0\"\n"},
        {"\xC2", "\"\\ufffd\"\n"},
        {"\xC2!\xFF\xC0\x80", "\"\\ufffd!\\ufffd\\ufffd\\ufffd\"\n"},
        {"\xE2\x82!", "\"\\ufffd\\ufffd!\"\n"},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *written = NULL;
        size_t len;
        json_writer json = {.file = open_memstream(&written, &len)};
        json_text(&json, NULL, texts[i][0]);
        fputc('\n', json.file);
        fclose(json.file);
        assert_string_equal(written, texts[i][1]);
        free(written);
    }
}

static void json_has_its_commas_and_lines(void **state)
{
    (void)state;
    char *written = NULL;
    size_t len;
    json_writer json = {.file = open_memstream(&written, &len)};
    json_open(&json, NULL, '[');
    json_int(&json, NULL, -1);
    json_int(&json, NULL, INT64_MAX);
    json_open(&json, NULL, '{');
    json_close(&json, '}');
    json_open(&json, NULL, '{');
    json_bool(&json, "a", true);
    json_bool(&json, "b", false);
    json_number(&json, "c", 2.345, 2);
    json_number(&json, "d", NAN, 2);
    json_number(&json, "e", INFINITY, 2);
    json_number(&json, "f", -0.5, 0);
    json_text(&json, "g", "h");
    json_close(&json, '}');
    json_close(&json, ']');
    fclose(json.file);
    assert_string_equal(written, "[\n  -1,\n  9223372036854775807,\n  {},\n  {\n    \"a\": true,\n"
                                 "    \"b\": false,\n    \"c\": 2.35,\n    \"d\": null,\n"
                                 "    \"e\": null,\n    \"f\": -0,\n    \"g\": \"h\"\n  }\n]\n");
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_told_from_what_is_none),
        cmocka_unit_test(all_else_is_escaped_for_people),
        cmocka_unit_test(all_else_is_escaped_in_json),
        cmocka_unit_test(json_has_its_commas_and_lines),
    };
    return cmocka_run_group_tests_name("dlock, texts", tests, NULL, NULL);
}
