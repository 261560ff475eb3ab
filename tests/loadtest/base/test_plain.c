/*
 * What may be shown as it is: every character of Unicode but the controls, and no bytes that are
 * none, held to another reading of UTF-8 than the product's.
 */
#include "tests/support/fixture.h"

#include "loadtest/base/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The character in UTF-8, `len` bytes long whether or not it needs as many. */
static void encode(unsigned c, int len, char ret[5])
{
    static const unsigned first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    ret[len] = '\0';
    for (int i = len - 1; i > 0; i--, c >>= 6)
        ret[i] = (char)(0x80 | (c & 0x3F));
    ret[0] = (char)(first[len] | c);
}

static int len_of(unsigned c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static void is_shown(const char *text, bool plain)
{
    char all[64], expected[128] = "a";
    snprintf(all, sizeof(all), "a%sz", text);
    for (const char *at = text; *at != '\0'; at++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
                 plain ? "%c" : "\\x%02x", plain ? *at : (unsigned char)*at);
    strncat(expected, "z", sizeof(expected) - strlen(expected) - 1);
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, all, all);
    plain_json(document);
    if (strcmp(document->child->string, expected) != 0 ||
        strcmp(document->child->valuestring, expected) != 0)
        fail_msg("%s, not %s", document->child->valuestring, expected);
    cJSON_Delete(document);
}

static void every_character_but_controls_is_shown(void **unused)
{
    (void)unused;
    for (unsigned c = 1; c <= 0x10FFFF;
         c += c < 0x3000 || (c & 0x7FF) < 2 || (c & 0x7FF) == 0x7FF ? 1 : 0x7FF - (c & 0x7FF)) {
        char text[5];
        bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
        encode(c, len_of(c), text);
        is_shown(text, !control && (c < 0xD800 || c > 0xDFFF));
    }
}

static void what_is_no_character_is_spelt_out(void **unused)
{
    (void)unused;
    static const unsigned overlong[][2] = {{0x41, 2},     {0x7F, 2},     {0x41, 3},
                                           {0x7FF, 3},    {0x7FF, 4},    {0xFFFF, 4},
                                           {0x110000, 4}, {0x13FFFF, 4}, {0x1FFFFF, 4}};
    static const char *const broken[] = {"\x80", "\xBF",     "\xFF",        "\xF8\x88\x80\x80\x80",
                                         "\xC3", "\xE4\xB8", "\xF0\x9F\x98"};
    for (size_t i = 0; i < COUNT(overlong); i++) {
        char text[5];
        encode(overlong[i][0], (int)overlong[i][1], text);
        is_shown(text, false);
    }
    for (size_t i = 0; i < COUNT(broken); i++)
        is_shown(broken[i], false);
}

/* Below whatever it is, and behind its siblings. */
static void all_of_a_document_is_made_plain(void **unused)
{
    (void)unused;
    cJSON *document =
        cJSON_Parse("{\"a\\u0007\":[1,{\"b\\u0007\":\"c\\u0007\"}],\"d\":\"e\\u0007\"}");
    plain_json(document);
    char *text = cJSON_PrintUnformatted(document);
    assert_string_equal(text, "{\"a\\\\x07\":[1,{\"b\\\\x07\":\"c\\\\x07\"}],\"d\":\"e\\\\x07\"}");
    free(text);
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_but_controls_is_shown),
        cmocka_unit_test(what_is_no_character_is_spelt_out),
        cmocka_unit_test(all_of_a_document_is_made_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
