/*
 * What is read out of texts, held to plain rules over whole ranges: every byte in every place,
 * every length up to the limit and beyond.
 */
#include "tests/support/fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"

static void letters_are_those_of_a_list(void **state)
{
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (int c = 0; c < 256; c++) {
        bool common = c != 0 && strchr(letters, c);
        for (int at = 0; at < 3; at++) {
            char text[4] = "aaa";
            text[at] = (char)c;
            bool ident = ident_ok(text, 3), user = user_ok(text, 3);
            if (ident != (common || c == '_' || c == '-') ||
                user != (common || (c != 0 && strchr("._%+@-", c))))
                fail_msg("character %d at %d: %d, %d", c, at, ident, user);
        }
    }
    char text[USER_MAX + 2];
    memset(text, 'a', sizeof(text));
    for (size_t len = 0; len <= USER_MAX + 1; len++) {
        assert_int_equal(ident_ok(text, len), len >= 1 && len <= IDENT_MAX);
        assert_int_equal(user_ok(text, len), len >= 1 && len <= USER_MAX);
    }
}

static void numbers_are_written_in_all_their_digits(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0,   1,   9,    10,        -1,        -9,
                                      -10, 100, -101, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char expected[32];
        fs_text text;
        text_init(&text);
        text_add_int(&text, numbers[i]);
        snprintf(expected, sizeof(expected), "%" PRId64, numbers[i]);
        assert_string_equal(text_bytes(&text), expected);
        text_free(&text);
    }
}

static void decimals_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: none */
    } cases[] = {
        {"", -1},
        {"0", 0},
        {"00", -1},
        {"01", -1},
        {"1", 1},
        {"10", 10},
        {"9", 9},
        {"/", -1},
        {":", -1},
        {"-1", -1},
        {"+1", -1},
        {" 1", -1},
        {"1 ", -1},
        {"1a", -1},
        {"a1", -1},
        {"1.", -1},
        {"123", 123},
        {"1:", -1},
        {"1/", -1},
        {"999999999999999999", 999999999999999999},
        {"1000000000000000000", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = -7;
        bool good = decimal_read(cases[i].text, strlen(cases[i].text), &value);
        if (good != (cases[i].value >= 0) || value != (good ? cases[i].value : -7))
            fail_msg("\"%s\": %d, %" PRId64, cases[i].text, good, value);
    }
    int64_t value;
    assert_true(decimal_read("12x", 2, &value) && value == 12);
}

static void words_are_taken_one_by_one(void **state)
{
    (void)state;
    static const char line[] = "ab 17  c\0d 123456789012345678 x";
    const char *at = line, *end = line + sizeof(line) - 1;
    char word[4] = "old";
    int64_t number = -1;
    assert_true(text_take_word(&at, end, word, sizeof(word)));
    assert_string_equal(word, "ab");
    assert_true(text_take_number(&at, end, &number) && number == 17);
    assert_ptr_equal(at, line + 6);
    assert_false(text_take_word(&at, end, word, sizeof(word))); /* an empty one */
    assert_string_equal(word, "ab");
    assert_ptr_equal(at, line + 6);
    at++;
    assert_false(text_take_word(&at, end, word, sizeof(word))); /* with a NUL in it */
    at += 4;
    assert_true(text_take_number(&at, end, &number) && number == 123456789012345678);
    assert_false(text_take_number(&at, end, &number));
    assert_int_equal(number, 123456789012345678);
    assert_ptr_equal(at, end);
    assert_false(text_take_word(&at, end, word, sizeof(word)));
    for (int len = 1; len <= 5; len++) { /* it needs room for its end */
        const char *five = "abcde";
        assert_int_equal(text_take_word(&five, five + len, word, sizeof(word)), len < 4);
    }
}

/* Any two bytes behind a "%", held to a list of digits. */
static void percent_codes_are_undone(void **state)
{
    (void)state;
    static const char digits[] = "0123456789abcdefABCDEF";
    for (int high = 1; high < 256; high++) {
        for (int low = 1; low < 256; low++) {
            char from[] = {'x', '%', (char)high, (char)low, 'y', '\0'}, ret[8] = "old";
            const char *h = strchr(digits, high), *l = strchr(digits, low);
            int code = h && l ? (int)strtol((char[]){(char)high, (char)low, '\0'}, NULL, 16) : 0;
            bool good = text_percent_decode(from, 5, false, ret, sizeof(ret));
            if (good != (code != 0) || (good && ((unsigned char)ret[1] != code || ret[0] != 'x' ||
                                                 strcmp(ret + 2, "y") != 0)))
                fail_msg("%%%c%c: %d, %s", high, low, good, ret);
        }
    }
}

static void a_decoded_text_has_its_room(void **state)
{
    (void)state;
    static const struct {
        const char *from, *blank, *plus; /* as decoded; NULL: not at all */
    } cases[] = {
        {"", "", ""},
        {"abc", "abc", "abc"},
        {"abcd", NULL, NULL},
        {"a+b", "a b", "a+b"},
        {"%", NULL, NULL},
        {"%4", NULL, NULL},
        {"%41", "A", "A"},
        {"ab%4", NULL, NULL},
        {"%2B", "+", "+"},
        {"%61%62%63", "abc", "abc"},
        {"%61%62%63d", NULL, NULL},
        {"a%00", NULL, NULL},
        {"ab%63", "abc", "abc"},
        {"%414", "A4", "A4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int plus = 0; plus < 2; plus++) {
            char ret[4] = "";
            const char *expected = plus ? cases[i].plus : cases[i].blank;
            bool good =
                text_percent_decode(cases[i].from, strlen(cases[i].from), !plus, ret, sizeof(ret));
            if (good != (expected != NULL) || (good && strcmp(ret, expected) != 0))
                fail_msg("%s: %d, %s", cases[i].from, good, ret);
        }
    }
}

static void bytes_are_written_in_hex(void **state)
{
    (void)state;
    unsigned char bytes[256];
    char text[513], expected[3];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    text_hex(bytes, 256, text);
    assert_int_equal(strlen(text), 512);
    for (int i = 0; i < 256; i++) {
        snprintf(expected, sizeof(expected), "%02x", i);
        assert_memory_equal(text + 2 * i, expected, 2);
    }
    text_hex(bytes, 0, text);
    assert_string_equal(text, "");
}

/* Each control character, and the ones after. */
static void what_json_forbids_is_escaped(void **state)
{
    (void)state;
    for (int c = 1; c < 0x80; c++) {
        char words[] = {(char)c, '\0'}, expected[16];
        fs_text text;
        text_init(&text);
        text_json(&text, words);
        snprintf(expected, sizeof(expected),
                 c < 0x20                ? "\"\\u%04x\""
                 : c == '"' || c == '\\' ? "\"\\%c\""
                                         : "\"%c\"",
                 c);
        assert_string_equal(text_bytes(&text), expected);
        text_free(&text);
    }
}

static void a_text_is_used_again_after_it_is_cleared_or_freed(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "", "bc", NULL};
    fs_text text;
    text_init(&text);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000; i++)
            text_add(&text, "0123456789");
        assert_int_equal(text.len, 30000);
        text_clear(&text);
        assert_string_equal(text_bytes(&text), "");
        text_add_each(&text, words);
        text_next(&text, "d");
        assert_string_equal(text_bytes(&text), "abc,d");
        if (round == 1)
            text_free(&text);
        else
            text_clear(&text);
        assert_string_equal(text_bytes(&text), "");
        assert_int_equal(text.len, 0);
    }
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_those_of_a_list),
        cmocka_unit_test(numbers_are_written_in_all_their_digits),
        cmocka_unit_test(decimals_are_read_strictly),
        cmocka_unit_test(words_are_taken_one_by_one),
        cmocka_unit_test(percent_codes_are_undone),
        cmocka_unit_test(a_decoded_text_has_its_room),
        cmocka_unit_test(bytes_are_written_in_hex),
        cmocka_unit_test(what_json_forbids_is_escaped),
        cmocka_unit_test(a_text_is_used_again_after_it_is_cleared_or_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
