/*
 * `compare BEFORE.json AFTER.json`: what it calls better, worse, and not to be told.
 */
#include "tests/support/fixture.h"

#include "loadtest/report/report.h"

#include <stdlib.h>
#include <string.h>

static char dir[256];

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fx_dir_remove(dir);
    return 0;
}

/* A result file with one strategy, whose throughput was `rps` and ranged from low to high. */
static void write_result(const char *path, double low, double rps, double high)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "{\"schema\":1,\"runs\":[{\"strategy\":\"fair\",\"verdict\":\"SAFE\","
            "\"throughput_rps\":%g,\"range\":{\"throughput_rps\":{\"low\":%g,\"high\":%g}}}]}\n",
            rps, low, high);
    fclose(out);
}

static void a_change_within_the_range_is_no_change(void **unused)
{
    (void)unused;
    static const struct {
        double before[3], after[3];
        const char *judgement;
    } table[] = {
        {{90, 100, 110}, {105, 120, 130}, "within the range of the runs"},
        {{90, 100, 110}, {120, 120, 120}, "better"},
        {{90, 100, 110}, {111, 120, 130}, "better"},
        {{90, 100, 110}, {70, 80, 85}, "WORSE"},
        {{90, 100, 110}, {95, 95, 95}, "within the range of the runs"}, /* a single run */
        {{95, 95, 95}, {90, 100, 110}, "within the range of the runs"},
        {{90, 100, 110}, {80, 85, 90}, "within the range of the runs"}, /* they touch */
        {{90, 100, 110}, {110, 120, 130}, "within the range of the runs"},
    };
    char before[300], after[300], line[256], err[256];
    snprintf(before, sizeof(before), "%s/before.json", dir);
    snprintf(after, sizeof(after), "%s/after.json", dir);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const double *a = table[i].before, *b = table[i].after;
        write_result(before, a[0], a[1], a[2]);
        write_result(after, b[0], b[1], b[2]);
        FILE *out = tmpfile();
        if (!report_diff(out, before, after, err, sizeof(err)))
            fail_msg("%s", err);
        rewind(out);
        bool judged = false;
        while (fgets(line, sizeof(line), out) != NULL)
            judged |=
                strstr(line, "throughput") != NULL && strstr(line, table[i].judgement) != NULL;
        fclose(out);
        if (!judged)
            fail_msg("%g -> %g is not called \"%s\"", a[1], b[1], table[i].judgement);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void each_change_is_told(void **unused)
{
    (void)unused;
    static const char before[] =
        "{\"schema\":1,\"load\":{\"users\":10,\"stock\":5,\"requests\":7},\"runs\":["
        "{\"strategy\":\"fair\",\"verdict\":\"SAFE\",\"throughput_rps\":0,\"goodput_sps\":50,"
        "\"latency_ms\":{\"p50\":10,\"p90\":8,\"p99\":20},\"fairness\":0.5,\"sold\":0,"
        "\"oversold\":0,\"lost_updates\":0,\"errors\":4,"
        "\"range\":{\"p50_ms\":{\"low\":9,\"high\":11}}},"
        "{\"strategy\":\"old\",\"verdict\":\"SAFE\"}]}";
    static const char after[] =
        "{\"schema\":1,\"load\":{\"users\":20,\"stock\":5,\"rate_rps\":3},\"runs\":["
        "{\"strategy\":\"new\",\"verdict\":\"SAFE\"},"
        "{\"strategy\":\"fair\",\"verdict\":\"LOST\",\"throughput_rps\":0,\"goodput_sps\":60,"
        "\"latency_ms\":{\"p50\":12,\"p90\":4,\"p99\":30},\"sold\":0,"
        "\"oversold\":3,\"lost_updates\":0,\"errors\":3,"
        "\"range\":{\"p50_ms\":{\"low\":11,\"high\":13}}}]}";
    static const char told[] =
        "careful: users was 10.0 and is 20.0, so these are different loads\n"
        "careful: requests was 7.00 and is n/a, so these are different loads\n"
        "careful: rate_rps was n/a and is 3.00, so these are different loads\n"
        "\n"
        "new is new\n"
        "\n"
        "fair  SAFE -> LOST\n"
        "  throughput /s             0 -> 0                     \n"
        "  goodput /s             50.0 -> 60.0       +20.0 %    better\n"
        "  p50 ms                 10.0 -> 12.0       +20.0 %    within the range of the runs\n"
        "  p90 ms                 8.00 -> 4.00       -50.0 %    \n"
        "  p99 ms                 20.0 -> 30.0       +50.0 %    WORSE\n"
        "  fairness              0.500 -> n/a                   \n"
        "  oversold                  0 -> 3.00                  WORSE\n"
        "  errors                 4.00 -> 3.00       -25.0 %    better\n"
        "\n"
        "old is gone\n";
    char path[2][300], err[256], *text = NULL;
    size_t len;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%d.json", dir, i);
        write_file(path[i], i == 0 ? before : after);
    }
    FILE *out = open_memstream(&text, &len);
    assert_true(report_diff(out, path[0], path[1], err, sizeof(err)));
    fclose(out);
    assert_string_equal(strchr(text, '\n') + 1, told);
    free(text);
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
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char first[512] = "", second[512] = "";
        if (table[i].text)
            write_file(bad, table[i].text);
        FILE *out = tmpfile();
        assert_false(report_diff(out, bad, good, first, sizeof(first)));
        assert_false(report_diff(out, good, bad, second, sizeof(second)));
        assert_int_equal(ftell(out), 0);
        fclose(out);
        assert_string_equal(first, second);
        if (strncmp(first, bad, strlen(bad)) != 0 || !strstr(first, table[i].why))
            fail_msg("row %zu: %s", i, first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_within_the_range_is_no_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_change_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_result_file_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
