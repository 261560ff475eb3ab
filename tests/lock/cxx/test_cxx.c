/* dlock.hpp: compiled by every C++ compiler that is here (check), and run on a real Redis. The
 * cases are C++, in cases.cpp; here each becomes a test of its own. */
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

#include <stdio.h>
#include <string.h>

enum { CANNOT_CHECK = 77, COMPILE_MS = 300000, CASE_MS = 120000 };

static char dir[256], said[65536];
static fx_redis *server;
static bool can_compile;

/* The exit code; what was printed is in `said`. */
static int run(const char *const *argv, int limit_ms)
{
    fx_process *p = fx_spawn(argv, true);
    int code = fx_process_wait(p, fx_patient_ms(limit_ms));
    snprintf(said, sizeof(said), "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

static int check(const char *step)
{
    return run((const char *const[]){"tests/lock/cxx/check", step, dir, NULL}, COMPILE_MS);
}

static void need_compiler(void)
{
    if (!can_compile)
        fx_skip("there is no C++ compiler; scripts/deps test installs one");
}

static void step(void **state)
{
    need_compiler();
    int code = check(*state);
    if (code != 0)
        fail_msg("%s: exit %d\n%s", (char *)*state, code, said);
}

static void cpp_case(void **state)
{
    char program[300];
    need_compiler();
    fx_redis_do(server, "CLIENT UNPAUSE"); /* a case that failed may have left it so */
    fx_redis_do(server, "FLUSHALL");
    snprintf(program, sizeof(program), "%s/cases", dir);
    int code = run((const char *const[]){program, *state, fx_redis_url(server), NULL}, CASE_MS);
    if (code != 0)
        fail_msg("exit %d\n%s", code, said);
}

static void expect_example(int code, const char *says)
{
    char program[300];
    snprintf(program, sizeof(program), "%s/raii", dir);
    assert_int_equal(run((const char *const[]){program, fx_redis_url(server), NULL}, CASE_MS),
                     code);
    if (!strstr(said, says))
        fail_msg("\"%s\" is not in: %s", says, said);
}

static void the_example_sells_what_there_is(void **state)
{
    (void)state;
    need_compiler();
    fx_redis_do(server, "SET stock:{42}:left 1");
    expect_example(0, "sold, 0 left\n");
    expect_example(0, "sold out\n");
    fx_redis_do(server, "SET stock:{42}:lock a-stranger");
    expect_example(1, "not obtained: held by another");
}

static int begin(void **state)
{
    (void)state;
    char library[512];
    fx_dir_make(dir, sizeof(dir));
    server = fx_redis_start_single(NULL);
    fx_build_path("libdlock.so", library, sizeof(library)); /* what the programs are linked with */
    int code = check("build");
    can_compile = code != CANNOT_CHECK;
    if (code != 0 && can_compile)
        print_error("check build: exit %d\n%s\n", code, said);
    return can_compile ? code : 0;
}

#define WITH(function, word)                                                                       \
    {                                                                                              \
        .name = #word, .test_func = (function), .initial_state = (void *)(uintptr_t) #word         \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(step, warnings),
        WITH(step, refusals),
        WITH(cpp_case, the_destructor_releases),
        WITH(cpp_case, what_was_moved_from_is_empty),
        WITH(cpp_case, what_is_assigned_to_releases_what_it_had),
        WITH(cpp_case, owners_end_in_any_order),
        WITH(cpp_case, a_hold_outlives_the_lock_it_was_first_got_by),
        WITH(cpp_case, levels_of_a_hold_end_by_different_threads),
        WITH(cpp_case, a_lost_hold_tells_it),
        WITH(cpp_case, unknown_is_neither_yes_nor_no),
        WITH(cpp_case, a_wait_ends),
        WITH(cpp_case, what_can_not_be_made_says_why),
        WITH(cpp_case, words_are_any_bytes_and_the_reply_is_owned),
        WITH(cpp_case, pending_calls_come_to_holds),
        WITH(cpp_case, a_pending_call_that_is_dropped_leaves_nothing),
        WITH(cpp_case, a_writer_becomes_a_reader),
        WITH(cpp_case, a_latch_opens),
        WITH(cpp_case, a_candidate_leads_until_it_ends),
        WITH(cpp_case, what_c_makes_is_adopted),
        WITH(cpp_case, a_child_holds_nothing),
        cmocka_unit_test(the_example_sells_what_there_is),
    };
    return cmocka_run_group_tests_name("cxx", tests, begin, NULL);
}
