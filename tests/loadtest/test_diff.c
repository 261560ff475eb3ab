/*
 * `compare BEFORE.json AFTER.json`: what it calls better, worse, and not to be told; and what it
 * ends with.
 */
#include "tests/support/fixture.h"

#include "loadtest/report/report.h"

#include <stdlib.h>
#include <string.h>

static char dir[256], before[300], after[300];

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    snprintf(before, sizeof(before), "%s/before.json", dir);
    snprintf(after, sizeof(after), "%s/after.json", dir);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fx_dir_remove(dir);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* What it ends with for these rows of the two files, with limits, a space between them; in `ret`,
 * to be freed, what is said below the line of the files. */
static lt_exit_code diff(const char *was, const char *is, const char *limits, char **ret)
{
    lt_threshold thresholds[4];
    int count = 0;
    char err[512], list[128], *rest = list, *limit, *text = NULL;
    size_t len;
    write_file(before, was);
    write_file(after, is);
    snprintf(list, sizeof(list), "%s", limits);
    while (limits[0] && (limit = strsep(&rest, " ")))
        assert_true(threshold_parse(limit, &thresholds[count++], err, sizeof(err)));
    FILE *out = open_memstream(&text, &len);
    lt_exit_code code =
        report_diff(out, (const char *const[]){before, after}, thresholds, count, err, sizeof(err));
    fclose(out);
    assert_true(code != EXIT_USAGE);
    *ret = strdup(strchr(text, '\n') + 1);
    free(text);
    return code;
}

/* A result file with one strategy, whose throughput was `rps` and ranged from low to high. */
static const char *result(char ret[512], int runs, const double rps[3])
{
    snprintf(ret, 512,
             "{\"schema\":1,\"runs\":[{\"strategy\":\"fair\",\"verdict\":\"SAFE\",\"runs\":%d,"
             "\"throughput_rps\":%g,\"range\":{\"throughput_rps\":{\"low\":%g,\"high\":%g}}}]}",
             runs, rps[1], rps[0], rps[2]);
    return ret;
}

static void a_change_within_the_range_is_no_change(void **unused)
{
    (void)unused;
    static const char within[] = "within the range of the runs", single[] = "noise unknown";
    static const struct {
        double before[3], after[3];
        int runs[2];
        const char *judgement;
    } table[] = {
        {{90, 100, 110}, {105, 120, 130}, {3, 3}, within},
        {{90, 100, 110}, {120, 120, 120}, {3, 3}, "better"},
        {{90, 100, 110}, {111, 120, 130}, {2, 2}, "better"},
        {{90, 100, 110}, {70, 80, 85}, {3, 3}, "WORSE"},
        {{90, 100, 110}, {80, 85, 90}, {3, 3}, within}, /* they touch */
        {{90, 100, 110}, {110, 120, 130}, {3, 3}, within},
        {{90, 100, 110}, {95, 95, 95}, {3, 1}, single},
        {{90, 100, 110}, {70, 70, 70}, {3, 1}, single},
        {{95, 95, 95}, {120, 130, 140}, {1, 3}, single},
        {{100, 100, 100}, {50, 50, 50}, {1, 1}, single},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char was[512], is[512], *text;
        assert_int_equal(diff(result(was, table[i].runs[0], table[i].before),
                              result(is, table[i].runs[1], table[i].after), "", &text),
                         EXIT_SAFE);
        bool one = strstr(text, "better") || strstr(text, "WORSE");
        if (!strstr(text, table[i].judgement) || (table[i].judgement == single && one))
            fail_msg("row %zu: %s", i, text);
        free(text);
    }
}

static void each_change_is_told(void **unused)
{
    (void)unused;
    static const char was[] =
        "{\"schema\":1,\"load\":{\"users\":10,\"stock\":5,\"requests\":7},\"runs\":["
        "{\"strategy\":\"fair\",\"verdict\":\"SAFE\",\"runs\":3,\"throughput_rps\":0,"
        "\"goodput_sps\":50,\"latency_ms\":{\"p50\":10,\"p90\":8,\"p99\":20},\"fairness\":0.5,"
        "\"sold\":0,\"oversold\":0,\"lost_updates\":0,\"errors\":4,\"range\":{"
        "\"p50_ms\":{\"low\":9,\"high\":11},\"p99_ms\":{\"low\":19,\"high\":21}}},"
        "{\"strategy\":\"old\",\"verdict\":\"SAFE\"}]}";
    static const char is[] =
        "{\"schema\":1,\"load\":{\"users\":20,\"stock\":5,\"rate_rps\":3},\"runs\":["
        "{\"strategy\":\"new\",\"verdict\":\"SAFE\"},"
        "{\"strategy\":\"fair\",\"verdict\":\"LOST\",\"runs\":3,\"throughput_rps\":0,"
        "\"goodput_sps\":60,\"latency_ms\":{\"p50\":12,\"p90\":4,\"p99\":30},\"sold\":0,"
        "\"oversold\":3,\"lost_updates\":0,\"errors\":3,\"range\":{"
        "\"p50_ms\":{\"low\":11,\"high\":13},\"p99_ms\":{\"low\":29,\"high\":31}}}]}";
    static const char told[] =
        "careful: users was 10.0 and is 20.0, so these are different loads\n"
        "careful: requests was 7.00 and is n/a, so these are different loads\n"
        "careful: rate_rps was n/a and is 3.00, so these are different loads\n"
        "\n"
        "new  SAFE  is new\n"
        "  NO VALUE fail if p99>10               observed n/a\n"
        "  NO VALUE fail if p99>+100%            observed n/a\n"
        "\n"
        "fair  SAFE -> LOST  WORSE\n"
        "  throughput /s             0 -> 0                     \n"
        "  goodput /s             50.0 -> 60.0       +20.0 %    noise unknown: a single run\n"
        "  p50 ms                 10.0 -> 12.0       +20.0 %    within the range of the runs\n"
        "  p90 ms                 8.00 -> 4.00       -50.0 %    \n"
        "  p99 ms                 20.0 -> 30.0       +50.0 %    WORSE\n"
        "  fairness              0.500 -> n/a                   \n"
        "  oversold                  0 -> 3.00                  \n"
        "  errors                 4.00 -> 3.00       -25.0 %    \n"
        "  BROKEN   fail if p99>10               observed 30.0\n"
        "  NO VALUE fail if p99>+100%            observed n/a\n"
        "\n"
        "old is gone\n";
    char *text;
    assert_int_equal(diff(was, is, "p99>10 p99>+100%", &text), EXIT_BROKEN);
    assert_string_equal(text, told);
    free(text);
}

/* A row: p99, verdict, and whether it may be unsafe. NULL: the strategy has none. */
typedef struct told_row {
    const char *verdict;
    double p99;
    bool unsafe;
} told_row;

static const char *document(char ret[512], const told_row *row)
{
    int length = snprintf(ret, 512, "{\"schema\":1,\"runs\":[");
    if (row->verdict)
        length += snprintf(ret + length, 512 - (size_t)length,
                           "{\"strategy\":\"s\",\"verdict\":\"%s\",\"expect_unsafe\":%s,"
                           "\"throughput_rps\":1000,\"latency_ms\":{\"p99\":%g}}",
                           row->verdict, row->unsafe ? "true" : "false", row->p99);
    snprintf(ret + length, 512 - (size_t)length, "]}");
    return ret;
}

static void the_gate_ends_with_the_gravest(void **unused)
{
    (void)unused;
    static const struct {
        told_row before, after;
        const char *limits;
        lt_exit_code code;
        const char *words;
    } table[] = {
        {{"SAFE", 100, 0}, {"SAFE", 110, 0}, "p99>+10%", EXIT_SAFE, "ok"},
        {{"SAFE", 100, 0}, {"SAFE", 110, 0}, "p99>=+10%", EXIT_THRESHOLD, "observed 10.0 %"},
        {{"SAFE", 100, 0}, {"SAFE", 111, 0}, "p99>+10%", EXIT_THRESHOLD, "BROKEN"},
        {{"SAFE", 100, 0}, {"SAFE", 96, 0}, "p99>-5% sold<-5%", EXIT_INVALID, "observed -4.00 %"},
        {{"SAFE", 100, 0}, {"SAFE", 94, 0}, "p99>-5%", EXIT_SAFE, "ok"},
        {{"SAFE", 0, 0}, {"SAFE", 0, 0}, "p99>+0%", EXIT_SAFE, "observed 0 %"},
        {{"SAFE", 0, 0}, {"SAFE", 1, 0}, "p99>+0%", EXIT_INVALID, "NO VALUE"},
        {{"SAFE", 100, 0}, {"SAFE", 300, 0}, "p99>200ms", EXIT_THRESHOLD, "observed 300"},
        {{"SAFE", 300, 0}, {"SAFE", 100, 0}, "p99>200ms throughput<1000", EXIT_SAFE, "ok"},
        {{"SAFE", 100, 0}, {"SAFE", 300, 0}, "p99>200ms p50>1", EXIT_INVALID, "NO VALUE"},
        {{"SAFE", 1, 0}, {"UNDERSOLD", 1, 0}, "", EXIT_BROKEN, "SAFE -> UNDERSOLD  WORSE"},
        {{"SAFE", 1, 0}, {"INVALID", 1, 0}, "", EXIT_BROKEN, "SAFE -> INVALID  WORSE"},
        {{"LOST", 1, 0}, {"OVERSOLD", 1, 0}, "p99>0", EXIT_BROKEN, "WORSE"},
        {{"LOST", 1, 0}, {"LOST", 1, 0}, "", EXIT_SAFE, "LOST"},
        {{"OVERSOLD", 1, 0}, {"SAFE", 1, 0}, "", EXIT_SAFE, "OVERSOLD -> SAFE\n"},
        {{"OVERSOLD", 1, 0}, {"INVALID", 1, 0}, "", EXIT_INVALID, "OVERSOLD -> INVALID\n"},
        {{"INVALID", 1, 0}, {"SAFE", 1, 0}, "p99>2", EXIT_SAFE, "ok"},
        {{"INVALID", 1, 0}, {"SAFE", 1, 0}, "p99>+2%", EXIT_INVALID, "NO VALUE"},
        {{"SAFE", 1, 0}, {"FINE", 1, 0}, "", EXIT_INVALID, "FINE"},
        {{"LOST", 1, 1}, {"OVERSOLD", 9, 1}, "p99>+2%", EXIT_SAFE, "LOST -> OVERSOLD\n"},
        {{"SAFE", 1, 0}, {NULL, 0, 0}, "", EXIT_INVALID, "s is gone"},
        {{"LOST", 1, 1}, {"SAFE", 1, 0}, "p99>2", EXIT_SAFE, "ok"},
        {{NULL, 0, 0}, {"SAFE", 1, 0}, "p99>2", EXIT_SAFE, "is new"},
        {{NULL, 0, 0}, {"SAFE", 1, 0}, "p99>+2%", EXIT_INVALID, "NO VALUE"},
        {{NULL, 0, 0}, {NULL, 0, 0}, "", EXIT_INVALID, ""},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char was[512], is[512], *text;
        lt_exit_code code = diff(document(was, &table[i].before), document(is, &table[i].after),
                                 table[i].limits, &text);
        if (code != table[i].code || !strstr(text, table[i].words))
            fail_msg("row %zu: %d %s", i, (int)code, text);
        free(text);
    }
}

static void what_is_no_result_file_is_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *why; /* NULL: there is no such file */
    } table[] = {{NULL, "can not be read"},
                 {"", "is not a result file"},
                 {"[", "is not a result file"},
                 {"{\"schema\":2,\"runs\":[]}", "is not a result file"},
                 {"{\"schema\":1,\"runs\":{}}", "is not a result file"}};
    char good[300], bad[300];
    snprintf(good, sizeof(good), "%s/good.json", dir);
    snprintf(bad, sizeof(bad), "%s/bad.json", dir);
    write_file(good, "{\"schema\":1,\"runs\":[]}");
    for (size_t i = 0; i < COUNT(table); i++) {
        char first[512] = "", second[512] = "";
        if (table[i].text)
            write_file(bad, table[i].text);
        FILE *out = tmpfile();
        assert_int_equal(
            report_diff(out, (const char *const[]){bad, good}, NULL, 0, first, sizeof(first)),
            EXIT_USAGE);
        assert_int_equal(
            report_diff(out, (const char *const[]){good, bad}, NULL, 0, second, sizeof(second)),
            EXIT_USAGE);
        assert_int_equal(ftell(out), 0);
        fclose(out);
        assert_string_equal(first, second);
        if (strncmp(first, bad, strlen(bad)) != 0 || !strstr(first, table[i].why))
            fail_msg("row %zu: %s", i, first);
    }
}

/* A file may be anybody's, and a terminal obeys what it is sent. */
static void control_characters_are_not_shown(void **unused)
{
    (void)unused;
    static const char ugly[] = "{\"schema\":1,\"runs\":[{\"strategy\":\"a\\u001b]0;b\\u0007\\u009b"
                               "31m\\u007f\\u00fc\",\"verdict\":\"SAFE\"}]}";
    static const char plain[] = "a\\x1b]0;b\\x07\\xc2\\x9b31m\\x7f\xc3\xbc";
    char *text = NULL, command[1024], program[512];
    diff(ugly, ugly, "", &text);
    if (strpbrk(text, "\x1b\x07\x9b\x7f") || !strstr(text, plain))
        fail_msg("%s", text);
    free(text);

    snprintf(command, sizeof(command),
             "{ \"%s\" compare \"$(printf '\\033[2J.json')\" \"$1\" 2>&1 || true; } |"
             "grep -qF '\\x1b[2J.json'",
             fx_build_path("loadtest", program, sizeof(program)));
    assert_int_equal(fx_shell(command, after, 20000), 0); /* a complaint */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_within_the_range_is_no_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_change_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_gate_ends_with_the_gravest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_result_file_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_characters_are_not_shown, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
