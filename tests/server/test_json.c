/* test_json.c - bodies are read strictly: cJSON alone is lenient. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/base/json.h"
#include "server/base/text.h"

static void json_is_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool good;
    } cases[] = {
        {"{\"item\":\"P1\",\"stock\":5}", true},
        {" {\"stock\":5,\"item\":\"P1\"}\n", true},
        {"{\"item\":\"P1\",\"stock\":5}x", false},
        {"{\"item\":\"P1\",\"stock\":05}", false},
        {"{\"item\":\"P1\",\"stock\":1.9}", false},
        {"{\"item\":\"P1\",\"stock\":1e300}", false},
        {"{\"item\":\"P1\",\"stock\":5.0}", false},
        {"{\"item\":\"P1\",\"stock\":5e0}", false},
        {"{\"item\":\"P1\",\"stock\":5.}", false},
        {"{\"item\":\"P1\",\"stock\":0E1}", false},
        {"{\"item\":\"1.0[{1e0]\",\"stock\":5}", true},
        {"{\"item\":{},\"stock\":5}", false},
        {"{\"item\":\"P1\",\"stock\":[5]}", false},
        {"{\"item\":\"P1\",\"stock\":-1}", false},
        {"{\"item\":\"P1\",\"stock\":\"5\"}", false},
        {"{\"item\":\"P1\",\"stock\":5,\"stock\":6}", false},
        {"{\"item\":\"P1\",\"Stock\":5}", false},
        {"{\"item\":\"P1\",\"stock\":5,\"what\":1}", false},
        {"{\"item\":\"P\\u00001\",\"stock\":5}", false},
        {"{\"item\":\"P\\u00zz1\",\"stock\":5}", false},
        {"{\"item\":\"P\\u003\",\"stock\":5}", false},
        {"{\"it\\u00gg\":\"P\",\"stock\":5}", false},
        {"{\"it\\u0065m\":\"P\\u0031\",\"stock\":5}", true},
        {"{\"item\":[],\"stock\":5}", false},
        {"[\"item\"]", false},
        {"", false},
        {"{", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char item[IDENT_MAX + 1] = "", err[256] = "";
        int64_t stock = -1;
        json_field fields[] = {{.name = "item", .text = item, .text_len = sizeof(item)},
                               {.name = "stock", .number = &stock, .least = 0, .most = 100},
                               {.name = NULL}};
        json_fault fault =
            json_read(cases[i].body, strlen(cases[i].body), fields, err, sizeof(err));
        bool good = fault == JSON_FINE;
        if (good != cases[i].good)
            fail_msg("%s: %s", cases[i].body, err);
        assert_int_equal(err[0] == '\0', good);
    }
}

static void escapes_are_characters(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"P\\u0031", "P1"},
        {"P\\u00311", "P11"},
        {"P\\u0031f", "P1f"},
        {"\\u0050\\u0031", "P1"},
        {"P\\u003aA", "P:A"},
        {"P\\u003Aa", "P:a"},
        {"P\\/1", "P/1"},
        {"P\\\\1", "P\\1"},
        {"P\\\"1", "P\"1"},
        {"\\u00e4", "\xC3\xA4"},
        {"\\u20ac0", "\xE2\x82\xAC"
                     "0"},
        {"\\ud83d\\udd12", "\xF0\x9F\x94\x92"},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char body[128], item[64] = "", err[256] = "";
        json_field fields[] = {{.name = "item", .text = item, .text_len = sizeof(item)},
                               {.name = NULL}};
        snprintf(body, sizeof(body), "{\"item\":\"%s\"}", texts[i][0]);
        if (json_read(body, strlen(body), fields, err, sizeof(err)) != JSON_FINE)
            fail_msg("%s: %s", body, err);
        assert_string_equal(item, texts[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_read_strictly),
        cmocka_unit_test(escapes_are_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
