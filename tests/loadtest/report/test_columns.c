/*
 * The widths of the table's columns: what fits is shown in all its digits, and what is a digit
 * longer is shortened.
 */
#include "tests/support/fixture.h"

#include "loadtest/report/report.h"

#include <stdlib.h>
#include <string.h>

#define STRATEGY_16 "abcdefghijklmnop"

/* The table of one run, of which one figure, or the name, is told; to be freed. */
static char *table_of(const char *strategy, const char *path, double value)
{
    char *text = NULL;
    size_t len;
    cJSON *document = cJSON_CreateObject(), *runs = cJSON_AddArrayToObject(document, "runs");
    cJSON *run = cJSON_CreateObject(), *at = run;
    const char *dot = strchr(path, '.');
    cJSON_AddItemToArray(runs, run);
    cJSON_AddStringToObject(run, "strategy", strategy);
    cJSON_AddStringToObject(run, "verdict", "SAFE");
    if (dot) {
        char object[64];
        snprintf(object, sizeof(object), "%.*s", (int)(dot - path), path);
        at = cJSON_AddObjectToObject(run, object);
    }
    cJSON_AddNumberToObject(at, dot ? dot + 1 : path, value);
    FILE *out = open_memstream(&text, &len);
    report_table(out, document);
    fclose(out);
    cJSON_Delete(document);
    return text;
}

static void shows(const char *strategy, const char *path, double value, const char *expected)
{
    char *text = table_of(strategy, path, value);
    if (!strstr(text, expected))
        fail_msg("%s of %.0f is not '%s': %s", path, value, expected, text);
    free(text);
}

static void figures_are_as_wide_as_their_columns(void **unused)
{
    (void)unused;
    static const char *const narrow[] = {"wrong", "throughput_rps", "cpu_us_per_sale.total",
                                         "latency_ms.p50", "latency_ms.p99"};
    shows("fair", "sold_units", 999999, " 999999 ");
    shows("fair", "sold_units", 1000000, " 1.00M ");
    for (size_t i = 0; i < COUNT(narrow); i++) {
        shows("fair", narrow[i], 99999, " 99999 ");
        shows("fair", narrow[i], 100000, " 100k ");
    }
}

static void names_are_as_wide_as_their_column(void **unused)
{
    (void)unused;
    shows(STRATEGY_16, "sold_units", 1, STRATEGY_16 " SAFE");
    shows(STRATEGY_16 "q", "sold_units", 1, "abcdefgh~klmnopq SAFE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_as_wide_as_their_columns),
        cmocka_unit_test(names_are_as_wide_as_their_column),
    };
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
