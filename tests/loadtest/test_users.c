/*
 * Whose requests they are: every user has its share, whatever the others do, and those who never
 * asked are counted.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include <stdlib.h>
#include <string.h>

static char dir[256], log_path[300];
static fx_stub *stub;

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    snprintf(log_path, sizeof(log_path), "%s/load.csv", dir);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fx_stub_stop(stub);
    stub = NULL;
    fx_dir_remove(dir);
    return 0;
}

/* From --log: how many requests each of `users` made, and that each id was used once. */
static int *requests_of(int users, long requests)
{
    int *counts = calloc((size_t)users, sizeof(counts[0]));
    bool *seen = calloc((size_t)requests, sizeof(seen[0]));
    char line[256], id[80];
    FILE *in = fopen(log_path, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    while (fgets(line, sizeof(line), in) != NULL) {
        int user;
        assert_int_equal(sscanf(line, "%79[^,],%d,", id, &user), 2);
        long ticket = strtol(strrchr(id, '-') + 1, NULL, 10);
        assert_true(user >= 0 && user < users && ticket >= 0 && ticket < requests);
        assert_false(seen[ticket]);
        seen[ticket] = true;
        counts[user]++;
    }
    fclose(in);
    free(seen);
    return counts;
}

/* Some answers take long: whoever is quicker must not use up what is theirs. */
static void every_user_has_its_share(void **unused)
{
    (void)unused;
    static const struct {
        const char *model, *users, *requests, *names;
        int least, more; /* requests of a user; users with one more */
    } table[] = {
        {"--flash", "300", "300", "--quiet", 1, 0},
        {"--flash", "1200", "1200", "--same-names", 1, 0},
        {"--flash", "50", "120", "--same-names", 2, 20},
        {"--quiet", "10", "1003", "--same-names", 100, 3},
        {"--quiet", "1100", "2300", "--quiet", 2, 100},
        {"--until-sold-out", "20", "400", "--same-names", 20, 0}, /* nobody is told so */
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        stub = fx_stub_start(FX_ARGS("--delay-us", "30000x20,0x4000"));
        int users = (int)strtol(table[i].users, NULL, 10);
        long requests = strtol(table[i].requests, NULL, 10);
        fx_load *load = fx_load_run(stub, "run",
                                    FX_ARGS(table[i].model, "--users", table[i].users, "--requests",
                                            table[i].requests, "--stock", "100000", table[i].names,
                                            "--log", log_path));
        assert_int_equal((long)fx_load_number(load, "issued"), requests);
        assert_int_equal((long)fx_load_number(load, "sold"), requests);
        assert_int_equal((int)fx_load_number(load, "users_asked"), users);
        assert_int_equal((int)fx_load_number(load, "users_never_asked"), 0);
        int *counts = requests_of(users, requests);
        for (int user = 0; user < users; user++)
            assert_int_equal(counts[user], table[i].least + (user < table[i].more));
        free(counts);
        fx_load_free(load);
        fx_stub_stop(stub);
        stub = NULL;
    }
}

/* Fewer requests than users is what was asked for, and is said; no time for all is a bad run. */
static void who_never_asked_is_counted(void **unused)
{
    (void)unused;
    stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(stub, "run", FX_ARGS("--users", "30", "--requests", "20"));
    assert_int_equal(load->exit_code, 0);
    assert_int_equal((int)fx_load_number(load, "users_asked"), 20);
    assert_int_equal((int)fx_load_number(load, "users_never_asked"), 10);
    assert_non_null(strstr(load->text, "never asked 10"));
    fx_load_free(load);
}

static void a_run_in_which_some_never_asked_is_invalid(void **unused)
{
    (void)unused;
    stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(stub, "run", FX_ARGS("--users", "2000", "--duration", "1ms"));
    assert_int_equal(load->exit_code, 3);
    assert_true(fx_load_number(load, "users_never_asked") > 0);
    assert_true(fx_load_number(load, "users_asked") + fx_load_number(load, "users_never_asked") ==
                2000);
    assert_true(fx_load_invalid_because(load, "never asked"));
    fx_load_free(load);
}

/* A user who is through makes room at a server that has too few threads for all. */
static void who_is_through_makes_room(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--serve-connections", "20"));
    fx_load *load =
        fx_load_run(stub, "run", FX_ARGS("--users", "40", "--requests", "6000", "--stock", "6000"));
    assert_int_equal((int)fx_load_number(load, "sold"), 6000);
    assert_int_equal((int)fx_load_number(load, "failed"), 0);
    fx_load_free(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_user_has_its_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_asked_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_in_which_some_never_asked_is_invalid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_is_through_makes_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
