/*
 * test_matrix.c - a selection of the matrix: strategies that are seen failing, others that hold,
 * and the tables by which both are told apart.
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/service.h"

enum { SELECTION_MS = 500000 };

static char dir[256];

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_dir_remove(dir);
    return 0;
}

/* Runs the program: its exit code; what it printed is in *ret, to be freed with the process. */
static int run_matrix(const char *const *args, fx_process **ret)
{
    char program[512];
    const char *argv[16] = {fx_build_path("tests/matrix", program, sizeof(program))};
    for (int i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    *ret = fx_spawn(argv, true);
    return fx_process_wait(*ret, SELECTION_MS);
}

static cJSON *read_matrix(void)
{
    char path[512], *text = calloc(1, 1 << 20);
    snprintf(path, sizeof(path), "%s/matrix.json", dir);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

static const char *verdict_of(const cJSON *json, const char *strategy, const char *fault)
{
    const cJSON *cell;
    cJSON_ArrayForEach(cell, cJSON_GetObjectItem(json, "cells")) {
        if (strcmp(fx_json_text(cell, "strategy"), strategy) == 0 &&
            strcmp(fx_json_text(cell, "fault"), fault) == 0)
            return fx_json_text(cell, "verdict");
    }
    return "none";
}

/* Whether a figure is a number, or null as it has to be. */
static bool is_told(const cJSON *json, const char *strategy, const char *fault, const char *figure,
                    bool told)
{
    const cJSON *cell;
    cJSON_ArrayForEach(cell, cJSON_GetObjectItem(json, "cells")) {
        const cJSON *value = cJSON_GetObjectItem(cell, figure);
        if (strcmp(fx_json_text(cell, "strategy"), strategy) == 0 &&
            strcmp(fx_json_text(cell, "fault"), fault) == 0)
            return told ? cJSON_IsNumber(value) : cJSON_IsNull(value);
    }
    return false;
}

static void a_selection_comes_out_as_expected(void **state)
{
    static const char *const cells[][3] = {
        {"none", "load", "BROKEN"},
        {"setnx", "load", "HELD"},
        {"fair", "stale-write", "BROKEN"},
        {"fenced", "stale-write", "HELD"},
        {"combined", "retries", "HELD"},
        {"sharded", "load", "HELD"},
        {"atomic", "restart-empty", "NOT_COVERED"},
    };
    fx_process *process;
    (void)state;
    int code = run_matrix(FX_ARGS("run", "--selection", "--seed", "7", "--out", dir), &process);
    if (code != 0)
        fail_msg("exit code %d: %s%s", code, fx_process_stdout(process),
                 fx_process_stderr(process));
    cJSON *json = read_matrix();
    assert_int_equal((int)fx_json_number(json, "schema"), 1);
    assert_int_equal((int)fx_json_number(json, "seed"), 7);
    for (size_t i = 0; i < COUNT(cells); i++) {
        const char *found = verdict_of(json, cells[i][0], cells[i][1]);
        if (strcmp(found, cells[i][2]) != 0)
            fail_msg("%s under %s: %s", cells[i][0], cells[i][1], found);
    }
    if (!is_told(json, "sharded", "load", "lost_updates", true) ||
        !is_told(json, "atomic", "restart-empty", "lost_updates", false))
        fail_msg("where Redis was empty, nobody knows what was taken from the stock");
    cJSON_Delete(json);
    fx_process_free(process);
}

/* None of the rows has a cell under that fault: nothing was shown. */
static void no_cell_is_no_success(void **state)
{
    fx_process *process;
    (void)state;
    int code = run_matrix(
        FX_ARGS("run", "--rows", "combined:durability=disk", "--faults", "load", "--out", dir),
        &process);
    assert_int_equal(code, 1);
    fx_process_free(process);
}

/* A strategy without a lock can not be robbed of it. */
static void all_skipped_is_no_success(void **state)
{
    fx_process *process;
    (void)state;
    int code = run_matrix(
        FX_ARGS("run", "--rows", "atomic", "--faults", "foreign-release", "--out", dir), &process);
    if (code != 1 || !strstr(fx_process_stdout(process), "1 skipped"))
        fail_msg("exit code %d: %s", code, fx_process_stdout(process));
    fx_process_free(process);
}

/* A cell alone says by its exit code that it is BROKEN, makes the directory that it writes to, and
 * does not run where it could not. */
static void a_cell_alone_tells_by_its_exit_code(void **state)
{
    char made[300], nowhere[320], result[400];
    const struct {
        const char *row, *out;
        int code;
    } cases[] = {{"none", made, 1}, {"atomic", made, 0}, {"atomic", nowhere, 74}};
    (void)state;
    snprintf(made, sizeof(made), "%s/made", dir);
    snprintf(nowhere, sizeof(nowhere), "%s/no/where", dir);
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_process *process;
        int code = run_matrix(
            FX_ARGS("cell", "--row", cases[i].row, "--fault", "load", "--out", cases[i].out),
            &process);
        if (code != cases[i].code)
            fail_msg("%s to %s: exit code %d: %s", cases[i].row, cases[i].out, code,
                     fx_process_stdout(process));
        fx_process_free(process);
        snprintf(result, sizeof(result), "%s/%s.load.1.json", cases[i].out, cases[i].row);
        assert_int_equal(access(result, F_OK) == 0, code != 74);
    }
}

/* Its cells have begun: there is more below it than the directory for them. */
static bool cells_have_begun(void *below)
{
    glob_t found;
    char pattern[512];
    snprintf(pattern, sizeof(pattern), "%s/*/*/*", (const char *)below);
    bool begun = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return begun;
}

static void who_is_told_to_stop_leaves_nothing(void **state)
{
    char program[512], tmpdir[300], below[288];
    (void)state;
    snprintf(below, sizeof(below), "%s/t", dir);
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", below);
    assert_int_equal(mkdir(below, 0777), 0);
    fx_process *process =
        fx_spawn(FX_ARGS("env", tmpdir, fx_build_path("tests/matrix", program, sizeof(program)),
                         "run", "--rows", "atomic", "--faults", "load,pause", "--out", dir),
                 true);
    assert_true(fx_wait_until(cells_have_begun, below, SELECTION_MS));
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SELECTION_MS), 128 + SIGTERM);
    assert_int_equal(fx_entries(below), 0);
    fx_process_free(process);
}

/* A plan that leaves a strategy out shows nothing of it. */
static void every_strategy_has_its_row(void **state)
{
    fx_process *process;
    (void)state;
    assert_int_equal(run_matrix(FX_ARGS("list"), &process), 0);
    const char *list = fx_process_stdout(process);
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char line[80];
        snprintf(line, sizeof(line), "\nrow %s\n", s->name);
        if (!strstr(list, line))
            fail_msg("no row %s", s->name);
        snprintf(line, sizeof(line), "\nrow %s:durability=disk\n", s->name);
        if ((strstr(list, line) != NULL) != s->guarded)
            fail_msg("%s: with durability=disk there is a row for whoever is guarded", s->name);
        snprintf(line, sizeof(line), "\nrow %s:reserve\n", s->name);
        if ((strstr(list, line) != NULL) != s->reserves)
            fail_msg("%s: with reservations there is a row for whoever has them", s->name);
    }
    fx_process_free(process);
}

static void what_is_not_understood_is_refused(void **state)
{
    static const char *const wrong[][4] = {
        {"run", "--fautls", "load"},
        {"run", "--faults", "laod"},
        {"run", "--rows", "combind"},
        {"run", "--rows", "none:reserve"},
        {"run", "--rows", "combined:reserved"},
        {"run", "--seed", "x"},
        {"cell", "--row", "combined"},
        {"cell", "--row", "x:durability=tape"},
        {"selection"},
        {"run", "--planted", "3"},
        {"run", "--planted", "0,0"}, /* the defects' tests did not run */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const char *args[] = {wrong[i][0], wrong[i][1], wrong[i][2], NULL};
        fx_process *process;
        int code = run_matrix(args, &process);
        if (code != 64)
            fail_msg("%s %s %s: %d", args[0], args[1] ? args[1] : "", args[2] ? args[2] : "", code);
        fx_process_free(process);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_selection_comes_out_as_expected, setup, teardown),
        cmocka_unit_test_setup_teardown(no_cell_is_no_success, setup, teardown),
        cmocka_unit_test_setup_teardown(all_skipped_is_no_success, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cell_alone_tells_by_its_exit_code, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_told_to_stop_leaves_nothing, setup, teardown),
        cmocka_unit_test(every_strategy_has_its_row),
        cmocka_unit_test(what_is_not_understood_is_refused),
    };
    return fx_run(tests, .instances = 1);
}
