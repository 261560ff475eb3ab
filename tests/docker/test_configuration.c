/* test_configuration.c - the files of docker/ say what their programs accept. */
#include <stdio.h>

#include "tests/support/fixture.h"

static void the_units_expose_little(void **state)
{
    (void)state;
    if (fx_shell("command -v systemd-analyze >/dev/null", NULL, 5000) != 0)
        fx_skip("no systemd-analyze here");
    /* --threshold is in tenths: 1.5 */
    assert_int_equal(fx_shell("systemd-analyze security --offline=yes --threshold=15 "
                              "\"$PWD/docker/flashsale@.service\" "
                              "\"$PWD/docker/flashsale-orders.service\"",
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

/* The generations of compose: 1.29 as Debian 12 has it, and 2 as a plugin or as Debian 13 has it.
 * Each is told by its version; $compose is how to call it. */
static const char *const generations[][2] = {
    {"1.29", "docker-compose version 2>/dev/null | grep -q ' 1\\.29' && compose=docker-compose"},
    {"2", "if docker compose version >/dev/null 2>&1; then compose='docker compose';"
          "else docker-compose version 2>/dev/null | grep -q ' v\\?[2-9]\\.' &&"
          "  compose=docker-compose; fi"},
};

/* Runs a shell script that calls $compose with each generation that is here. */
static void with_each_compose(const char *script)
{
    char whole[2048];
    int here = 0;
    for (size_t i = 0; i < 2; i++) {
        if (fx_shell(generations[i][1], NULL, 20000) != 0) {
            print_message("no compose %s here: not checked with it\n", generations[i][0]);
            continue;
        }
        here++;
        snprintf(whole, sizeof(whole), "{ %s; } && %s", generations[i][1], script);
        if (fx_shell(whole, NULL, 30000) != 0)
            fail_msg("compose %s: %s", generations[i][0], script);
    }
    if (here == 0)
        fx_skip("no compose here");
}

/* Without an engine; the stack itself is test_stack.c's. */
static void each_compose_accepts_the_stack(void **state)
{
    (void)state;
    with_each_compose(
        "$compose -f docker/compose.yaml config -q &&"
        "$compose -f docker/compose.yaml --profile cluster --profile loadtest --profile observe "
        "config -q");
}

/* Nine nodes, their former and three instances; without the profile none of them is started. */
static void the_cluster_is_a_profile(void **state)
{
    (void)state;
    with_each_compose("$compose -f docker/compose.yaml --profile cluster config | awk '"
                      "/^[a-z]/ { part = $1 }"
                      "part == \"services:\" && /^  [a-z]/ { service = $1; all += is_of(service) }"
                      "/:$/ { list = $1 }"
                      "list == \"profiles:\" && $2 == \"cluster\" { marked += is_of(service) }"
                      "function is_of(name) { return name ~ /^(redis|flashsale-cluster)-/ }"
                      "END { exit all != 13 || marked != 13 }'");
}

/* Proxy and Prometheus, which meet strangers' bytes, have none; nor has an instance the password of
 * the cluster's nodes, nor loadtest, which is root, any of Redis's. */
static void each_container_has_the_secrets_that_it_uses(void **state)
{
    (void)state;
    with_each_compose(
        "test \"$($compose -f docker/compose.yaml --profile cluster --profile loadtest"
        " --profile observe config | awk '"
        "/^[a-z]/ { part = $1 }"
        "part == \"services:\" && /^  [a-z]/ { service = $1 }"
        "part == \"services:\" && match($0, /^ *(- |source: )secret/) {"
        "  sub(/^ *(- |source: )/, \"\"); sub(/:.*/, \"\"); print service, $0 }"
        "' | sed 's/-[0-9]:/-N:/' | LC_ALL=C sort | uniq -c | awk '{ print $2, $3, $1 }')\" = \""
        "flashsale-N: secret-admin 3\nflashsale-N: secret-redis 3\n"
        "flashsale-cluster-N: secret-admin 3\nflashsale-cluster-N: secret-redis 3\n"
        "loadtest: secret-admin 1\n"
        "redis-N: secret-cluster 9\nredis-N: secret-redis 9\n"
        "redis-form: secret-cluster 1\n"
        "redis: secret-admin 1\nredis: secret-redis 1\"");
}

/* But for the proxy: on a laptop in a strange network nobody else gets at the rest. */
static void ports_are_published_on_loopback_only(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell("test \"$(grep 'ports:' docker/compose.yaml | grep -v '127\\.0\\.0\\.1:')\""
                 " = '    ports: [\"${FLASHSALE_PORT:-8080}:8080\"]'",
                 NULL, 5000),
        0);
}

/* Volumes and networks have the project's name; only 2 tells it without an engine. */
static void the_project_is_named(void **state)
{
    (void)state;
    with_each_compose(
        "env -u COMPOSE_PROJECT_NAME sh -c 'if $0 version | grep -q \" 1\\.29\"; then"
        "  /usr/bin/python3 -c \"from compose.cli.command import get_project_name as name;"
        "from compose.config.environment import Environment as env;"
        "print(\\\"name:\\\", name(\\\"docker\\\", "
        "environment=env.from_env_file(\\\"docker\\\")))\";"
        "else $0 -f docker/compose.yaml config; fi | grep -qx \"name: flashsale\"' \"$compose\"");
}

static void secrets_come_from_their_files(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "redis://flashsale:one@redis:6379"},
        {"REDIS_SCHEME=rediss+cluster REDIS_ADDRESS=a:1,b:2",
         "rediss+cluster://flashsale:one@a:1,b:2"},
        {"REDIS_SCHEME=redis+sentinel REDIS_ADDRESS=a:1,b:2/shop SENTINEL_PASSWORD_FILE=$1/two",
         "redis+sentinel://flashsale:one@a:1,b:2/shop?sentinel_user=flashsale&"
         "sentinel_password=two"},
    };
    char dir[256], script[1024];
    fx_dir_make(dir, sizeof(dir));
    assert_int_equal(fx_shell("echo one >$1/one; echo two >$1/two", dir, 5000), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(script, sizeof(script),
                 "test \"$(REDIS_PASSWORD_FILE=$1/one %s docker/with-secrets sh -c "
                 "'echo \"$FLASHSALE_REDIS\"')\" = '%s'",
                 cases[i][0], cases[i][1]);
        assert_int_equal(fx_shell(script, dir, 5000), 0);
    }
    fx_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_units_expose_little),
        cmocka_unit_test(the_unit_waits_longer_than_the_drain_takes),
        cmocka_unit_test(haproxy_accepts_the_configuration),
        cmocka_unit_test(each_compose_accepts_the_stack),
        cmocka_unit_test(the_cluster_is_a_profile),
        cmocka_unit_test(each_container_has_the_secrets_that_it_uses),
        cmocka_unit_test(ports_are_published_on_loopback_only),
        cmocka_unit_test(the_project_is_named),
        cmocka_unit_test(secrets_come_from_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
