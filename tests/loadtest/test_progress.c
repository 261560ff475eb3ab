/*
 * What a person sees while a run lasts: on a terminal (that of script(1)), in a pipe, with
 * NO_COLOR, with --quiet, and with the result file on standard output.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MS 60000

static fx_stub *stub;

static int start(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--delay-us", "20000"));
    return 0;
}

/* Runs a shell command in which $0 is loadtest and $1 the options of a run of that length. */
static fx_process *shell(const char *command, const char *duration)
{
    char path[512], options[256];
    snprintf(options, sizeof(options), "run --target %s --users 5 --stock 100000 --duration %s",
             fx_stub_url(stub, 0), duration);
    fx_process *process = fx_spawn(
        FX_ARGS("sh", "-c", command, fx_build_path("loadtest", path, sizeof(path)), options), true);
    int code = fx_process_wait(process, RUN_MS);
    if (code != 0 && code != 3) /* 3: the machine is busy with other things */
        fail_msg("%s: %s%s", command, fx_process_stdout(process), fx_process_stderr(process));
    return process;
}

static void a_terminal_is_drawn_over(void **unused)
{
    (void)unused;
    static const char *const words[] = {"\r\033[K", "[####",   "..] ", " s left", "stock 99",
                                        " req/s",   " sold/s", "p50 ", "p99 ",    "\033[1;3"};
    fx_process *process = shell("script -qec \"$0 $1\" /dev/null", "2500ms");
    const char *seen = fx_process_stdout(process);
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strstr(seen, words[i]) == NULL)
            fail_msg("no \"%s\" in %s", words[i], seen);
    }
    fx_process_free(process);
}

/* Most sales are over before the first second is. */
static void the_first_second_is_told_of_while_it_lasts(void **unused)
{
    (void)unused;
    fx_process *process = shell("script -qec \"$0 $1\" /dev/null", "900ms");
    const char *seen = fx_process_stdout(process);
    bool told = false;
    for (const char *at = seen; (at = strstr(at, " req/s")) != NULL; at++)
        told |= memcmp(at - 2, " 0", 2) != 0;
    if (!told)
        fail_msg("only zeros in %s", seen);
    fx_process_free(process);
}

static void no_color_takes_the_colours(void **unused)
{
    (void)unused;
    fx_process *process = shell("NO_COLOR=1 script -qec \"$0 $1\" /dev/null", "900ms");
    const char *seen = fx_process_stdout(process);
    assert_non_null(strstr(seen, " req/s"));
    for (const char *at = seen; (at = strstr(at, "\033[")) != NULL; at++)
        assert_null(
            memchr("0123456789m", at[2], 11)); /* it is cleared and moved in, not coloured */
    fx_process_free(process);
}

static void quiet_shows_no_progress(void **unused)
{
    (void)unused;
    fx_process *process = shell("script -qec \"$0 $1 --quiet\" /dev/null", "900ms");
    assert_null(strstr(fx_process_stdout(process), " req/s"));
    assert_non_null(strstr(fx_process_stdout(process), "guarantees"));
    fx_process_free(process);
}

/* Of a run that ends when all is sold nobody knows how far it is: so how long it lasts. */
static void a_run_without_a_known_end_tells_its_time(void **unused)
{
    (void)unused;
    static const char command[] = "$0 run --target $1 --users 5 --stock 600 --until-sold-out";
    char path[512];
    fx_stub *other = fx_stub_start(FX_ARGS("--delay-us", "20000"));
    fx_process *process =
        fx_spawn(FX_ARGS("sh", "-c", command, fx_build_path("loadtest", path, sizeof(path)),
                         fx_stub_url(other, 0)),
                 true);
    int code = fx_process_wait(process, RUN_MS);
    assert_true(code == 0 || code == 3);
    const char *seen = fx_process_stderr(process);
    const char *at = strstr(seen, " s  stock ");
    if (!at || at - seen < 3 || at[-2] != '.' || strtod(at - 3, NULL) < 1.0 || strstr(seen, " %"))
        fail_msg("no seconds in %s", seen);
    fx_process_free(process);
    fx_stub_stop(other);
}

/* Each answer takes the service 20 ms, and every tenth says nothing. */
static void the_figures_are_those_of_the_last_second(void **unused)
{
    (void)unused;
    char path[512];
    fx_stub *other = fx_stub_start(FX_ARGS("--delay-us", "20000", "--unknown-every", "10"));
    fx_process *process = fx_spawn(FX_ARGS(fx_build_path("loadtest", path, sizeof(path)), "run",
                                           "--target", fx_stub_url(other, 0), "--users", "5",
                                           "--stock", "100000", "--requests", "500"),
                                   true);
    int code = fx_process_wait(process, RUN_MS);
    assert_true(code == 1 || code == 3); /* what said nothing has not always bought: UNDERSOLD */
    const char *seen = fx_process_stderr(process);
    bool told = false;
    for (const char *at = seen; !told && (at = strstr(at, "combined ")) != NULL; at++) {
        double share, errors, answers, sold, p50, p99;
        told = sscanf(at,
                      "combined %lf %%, %*d s left stock %*d %lf errors %lf req/s %lf sold/s p50 "
                      "%lf ms p99 %lf ms",
                      &share, &errors, &answers, &sold, &p50, &p99) == 6 &&
               share > 0 && errors > 0 && sold > 0 && sold < answers && p50 >= 20 && p99 >= p50;
    }
    if (!told)
        fail_msg("no such figures in %s", seen);
    fx_process_free(process);
    fx_stub_stop(other);
}

static void json_on_stdout_leaves_the_text_on_stderr(void **unused)
{
    (void)unused;
    fx_process *process = shell("$0 $1 --json -", "2500ms");
    cJSON *json = cJSON_ParseWithOpts(fx_process_stdout(process), NULL, true);
    assert_non_null(json);
    assert_true(cJSON_GetObjectItem(json, "schema")->valueint == 1);
    cJSON_Delete(json);
    const char *text = fx_process_stderr(process);
    assert_non_null(strstr(text, "guarantees"));
    assert_non_null(strstr(text, " sold/s  p50 ")); /* one plain line a second */
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\r'));
    fx_process_free(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_is_drawn_over),
        cmocka_unit_test(the_first_second_is_told_of_while_it_lasts),
        cmocka_unit_test(no_color_takes_the_colours),
        cmocka_unit_test(quiet_shows_no_progress),
        cmocka_unit_test(a_run_without_a_known_end_tells_its_time),
        cmocka_unit_test(the_figures_are_those_of_the_last_second),
        cmocka_unit_test(json_on_stdout_leaves_the_text_on_stderr),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
