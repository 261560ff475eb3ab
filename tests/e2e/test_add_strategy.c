/*
 * test_add_strategy.c - a new strategy is one file and nothing else. Follows the example in
 * CONTRIBUTING.md on a copy of the tree, where fair.c is copied to a new name, and sells with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

#define NAME "queued" /* in the example */

enum { BUILD_MS = 140000, SELL_MS = 60000 };

static char dir[256];

/* From here on, the programs of this test are those of the copy. */
static int setup(void **state)
{
    char build[512];
    const char *ours = getenv("FLASHSALE_BUILD");
    fx_dir_make(dir, sizeof(dir));
    if (fx_shell("tests/e2e/add_strategy.sh \"$1\"", dir, BUILD_MS) != 0)
        return -1;
    snprintf(build, sizeof(build), "%s/%s", dir, ours ? ours : "build");
    setenv("FLASHSALE_BUILD", build, 1);
    fx.plan = (fx_plan){.instances = 3, .args = FX_ARGS(FX_P0001)};
    return fx_service_start(state);
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir);
    return 0;
}

static void it_is_known_to_the_service(void **state)
{
    (void)state;
    const fx_strategy *s = fx_strategies();
    while (s->name[0] != '\0' && strcmp(s->name, NAME) != 0)
        s++;
    assert_string_equal(s->name, NAME);
    assert_true(s->locked);
    const char *refusal = fx_refused(fx.server[0], 400, "bad_sale",
                                     "POST /sales {'item':'P0001','stock':1,'strategy':'hope'}");
    assert_non_null(strstr(refusal, NAME)); /* where those are named that there are */
}

static void it_sells_exactly_the_stock(void **state)
{
    (void)state;
    int code;
    cJSON *result = fx_loadtest(FX_ARGS("run", "--strategy", NAME, "--stock", "300", "--requests",
                                        "1500", "--users", "100", "--wait-ms", "30000"),
                                SELL_MS, &code);
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(result, "runs"), 0);
    assert_string_equal(fx_json_text(run, "strategy"), NAME);
    assert_string_equal(fx_json_text(run, "verdict"), "SAFE");
    assert_int_equal(code, 0);
    cJSON_Delete(result);
    assert_int_equal(fx_stock("orders"), 300);
    assert_int_equal(fx_stock("remaining"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_to_the_service),
        cmocka_unit_test(it_sells_exactly_the_stock),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
