/*
 * What loadtest does around its runs: files that it can not write are told of before the run, or
 * after it, and never as written; and a server that is another's is told in a line.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MS 60000

static fx_stub *stub;
static char dir[256];

static int start(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    stub = fx_stub_start(NULL);
    return 0;
}

/* A small run of loadtest with these further words; the exit code, and in `said` both streams. */
static int run(const char *target, const char *const *words, char *said, size_t said_len)
{
    char path[512];
    const char *argv[24] = {fx_build_path("loadtest", path, sizeof(path)),
                            "run",
                            "--target",
                            target,
                            "--quiet",
                            "--users",
                            "5",
                            "--requests",
                            "50",
                            "--stock",
                            "20"};
    for (int i = 0, at = 11; words[i]; i++)
        argv[at++] = words[i];
    fx_process *process = fx_spawn(argv, true);
    int code = fx_process_wait(process, RUN_MS);
    snprintf(said, said_len, "%s%s", fx_process_stdout(process), fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static void a_file_that_can_not_be_written_is_a_usage_error(void **unused)
{
    (void)unused;
    static const char *const options[] = {"--json", "--html", "--hgrm", "--log"};
    char said[8192], missing[300], inside[300];
    assert_int_equal(fx_shell("echo kept >\"$1/file\"", dir, 5000), 0);
    snprintf(missing, sizeof(missing), "%s/missing/out", dir);
    snprintf(inside, sizeof(inside), "%s/file/out", dir);
    const char *paths[] = {missing, inside, dir};
    for (size_t o = 0; o < COUNT(options); o++) {
        for (size_t p = 0; p < COUNT(paths); p++) {
            int code = run(fx_stub_url(stub, 0), FX_ARGS(options[o], paths[p]), said, sizeof(said));
            if (code != 64 || !strstr(said, options[o]) || !strstr(said, paths[p]) ||
                strstr(said, "written: ") || strstr(said, "SAFE"))
                fail_msg("%s %s: %d %s", options[o], paths[p], code, said);
        }
    }
    /* One that could be written is left as it was when another can not. */
    snprintf(inside, sizeof(inside), "%s/file", dir);
    assert_int_equal(
        run(fx_stub_url(stub, 0), FX_ARGS("--json", inside, "--html", missing), said, sizeof(said)),
        64);
    assert_int_equal(
        fx_shell("grep -qx kept \"$1/file\" && [ \"$(ls \"$1\")\" = file ]", dir, 5000), 0);
}

/* /dev/full opens well, and takes nothing. */
static void a_file_that_was_not_written_is_not_said_to_be(void **unused)
{
    (void)unused;
    static const char *const options[] = {"--json", "--html", "--hgrm", "--log"};
    char said[8192], good[300], line[400];
    snprintf(good, sizeof(good), "%s/good.json", dir);
    snprintf(line, sizeof(line), "written: %s\n", good);
    for (size_t o = 0; o < COUNT(options); o++) {
        const char *other = o == 0 ? "--html" : "--json";
        int code = run(fx_stub_url(stub, 0), FX_ARGS(options[o], "/dev/full", other, good), said,
                       sizeof(said));
        if (code == 0 || code == 64 || !strstr(said, "/dev/full could not be written") ||
            strstr(said, "written: /dev/full") || !strstr(said, line))
            fail_msg("%s: %d %s", options[o], code, said);
    }
}

/* A web server that knows nothing of sales: Python's, on a port that it chooses. */
static void a_foreign_server_is_told_in_a_line(void **unused)
{
    (void)unused;
    char line[256], url[64], said[8192];
    fx_process *server = fx_spawn(FX_ARGS("/usr/bin/python3", "-u", "-m", "http.server", "0",
                                          "--bind", "127.0.0.1", "--directory", dir),
                                  true);
    if (!fx_process_first_line(server, line, sizeof(line), 20000)) {
        fx_process_free(server);
        fx_skip("there is no /usr/bin/python3");
    }
    const char *port = strstr(line, " port ");
    assert_non_null(port);
    snprintf(url, sizeof(url), "http://127.0.0.1:%ld", strtol(port + 6, NULL, 10));
    static const char *const says[][2] = {
        {"rm -f \"$1/livez\"", "not a flashsale service: HTTP 404, text/html"},
        {"echo alive >\"$1/livez\"", "not a flashsale service: HTTP 501, text/html"},
    };
    for (size_t i = 0; i < COUNT(says); i++) {
        assert_int_equal(fx_shell(says[i][0], dir, 5000), 0);
        int code = run(url, FX_ARGS("--stock", "1", "--details"), said, sizeof(said));
        if (code != 3 || !strstr(said, says[i][1]) || strcasestr(said, "<html") ||
            strcasestr(said, "<!doctype"))
            fail_msg("%d: %s", code, said);
    }
    fx_process_free(server);
}

static void a_trailing_slash_changes_nothing(void **unused)
{
    (void)unused;
    char url[80], said[8192];
    snprintf(url, sizeof(url), "%s/", fx_stub_url(stub, 0));
    int code = run(url, FX_ARGS("--requests", "20"), said, sizeof(said));
    if (code != 0 || !strstr(said, "SAFE"))
        fail_msg("%d: %s", code, said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_can_not_be_written_is_a_usage_error),
        cmocka_unit_test(a_file_that_was_not_written_is_not_said_to_be),
        cmocka_unit_test(a_foreign_server_is_told_in_a_line),
        cmocka_unit_test(a_trailing_slash_changes_nothing),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
