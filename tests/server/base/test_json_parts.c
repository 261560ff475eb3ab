/*
 * Bodies member by member: what each fault is called, and what a sentence says of it; numbers and
 * texts at their limits; and the terms of a sale that are read by it.
 */
#include "tests/support/fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/json.h"
#include "server/sale/sale_request.h"

static char name[5];
static int64_t number, other;

static json_fault read_body(const char *body, size_t len, char *err, size_t err_len)
{
    json_field fields[] = {{.name = "name", .text = name, .text_len = sizeof(name), .found = true},
                           {.name = "number", .number = &number, .least = -2, .most = 3},
                           {.name = "other", .number = &other, .least = 0, .most = INT64_MAX},
                           {.name = NULL}};
    name[0] = '\0';
    number = other = -77;
    err[0] = '\0';
    return json_read(body, len, fields, err, err_len);
}

static void each_fault_has_its_name_and_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        json_fault fault;
        const char *said;
    } cases[] = {
        {"{}", JSON_FINE, ""},
        {"{\"name\":\"\"}", JSON_FINE, ""},
        {"{\"name\":\"abcd\",\"number\":3,\"other\":0}", JSON_FINE, ""},
        {"{\"number\":3}\t\r\n ", JSON_FINE, ""},
        {"{\"number\":0}", JSON_FINE, ""},
        {"{\"name\":\"abcde\"}", JSON_BAD_VALUE, "'name' must be a string of at most 4 characters"},
        {"{\"name\":5}", JSON_BAD_VALUE, "'name' must be a string of at most 4 characters"},
        {"{\"name\":null}", JSON_BAD_VALUE, "'name' must be a string of at most 4 characters"},
        {"{\"name\":true}", JSON_BAD_VALUE, "'name' must be a string of at most 4 characters"},
        {"{\"number\":4}", JSON_BAD_VALUE,
         "'number' must be an integer from -2 to 3, in digits alone"},
        {"{\"number\":-3}", JSON_BAD_VALUE,
         "'number' must be an integer from -2 to 3, in digits alone"},
        {"{\"number\":true}", JSON_FINE, NULL},
        {"{\"other\":\"5\"}", JSON_BAD_VALUE,
         "'other' must be an integer from 0 to 9223372036854775807, in digits alone"},
        {"{\"other\":null}", JSON_BAD_VALUE,
         "'other' must be an integer from 0 to 9223372036854775807, in digits alone"},
        {"{\"other\":9007199254740992}", JSON_BAD_VALUE,
         "'other' must be an integer from 0 to 9223372036854775807, in digits alone"},
        {"{\"other\":9007199254740991}", JSON_FINE, ""},
        {"{\"other\":1,\"other\":1}", JSON_REPEATED, "'other' comes twice"},
        {"{\"what\":1}", JSON_UNKNOWN, "'what' is not known here"},
        {"{\"\":1}", JSON_UNKNOWN, "'' is not known here"},
        {"[]", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"5", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"\"a\"", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{} {}", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{},", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{\"name\":{}}", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{\"other\":00}", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{\"other\":10}", JSON_FINE, ""},
        {"{\"other\":100}", JSON_FINE, ""},
        {"{\"name\":\"[{00\"}", JSON_FINE, ""},
        {"{\"name\":\"\\\"{[\"}", JSON_FINE, ""},
        {"{\"name\":\"\\\\\",\"other\":01}", JSON_NOT_OBJECT,
         "the body must be one flat JSON object"},
        {"{\"name\":\"\\u0041\"}", JSON_FINE, ""},
        {"{\"name\":\"\\u004\"}", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
        {"{\"name\":\"\\u0000\"}", JSON_NOT_OBJECT, "the body must be one flat JSON object"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256];
        json_fault fault = read_body(cases[i].body, strlen(cases[i].body), err, sizeof(err));
        if (!cases[i].said)
            continue; /* -1 in its range stands for anything that is no number */
        if (fault != cases[i].fault || strcmp(err, cases[i].said) != 0)
            fail_msg("%s: fault %d, %s", cases[i].body, (int)fault, err);
    }
}

static void values_arrive(void **state)
{
    (void)state;
    char err[256];
    const char *body = "{\"other\":9007199254740991,\"name\":\"a\\u0041\",\"number\":-2}";
    assert_int_equal(read_body(body, strlen(body), err, sizeof(err)), JSON_FINE);
    assert_string_equal(name, "aA");
    assert_true(number == -2 && other == INT64_C(9007199254740991));
}

/* A body ends where its length says, whatever stands behind. */
static void a_body_ends_at_its_length(void **state)
{
    (void)state;
    static const char body[] = "{\"other\":1}x";
    char err[256];
    for (size_t len = 0; len < sizeof(body); len++)
        assert_int_equal(read_body(body, len, err, sizeof(err)) == JSON_FINE,
                         len == sizeof(body) - 2);
    static const char zero[] = "{\"other\":1}\0";
    assert_int_equal(read_body(zero, sizeof(zero) - 1, err, sizeof(err)), JSON_NOT_OBJECT);
}

/* ---- the terms of a sale --------------------------------------------------------------------- */

static json_fault ask(const char *members, sale_terms *terms, char *err, size_t err_len)
{
    char body[512];
    snprintf(body, sizeof(body), "{\"item\":\"P\"%s}", members);
    err[0] = '\0';
    return sale_request_read(body, strlen(body), terms, err, err_len);
}

static void terms_are_held_to_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *before, *name;
    } terms[] = {
        {",", "stock"},
        {",\"stock\":1,", "per_user_limit"},
        {",\"stock\":1,\"per_user_limit\":1,", "reserve_max_s"},
        {",\"stock\":1,", "lease_ms"},
        {",\"stock\":1,", "wait_ms"},
        {",\"stock\":1,\"strategy\":\"sharded\",", "segments"},
        {",\"stock\":1,\"durability\":\"replicated\",", "min_replicas"},
    };
    for (size_t i = 0; i < COUNT(terms); i++) {
        int64_t least = -1, most = -1;
        assert_true(sale_request_limits(terms[i].name, &least, &most));
        for (int step = 0; step < 4; step++) {
            int64_t value = step == 0 ? least : step == 1 ? most : step == 2 ? least - 1 : most + 1;
            char members[256], err[512];
            sale_terms ret;
            snprintf(members, sizeof(members), "%s\"%s\":%" PRId64, terms[i].before, terms[i].name,
                     value);
            json_fault fault = ask(members, &ret, err, sizeof(err));
            if (fault != (step < 2 ? JSON_FINE : JSON_BAD_VALUE) ||
                (step >= 2 && !strstr(err, terms[i].name)))
                fail_msg("%s: fault %d, %s", members, (int)fault, err);
        }
    }
    int64_t least, most;
    assert_false(sale_request_limits("item", &least, &most));
}

static void what_is_said_of_a_sale_becomes_its_terms(void **state)
{
    (void)state;
    char err[512];
    sale_terms terms;
    assert_int_equal(ask(",\"stock\":9,\"strategy\":\"combined\",\"per_user_limit\":2,"
                         "\"reserve_max_s\":60,\"lease_ms\":1234,\"wait_ms\":4321,\"hold_ms\":7,"
                         "\"durability\":\"replicated\",\"min_replicas\":2,\"replaces\":\"old\"",
                         &terms, err, sizeof(err)),
                     JSON_FINE);
    assert_string_equal(terms.item, "P");
    assert_string_equal(terms.strategy, "combined");
    assert_string_equal(terms.replaces, "old");
    assert_true(terms.initial == 9 && terms.per_user_limit == 2 && terms.reserve_max_s == 60);
    assert_true(terms.lease_ms == 1234 && terms.wait_ms == 4321 && terms.hold_ms == 7);
    assert_true(terms.durability == DURABILITY_REPLICATED && terms.min_replicas == 2);
    assert_int_equal(terms.segments, 0);
    assert_int_equal(ask(",\"stock\":0,\"strategy\":\"sharded\"", &terms, err, sizeof(err)),
                     JSON_FINE);
    assert_true(terms.initial == 0 && terms.segments == 4 && terms.per_user_limit == 0);
    assert_true(terms.reserve_max_s == 0 && terms.hold_ms == 0);
    assert_int_equal(
        ask(",\"stock\":0,\"strategy\":\"sharded\",\"segments\":7", &terms, err, sizeof(err)),
        JSON_FINE);
    assert_int_equal(terms.segments, 7);
    assert_int_equal(
        ask(",\"stock\":0,\"strategy\":\"fair\",\"segments\":7", &terms, err, sizeof(err)),
        JSON_FINE);
    assert_int_equal(terms.segments, 0);
}

static void a_sale_that_can_not_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *members, *said; /* "": it can be */
    } cases[] = {
        {"", "'stock' must be a number from 0 to "},
        {",\"stock\":1,\"strategy\":\"hope\"", "'strategy' must be one of "},
        {",\"stock\":1,\"replaces\":\"a b\"", "'replaces' must be a sale: 1 to 64 of"},
        {",\"stock\":1,\"replaces\":\"\"", ""},
        {",\"stock\":1,\"reserve_max_s\":1", "'reserve_max_s' needs a 'per_user_limit'"},
        {",\"stock\":1,\"reserve_max_s\":1,\"per_user_limit\":0",
         "'reserve_max_s' needs a 'per_user_limit'"},
        {",\"stock\":1,\"reserve_max_s\":1,\"per_user_limit\":1", ""},
        {",\"stock\":1,\"reserve_max_s\":0", ""},
        {",\"stock\":1,\"strategy\":\"sharded\",\"per_user_limit\":1",
         "'per_user_limit' can not be kept by strategy 'sharded'"},
        {",\"stock\":1,\"strategy\":\"sharded\",\"per_user_limit\":0", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512];
        sale_terms terms;
        bool fine = ask(cases[i].members, &terms, err, sizeof(err)) == JSON_FINE;
        if (fine != (cases[i].said[0] == '\0') ||
            strncmp(err, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("%s: %s", cases[i].members, err);
    }
    char err[512];
    sale_terms terms;
    const char *body = "{\"item\":\"a b\",\"stock\":1}";
    assert_int_equal(sale_request_read(body, strlen(body), &terms, err, sizeof(err)),
                     JSON_BAD_VALUE);
    assert_string_equal(err, "'item' must be 1 to 64 of [A-Za-z0-9_-]");
}

/* With every wait, the longest hold is what the limit says, and one ms more is refused. */
static void a_hold_fits_into_a_request(void **state)
{
    (void)state;
    static const int64_t waits[] = {0, 1, 5000, 9999, 10000, 10001, 30000, 60000};
    for (size_t i = 0; i < COUNT(waits); i++) {
        char members[128], err[512];
        sale_terms terms = {.wait_ms = waits[i]};
        int64_t most = terms_hold_most_ms(&terms);
        most = most < 60000 ? most : 60000; /* the longest of all */
        assert_true(most > 0);
        for (int more = 0; more < 2; more++) {
            snprintf(members, sizeof(members),
                     ",\"stock\":1,\"wait_ms\":%" PRId64 ",\"hold_ms\":%" PRId64, waits[i],
                     most + more);
            bool fine = ask(members, &terms, err, sizeof(err)) == JSON_FINE;
            if (fine != !more || (!fine && !strstr(err, "'hold_ms' must be an integer from 0 to")))
                fail_msg("%s: %s", members, err);
        }
    }
}

static void reservations_need_a_strategy_that_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *said; /* NULL: it has */
    } cases[] = {
        {"combined", NULL},
        {"atomic", NULL},
        {"batched", NULL},
        {"fenced", NULL},
        {"fair", "strategy 'fair' has no reservations: who reads first"},
        {"none", "strategy 'none' has no reservations: who reads first"},
        {"sharded", "strategy 'sharded' has no reservations: a segment that"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512] = "";
        sale_terms terms = {.reserve_max_s = 0};
        snprintf(terms.strategy, sizeof(terms.strategy), "%s", cases[i].strategy);
        assert_true(sale_request_reserves(&terms, err, sizeof(err)));
        terms.reserve_max_s = 1;
        if (sale_request_reserves(&terms, err, sizeof(err)) != !cases[i].said ||
            (cases[i].said && strncmp(err, cases[i].said, strlen(cases[i].said)) != 0))
            fail_msg("%s: %s", cases[i].strategy, err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_has_its_name_and_sentence),
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(a_body_ends_at_its_length),
        cmocka_unit_test(terms_are_held_to_their_limits),
        cmocka_unit_test(what_is_said_of_a_sale_becomes_its_terms),
        cmocka_unit_test(a_sale_that_can_not_be_is_refused),
        cmocka_unit_test(a_hold_fits_into_a_request),
        cmocka_unit_test(reservations_need_a_strategy_that_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
