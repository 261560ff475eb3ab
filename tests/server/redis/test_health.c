/* test_health.c - what is wrong with a server, in its own words, until it is over. */

#include "server/redis/node.h"
#include "tests/support/fixture.h"

static void a_complaint_has_the_first_word_of_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *redis, *detail;
    } cases[] = {
        {"OOM command not allowed", "OOM", "OOM command not allowed"},
        {"READONLY", "READONLY", "READONLY"},
        {"Redis answered: BUSY a script runs", "BUSY", "BUSY a script runs"},
        {"MISCONF: no", "no_answer", "MISCONF: no"},
        {"A word too short", "no_answer", "A word too short"},
        {"OK", "OK", "OK"},
        {"no such host", "no_answer", "no such host"},
        {"ABCDEFGHIJKLMNOPQRSTUVW is short enough", "ABCDEFGHIJKLMNOPQRSTUVW",
         "ABCDEFGHIJKLMNOPQRSTUVW is short enough"},
        {"ABCDEFGHIJKLMNOPQRSTUVWX is not", "no_answer", "ABCDEFGHIJKLMNOPQRSTUVWX is not"},
        {"", "no_answer", "Redis does not answer"},
        {NULL, "no_answer", "Redis does not answer"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        store_complaint why;
        complain(&why, cases[i].answer);
        assert_string_equal(why.redis, cases[i].redis);
        assert_string_equal(why.detail, cases[i].detail);
    }
}

/* Nothing is known of a server that was not asked yet, so it is trusted with nothing. */
static void a_server_is_ill_until_it_is_found_well(void **state)
{
    (void)state;
    store_health health;
    store_complaint why, oom;
    health_init(&health);
    for (int t = 0; t < TROUBLES; t++) {
        assert_true(health_has(&health, (store_trouble)t));
        assert_true(health_why(&health, (store_trouble)t, &why));
        assert_string_equal(why.redis, "no_answer");
        health_note(&health, (store_trouble)t, NULL);
        assert_false(health_has(&health, (store_trouble)t));
    }
    complain(&oom, "OOM no more");
    complain(&why, "untouched");
    health_note(&health, TROUBLE_REFUSES, &oom);
    for (int t = 0; t < TROUBLES; t++) {
        bool has = health_why(&health, (store_trouble)t, &why);
        assert_int_equal(has, t == TROUBLE_REFUSES);
        assert_string_equal(why.detail, t < TROUBLE_REFUSES ? "untouched" : "OOM no more");
    }
    health_free(&health);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complaint_has_the_first_word_of_an_error),
        cmocka_unit_test(a_server_is_ill_until_it_is_found_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
