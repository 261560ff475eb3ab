/* test_redis_check.c - the commands that show in Redis what a guarantee is about: of each that has
 * some, for the one key and for those of all segments. */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

#include "loadtest/result/redis_check.h"

#define ONE(command, key, more) "redis-cli " command " 'fs:{P1}:s7:" key "'" more
#define ALL(command, key, more)                                                                    \
    "redis-cli --scan --pattern 'fs:{P1#*}:s7:" key "' | xargs -I K redis-cli " command " K" more

static const struct {
    const char *id, *one, *all;
} checks[] = {
    {"I1", ONE("GET", "stock", "") "; " ONE("GET", "sold", ""),
     ALL("GET", "stock", "") "; " ALL("GET", "sold", "")},
    {"I2", ONE("GET", "stock", ""), ALL("GET", "stock", "")},
    {"I3", ONE("LRANGE", "ledger", " 0 -1 | sort | uniq -d"),
     ALL("LRANGE", "ledger", " 0 -1 | sort | uniq -d")},
    {"I4", ONE("HGET", "orders", " 'k9-0'"), ALL("HGET", "orders", " 'k9-0'")},
};

static const char *expected(const char *id, bool sharded)
{
    for (size_t i = 0; i < COUNT(checks); i++)
        if (strcmp(checks[i].id, id) == 0)
            return sharded ? checks[i].all : checks[i].one;
    return "";
}

static void each_guarantee_has_its_commands(void **state)
{
    (void)state;
    for (int sharded = 0; sharded < 2; sharded++)
        for (int i = 0; i < guarantee_count; i++)
            for (int old = 0; old < 2; old++) {
                lt_sale_spec spec = {.segments = 0};
                lt_plan plan = {.item = "P1"};
                lt_result result = {.spec = &spec};
                lt_invariant row = {.guarantee = &guarantees[i], .of_old_sale = old};
                snprintf(spec.strategy, sizeof(spec.strategy), sharded ? "sharded" : "combined");
                snprintf(result.sale, sizeof(result.sale), "s7");
                snprintf(result.key_prefix, sizeof(result.key_prefix), "k9");
                redis_check(&row, &result, &plan);
                assert_string_equal(row.check, old ? "" : expected(guarantees[i].id, sharded));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_guarantee_has_its_commands)};
    return cmocka_run_group_tests_name("redis_check", tests, NULL, NULL);
}
