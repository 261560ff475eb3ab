/* test_server_run.c - which run of a server is written to: the first that is met until somebody
 * guards it, and from then on the one that was admitted. */

#include "server/redis/server_run.h"
#include "tests/support/fixture.h"

static void who_guards_nothing_takes_the_first_run(void **state)
{
    (void)state;
    server_run run;
    server_run_init(&run);
    assert_true(server_run_is_first(&run));
    assert_true(server_run_looks_at(&run, "a")); /* whatever there is */
    assert_true(server_run_admits(&run, "a"));
    assert_false(server_run_is_first(&run));
    assert_false(server_run_admits(&run, "b"));
    assert_true(server_run_admits(&run, "a"));
    server_run_free(&run);
}

static void who_guards_takes_none_before_it_is_admitted(void **state)
{
    (void)state;
    server_run run;
    server_run_init(&run);
    server_run_guard(&run);
    assert_false(server_run_admits(&run, "a"));
    assert_true(server_run_is_first(&run));
    server_run_admit(&run, "a");
    assert_true(server_run_admits(&run, "a"));
    assert_false(server_run_is_first(&run));

    server_run_look_at(&run, "b"); /* the server is another run now */
    assert_false(server_run_admits(&run, "a"));
    assert_false(server_run_admits(&run, "b"));
    assert_true(server_run_looks_at(&run, "b"));
    assert_false(server_run_looks_at(&run, "a"));
    server_run_admit(&run, "b");
    assert_true(server_run_admits(&run, "b"));

    server_run_forget(&run);
    assert_false(server_run_admits(&run, "b"));
    assert_true(server_run_looks_at(&run, "c"));
    assert_false(server_run_is_first(&run));
    server_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_guards_nothing_takes_the_first_run),
        cmocka_unit_test(who_guards_takes_none_before_it_is_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
