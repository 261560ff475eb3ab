/* What an error reply of a cluster's node says about where to ask instead; also one that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lock/redis/cluster.h"
#include "tests/lock/redis/blind_finder.h"
#include "tests/support/process.h"

/* Its server 0 is at 10.0.0.1:7000. */
static int setup(void **state)
{
    address url = {.kind = ADDRESS_CLUSTER};
    topology *t = dlock_topology_new(&url, NULL, &blind);
    assert_non_null(t);
    assert_int_equal(dlock_topology_number(t, "10.0.0.1", 7000), 0);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    dlock_topology_unref(*state);
    return 0;
}

static void assert_server_at(topology *t, int server, const char *host, int port)
{
    address_host at;
    unsigned generation;
    assert_true(dlock_topology_address(t, server, &at, &generation));
    assert_string_equal(at.host, host);
    assert_int_equal(at.port, port);
}

static void moved_and_ask_name_a_server(void **state)
{
    static const struct {
        const char *where, *host;
        int port;
    } cases[] = {
        {"3999 10.0.0.2:7001", "10.0.0.2", 7001},
        {"3999 redis-2.example:7001", "redis-2.example", 7001},
        {"3999 :7001", "10.0.0.1", 7001}, /* the host that says so */
        {"3999 2001:db8::1:7001", "2001:db8::1", 7001},
        {"0 10.0.0.1:7000", "10.0.0.1", 7000},
        {"16383 10.0.0.2:65535", "10.0.0.2", 65535},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[128];
        redirection to = {.pause_ms = -1};
        snprintf(error, sizeof(error), "MOVED %s", cases[i].where);
        assert_true(dlock_cluster.redirect(*state, 0, error, &to));
        assert_false(to.asking);
        assert_int_equal(to.pause_ms, 0);
        assert_server_at(*state, to.server, cases[i].host, cases[i].port);
        snprintf(error, sizeof(error), "ASK %s", cases[i].where);
        assert_true(dlock_cluster.redirect(*state, 0, error, &to));
        assert_true(to.asking);
        assert_int_equal(to.pause_ms, 0);
        assert_server_at(*state, to.server, cases[i].host, cases[i].port);
    }
}

/* foo is in slot 12182. */
static void a_slot_that_moved_is_routed_there_and_one_that_is_moving_is_not(void **state)
{
    redirection to = {.asking = true};
    assert_int_equal(dlock_topology_route(*state, "foo", 3), NO_SERVER);
    assert_true(dlock_cluster.redirect(*state, 0, "MOVED 12182 10.0.0.7:7000", &to));
    int server = dlock_topology_route(*state, "foo", 3);
    assert_server_at(*state, server, "10.0.0.7", 7000);
    assert_true(dlock_topology_serves(*state, server));
    assert_true(dlock_cluster.redirect(*state, 0, "ASK 12182 10.0.0.8:7000", &to));
    assert_int_equal(dlock_topology_route(*state, "foo", 3), server);
    assert_false(dlock_topology_serves(*state, to.server));
}

static void keys_on_their_way_are_asked_for_again_where_they_were(void **state)
{
    static const char error[] = "TRYAGAIN Multiple keys request during rehashing of slot";
    for (int asking = 0; asking < 2; asking++) {
        redirection to = {.server = -7, .asking = asking};
        assert_true(dlock_cluster.redirect(*state, 0, error, &to));
        assert_int_equal(to.server, 0);
        assert_int_equal(to.asking, asking);
        assert_true(to.pause_ms > 0);
    }
}

static void what_says_nothing_is_not_followed(void **state)
{
    static const char *const errors[] = {
        "",
        "MOVED",
        "MOVED ",
        "MOVED x",
        "MOVED 3999",
        "MOVED 3999 ",
        "MOVED 3999 10.0.0.2",
        "MOVED 3999 10.0.0.2:",
        "MOVED 3999 10.0.0.2:0",
        "MOVED 3999 10.0.0.2:65536",
        "MOVED 3999 10.0.0.2:-1",
        "MOVED 3999 10.0.0.2:7001x",
        "MOVED 3999 ?:7001",
        "MOVED -1 10.0.0.2:7001",
        "MOVED 16384 10.0.0.2:7001",
        "MOVED 99999999999999999999 10.0.0.2:7001",
        "MOVED10.0.0.2:7001",
        "MOVED :7001",
        "ASK",
        "ASK 1:2",
        "ASKING 1 10.0.0.2:7001",
        "CLUSTERDOWN Hash slot not served",
        "CLUSTERDOWN The cluster is down",
        "READONLY You can't write against a read only replica.",
        "ERR unknown command",
    };
    char long_host[400] = "MOVED 3999 ";
    memset(long_host + 11, 'h', 300);
    memcpy(long_host + 311, ":7001", 6);
    redirection to;
    int servers = dlock_topology_servers(*state);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (dlock_cluster.redirect(*state, 0, errors[i], &to))
            fail_msg("followed: %s", errors[i]);
    assert_false(dlock_cluster.redirect(*state, 0, long_host, &to));
    assert_int_equal(dlock_topology_servers(*state), servers);
}

static bool is_followed(topology *t, int port, redirection *ret)
{
    char error[64];
    snprintf(error, sizeof(error), "ASK 1 10.1.0.1:%d", port);
    return dlock_cluster.redirect(t, 0, error, ret);
}

static bool has_found_room(void *t)
{
    redirection to;
    return is_followed(t, 3000, &to);
}

/* More servers than can have numbers: those that have one are found still, and one that serves
 * keeps it. The others are forgotten, for the benefit of a new one, after ten seconds. */
static void the_number_of_a_server_that_was_left_is_given_again(void **state)
{
    topology *t = *state;
    redirection to;
    unsigned before[DLOCK_SERVERS_MAX];
    char complaint[128];
    int followed = 0;
    for (int i = 0; i < 2 * DLOCK_SERVERS_MAX; i++)
        followed += is_followed(t, 1000 + i, &to);
    assert_true(followed < DLOCK_SERVERS_MAX);
    assert_int_equal(dlock_topology_servers(t), DLOCK_SERVERS_MAX);
    dlock_topology_complaint(t, complaint, sizeof(complaint));
    assert_non_null(strstr(complaint, "too many servers"));
    assert_true(is_followed(t, 1000, &to));
    int serving = to.server;
    dlock_topology_set_slot(t, 5, serving);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        before[i] = dlock_topology_generation(t, i);
    assert_true(fx_wait_until(has_found_room, t, 60000));
    assert_true(is_followed(t, 3000, &to));
    assert_int_not_equal(to.server, serving);
    assert_server_at(t, to.server, "10.1.0.1", 3000);
    assert_server_at(t, serving, "10.1.0.1", 1000);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        assert_int_equal(dlock_topology_generation(t, i) - before[i], i == to.server);
    assert_int_equal(dlock_topology_servers(t), DLOCK_SERVERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_and_ask_name_a_server),
        cmocka_unit_test(a_slot_that_moved_is_routed_there_and_one_that_is_moving_is_not),
        cmocka_unit_test(keys_on_their_way_are_asked_for_again_where_they_were),
        cmocka_unit_test(what_says_nothing_is_not_followed),
        cmocka_unit_test(the_number_of_a_server_that_was_left_is_given_again),
    };
    return cmocka_run_group_tests_name("redirections", tests, setup, teardown);
}
