/* test_configuration.c - the files of docker/ say what their programs accept. */
#include <stdlib.h>

#include "tests/support/fixture.h"

static void the_unit_exposes_little(void **state)
{
    (void)state;
    if (fx_shell("command -v systemd-analyze >/dev/null", NULL, 5000) != 0)
        fx_skip("no systemd-analyze here");
    /* --threshold is in tenths: 1.5 */
    assert_int_equal(fx_shell("systemd-analyze security --offline=yes --threshold=15 "
                              "\"$PWD/docker/flashsale@.service\"",
                              NULL, 20000),
                     0);
}

static void the_unit_waits_longer_than_the_drain_takes(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("test \"$(sed -n 's/^TimeoutStopSec=//p' docker/flashsale@.service)\""
                              " -ge 13",
                              NULL, 5000),
                     0);
}

static void haproxy_accepts_the_configuration(void **state)
{
    (void)state;
    if (fx_shell("command -v haproxy >/dev/null", NULL, 5000) != 0)
        fx_skip("no haproxy here");
    assert_int_equal(fx_shell("haproxy -c -f docker/haproxy.cfg >&2", NULL, 20000), 0);
}

/* Without an engine; the stack itself is test_stack.c's. */
static void compose_accepts_the_stack(void **state)
{
    (void)state;
    static const char find[] = "if docker compose version >/dev/null 2>&1; then"
                               "  compose='docker compose';"
                               "elif docker-compose version >/dev/null 2>&1; then"
                               "  compose=docker-compose;"
                               "else exit 1; fi;";
    char script[512];
    if (fx_shell(find, NULL, 20000) != 0)
        fx_skip("no compose here");
    snprintf(script, sizeof(script), "%s $compose -f docker/compose.yaml config -q", find);
    assert_int_equal(fx_shell(script, NULL, 20000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_exposes_little),
        cmocka_unit_test(the_unit_waits_longer_than_the_drain_takes),
        cmocka_unit_test(haproxy_accepts_the_configuration),
        cmocka_unit_test(compose_accepts_the_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
