/* Key templates: what they become, and what they refuse. */
#include "lock/dlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const dlock_named_arg names[] = {
    {"item", "42"}, {"user", "anna"}, {"item_long", "long"}, {"empty", ""}, {NULL, NULL}};

static void fills(void **state)
{
    (void)state;
    static const struct {
        const char *key_template, *key;
    } cases[] = {
        {"plain", "plain"},
        {"stock:{item}", "stock:42"},
        {"{item}", "42"},
        {"{user}:{item}:{user}", "anna:42:anna"},
        {"{item_long}/{item}", "long/42"},
        {"{{}}", "{}"},
        {"stock:{{{item}}}:lock", "stock:{42}:lock"},
        {"{{item}}", "{item}"},
        {"a}}b{{c", "a}b{c"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char key[64], err[128] = "";
        assert_int_equal(
            dlock_template(cases[i].key_template, names, key, sizeof(key), err, sizeof(err)),
            DLOCK_OK);
        assert_string_equal(key, cases[i].key);
        assert_string_equal(err, "");
    }
}

static void refuses_and_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *key_template, *complaint;
    } cases[] = {
        {"stock:{unknown}", "\"unknown\" of the template is missing"},
        {"stock:{ite}", "\"ite\" of the template is missing"},
        {"stock:{Item}", "\"Item\" of the template is missing"},
        {"stock:{empty}", "\"empty\" of the template is empty"},
        {"stock:{}", "names no argument"},
        {"stock:{item", "'{' is not closed"},
        {"stock:{it{em}", "'{' is not closed"},
        {"stock:{", "'{' is not closed"},
        {"stock:item}", "'}' without '{'"},
        {"stock:{item}}", "'}' without '{'"},
        {"", "is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char key[64] = "untouched", err[128] = "";
        assert_int_equal(
            dlock_template(cases[i].key_template, names, key, sizeof(key), err, sizeof(err)),
            DLOCK_INVALID);
        assert_string_equal(key, "");
        if (!strstr(err, cases[i].complaint))
            fail_msg("template \"%s\": \"%s\" does not say \"%s\"", cases[i].key_template, err,
                     cases[i].complaint);
    }
}

static void fits_exactly_or_not_at_all(void **state)
{
    (void)state;
    char key[9], err[128];
    assert_int_equal(dlock_template("stock:{item}", names, key, 9, err, sizeof(err)), DLOCK_OK);
    assert_string_equal(key, "stock:42");
    assert_int_equal(dlock_template("stock:{item}", names, key, 8, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_string_equal(key, "");
    assert_non_null(strstr(err, "longer than 7 bytes"));
}

static void needs_neither_arguments_nor_an_error_buffer(void **state)
{
    (void)state;
    char key[16];
    assert_int_equal(dlock_template("plain", NULL, key, sizeof(key), NULL, 0), DLOCK_OK);
    assert_string_equal(key, "plain");
    assert_int_equal(dlock_template("{item}", NULL, key, sizeof(key), NULL, 0), DLOCK_INVALID);
    assert_int_equal(dlock_template("{item}", names, key, 0, NULL, 0), DLOCK_INVALID);
    assert_int_equal(dlock_template(NULL, names, key, sizeof(key), NULL, 0), DLOCK_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(refuses_and_says_why),
        cmocka_unit_test(fits_exactly_or_not_at_all),
        cmocka_unit_test(needs_neither_arguments_nor_an_error_buffer),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
