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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_within_the_range_is_no_change, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
