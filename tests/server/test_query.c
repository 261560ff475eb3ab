/* test_query.c - parameters are read strictly, each once, from the query and from a body alike. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/api/query.h"

static const char *const names[] = {"item", "n", NULL};

static json_fault read_words(fs_query *query, const char *text)
{
    query_init(query, names);
    query->why[0] = '\0';
    json_fault fault = query_add_words(query, text, strlen(text));
    assert_true((fault == JSON_FINE) == (query->why[0] == '\0'));
    return fault;
}

static void values_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *query, *value;
        query_status status;
    } cases[] = {
        {"item=P1&n=u", "P1", QUERY_OK}, {"n=u&item=P%31", "P1", QUERY_OK},
        {"it%65m=P1", "P1", QUERY_OK},   {"&item=P1&&", "P1", QUERY_OK},
        {"n=u", "", QUERY_ABSENT},       {"", "", QUERY_ABSENT},
        {"item=", "", QUERY_BAD},        {"item", "", QUERY_BAD},
        {"item=P%3", "", QUERY_BAD},     {"item=P%00", "", QUERY_BAD},
        {"item=P%zz", "", QUERY_BAD},    {"item=a+b", "", QUERY_BAD},
        {"item=a=b", "", QUERY_BAD},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char value[IDENT_MAX + 1] = "";
        fs_query query;
        assert_int_equal(read_words(&query, cases[i].query), JSON_FINE);
        query_status status = query_word(&query, "item", ident_ok, value);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].query, status);
        assert_string_equal(value, cases[i].value);
    }
}

static void each_parameter_is_known_and_comes_once(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        json_fault fault;
    } cases[] = {
        {"item=P1&n=1", JSON_FINE},
        {"item=P1&item=P2", JSON_REPEATED},
        {"item=P1&item=P1", JSON_REPEATED},
        {"item=P1&it%65m=P2", JSON_REPEATED},
        {"item=%zz&item=P1", JSON_REPEATED},
        {"item&item=P1", JSON_REPEATED},
        {"item=P1&x=1", JSON_UNKNOWN},
        {"xitem=P1", JSON_UNKNOWN},
        {"Item=P1", JSON_UNKNOWN},
        {"item%00=P1", JSON_UNKNOWN},
        {"=P1", JSON_UNKNOWN},
        {"item=P1;n=1&y", JSON_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        fs_query query;
        json_fault fault = read_words(&query, cases[i].query);
        if (fault != cases[i].fault)
            fail_msg("%s: %d", cases[i].query, fault);
    }
}

static void numbers_are_whole_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        query_status status;
    } cases[] = {
        {"n=1", QUERY_OK},     {"n=10", QUERY_OK},
        {"n=0", QUERY_BAD},    {"n=11", QUERY_BAD},
        {"n=-1", QUERY_BAD},   {"n=+1", QUERY_BAD},
        {"n=1.0", QUERY_BAD},  {"n=1x", QUERY_BAD},
        {"n=%201", QUERY_BAD}, {"n=9999999999999999999999", QUERY_BAD},
        {"n=", QUERY_BAD},     {"item=1", QUERY_ABSENT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t number;
        fs_query query;
        assert_int_equal(read_words(&query, cases[i].query), JSON_FINE);
        if (query_int(&query, "n", 1, 10, &number) != cases[i].status)
            fail_msg("%s", cases[i].query);
    }
}

static void numbers_have_18_digits_at_most(void **state)
{
    (void)state;
    int64_t number = 0;
    fs_query query;
    assert_int_equal(read_words(&query, "n=999999999999999999"), JSON_FINE);
    assert_int_equal(query_int(&query, "n", 0, INT64_MAX, &number), QUERY_OK);
    assert_true(number == INT64_C(999999999999999999));
    assert_int_equal(read_words(&query, "n=1000000000000000000"), JSON_FINE);
    assert_int_equal(query_int(&query, "n", 0, INT64_MAX, &number), QUERY_BAD);
}

/* Whatever is asked of it: the longest name, and the longest value of the query and of a body. */
static void names_and_values_have_their_room(void **state)
{
    (void)state;
    static char name[IDENT_MAX + 1];
    const char *const known[] = {name, NULL};
    char text[IDENT_MAX + QUERY_VALUE_MAX + 16];
    fs_query query;
    memset(name, 'n', IDENT_MAX);
    for (int len = QUERY_VALUE_MAX; len <= QUERY_VALUE_MAX + 1; len++) {
        char value[QUERY_VALUE_MAX + 2] = "", ret[QUERY_VALUE_MAX + 2] = "";
        query_status expected = len == QUERY_VALUE_MAX ? QUERY_OK : QUERY_BAD;
        memset(ret, 'x', sizeof(ret) - 1);
        memset(value, 'v', (size_t)len);
        query_init(&query, known);
        snprintf(text, sizeof(text), "%s=%s", name, value);
        assert_int_equal(query_add_words(&query, text, strlen(text)), JSON_FINE);
        assert_int_equal(query_word(&query, name, NULL, ret), expected);
        assert_int_equal(strcmp(ret, value) == 0, expected == QUERY_OK);
        query_init(&query, known);
        snprintf(text, sizeof(text), "{\"%s\":\"%s\"}", name, value);
        assert_int_equal(query_add_json(&query, text, strlen(text)), JSON_FINE);
        assert_int_equal(query_word(&query, name, NULL, ret), expected);
    }
}

/* In JSON a number is a number, and a text a text. */
static void json_is_read_as_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        json_fault fault;
        query_status item, n;
    } cases[] = {
        {"{}", JSON_FINE, QUERY_ABSENT, QUERY_ABSENT},
        {"{\"item\":\"P1\",\"n\":2}", JSON_FINE, QUERY_OK, QUERY_OK},
        {"{\"item\":\"P1\",\"n\":\"2\"}", JSON_FINE, QUERY_OK, QUERY_BAD},
        {"{\"item\":5,\"n\":2.5}", JSON_FINE, QUERY_BAD, QUERY_BAD},
        {"{\"item\":null,\"n\":-1}", JSON_FINE, QUERY_BAD, QUERY_BAD},
        {"{\"item\":true,\"n\":1e300}", JSON_FINE, QUERY_BAD, QUERY_BAD},
        {"{\"item\":\"P1\",\"n\":1.0}", JSON_FINE, QUERY_OK, QUERY_BAD},
        {"{\"item\":\"P1\",\"n\":1e0}", JSON_FINE, QUERY_OK, QUERY_BAD},
        {"{\"item\":[\"P1\"]}", JSON_NOT_OBJECT, QUERY_ABSENT, QUERY_ABSENT},
        {"{\"item\":{}}", JSON_NOT_OBJECT, QUERY_ABSENT, QUERY_ABSENT},
        {"{\"item\":\"P1\",\"item\":\"P1\"}", JSON_REPEATED, QUERY_OK, QUERY_ABSENT},
        {"{\"item\":\"P1\",\"x\":1}", JSON_UNKNOWN, QUERY_OK, QUERY_ABSENT},
        {"{\"Item\":\"P1\"}", JSON_UNKNOWN, QUERY_ABSENT, QUERY_ABSENT},
        {"[\"item\"]", JSON_NOT_OBJECT, QUERY_ABSENT, QUERY_ABSENT},
        {"{\"n\":02}", JSON_NOT_OBJECT, QUERY_ABSENT, QUERY_ABSENT},
        {"{\"n\":2}x", JSON_NOT_OBJECT, QUERY_ABSENT, QUERY_ABSENT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char item[IDENT_MAX + 1];
        int64_t n;
        fs_query query;
        query_init(&query, names);
        json_fault fault = query_add_json(&query, cases[i].body, strlen(cases[i].body));
        if (fault != cases[i].fault ||
            query_word(&query, "item", ident_ok, item) != cases[i].item ||
            query_int(&query, "n", 1, 10, &n) != cases[i].n)
            fail_msg("%s: %d", cases[i].body, fault);
    }
}

static void query_and_body_count_together(void **state)
{
    (void)state;
    fs_query query;
    assert_int_equal(read_words(&query, "item=P1"), JSON_FINE);
    assert_int_equal(query_add_json(&query, "{\"item\":\"P1\"}", 13), JSON_REPEATED);
    assert_int_equal(read_words(&query, "item=P1"), JSON_FINE);
    assert_int_equal(query_add_words(&query, "n=1&item=P1", 11), JSON_REPEATED);
}

static void users_are_what_e_mail_addresses_have(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        query_status status;
    } cases[] = {
        {"item=Ann.O_Neil-2%2Bx%25y@mail.example", QUERY_OK},
        {"item=a+b", QUERY_BAD},
        {"item=a%7Bb", QUERY_BAD},
        {"item=a%22b", QUERY_BAD},
        {"item=%C3%A9", QUERY_BAD},
        {"item=", QUERY_BAD},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char user[USER_MAX + 1];
        fs_query query;
        assert_int_equal(read_words(&query, cases[i].query), JSON_FINE);
        if (query_word(&query, "item", user_ok, user) != cases[i].status)
            fail_msg("%s", cases[i].query);
    }
    for (int len = USER_MAX; len <= USER_MAX + 1; len++) {
        char text[USER_MAX + 16] = "item=", user[USER_MAX + 1];
        fs_query query;
        memset(text + 5, 'u', (size_t)len);
        assert_int_equal(read_words(&query, text), JSON_FINE);
        assert_int_equal(query_word(&query, "item", user_ok, user),
                         len == USER_MAX ? QUERY_OK : QUERY_BAD);
    }
}

#define TEN  "0123456789"
#define MOST TEN TEN TEN TEN TEN TEN "0123" /* IDENT_MAX */

/* As it is, or in quotes as the draft of the header has it: two of them, which are not the key's.
 */
static void a_key_may_stand_in_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *header, *key; /* NULL: it is none */
    } cases[] = {
        {"k-1_Z", "k-1_Z"}, {"\"k-1_Z\"", "k-1_Z"}, {"k", "k"},       {"\"k\"", "k"},
        {MOST, MOST},       {"\"" MOST "\"", MOST}, {MOST "4", NULL}, {"\"" MOST "4\"", NULL},
        {"", NULL},         {"\"\"", NULL},         {"\"", NULL},     {"\"k", NULL},
        {"k\"", NULL},      {"\"\"k\"\"", NULL},    {"a b", NULL},    {"a\"b", NULL},
        {"a.b", NULL},      {" a", NULL},
    };
    _Static_assert(sizeof(MOST) == IDENT_MAX + 1, "the longest");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char key[IDENT_MAX + 1] = "before";
        bool good = query_read_key(cases[i].header, key);
        if (good != (cases[i].key != NULL) || strcmp(key, good ? cases[i].key : "before") != 0)
            fail_msg("%s: %s", cases[i].header, good ? key : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_strictly),
        cmocka_unit_test(each_parameter_is_known_and_comes_once),
        cmocka_unit_test(numbers_are_whole_and_in_range),
        cmocka_unit_test(numbers_have_18_digits_at_most),
        cmocka_unit_test(names_and_values_have_their_room),
        cmocka_unit_test(json_is_read_as_strictly),
        cmocka_unit_test(query_and_body_count_together),
        cmocka_unit_test(a_key_may_stand_in_quotes),
        cmocka_unit_test(users_are_what_e_mail_addresses_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
