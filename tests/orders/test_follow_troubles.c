/*
 * test_follow_troubles.c - what a follower needs is away for a while: an instance, all of them, the
 * database, or its room. It says so once and clearly, tries less and less often, and goes on.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/orders/follower.h"

#define PLAIN   "'stock':5000,'strategy':'combined'"
#define AWAY    "flashsale-orders: the database: "
#define ANSWERS "flashsale-orders: the database: answers again"

static fx_process *follower; /* of the case */

static void begin_case(void **state)
{
    use_database(*state);
    open_shop();
    sell_here(PLAIN);
}

static void follow_here(void)
{
    follower = start_follower(FX_ARGS("--item", shop));
    sell_to(20);
    await_orders(count_told());
}

static void go_on_and_end(void)
{
    sell_to(20);
    expect_all_that_was_told(shop);
    assert_int_equal(stop_follower(follower), 0);
}

/* ---- instances ------------------------------------------------------------------------------- */

static void an_instance_that_is_down_is_passed_over(void **state)
{
    char rest[400];
    use_database(*state);
    fx_server *first = fx_server_start(fx_redis_url(fx.redis), NULL);
    open_shop();
    sell_here(PLAIN);
    snprintf(rest, sizeof(rest), "%s", orders_from);
    snprintf(orders_from, sizeof(orders_from), "%s/,%s", fx_server_url(first), rest);
    follow_here();
    fx_server_kill(first);
    go_on_and_end();
    assert_string_equal(orders_err, ""); /* the others have answered */
}

/* The only instance that it knows goes, and comes back. */
static void all_instances_are_away_for_a_while(void **state)
{
    begin_case(state);
    int port = fx_free_port();
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", port);
    fx_server *only = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", listen));
    snprintf(orders_from, sizeof(orders_from), "http://%s", listen);
    follow_here();
    fx_server_kill(only);
    await_line(follower, listen); /* in a line that says what is the matter */
    only = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", listen));
    await_line(follower, "answers again");
    go_on_and_end();
    assert_int_equal(count_of(orders_err, "; trying again\n"), 1);
    assert_int_equal(count_of(orders_err, "answers again"), 1);
    fx_server_kill(only);
}

static void an_admins_token_is_sent(void **state)
{
    char file[320], wrong[320];
    use_database(*state);
    snprintf(file, sizeof(file), "%s/token", base.dir);
    snprintf(wrong, sizeof(wrong), "%s/wrong", base.dir);
    assert_int_equal(fx_shell("echo a-token-of-enough-characters >\"$1\"", file, 5000), 0);
    assert_int_equal(fx_shell("echo another-token-than-expected >\"$1\"", wrong, 5000), 0);
    fx_server *guarded =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--admin-token-file", file));
    open_shop();
    sell_here(PLAIN);
    sell_to(5);
    snprintf(orders_from, sizeof(orders_from), "%s", fx_server_url(guarded));
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 69);
    assert_non_null(strstr(orders_err, "401 token_missing"));
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once", "--token-file", wrong)),
                     69);
    assert_non_null(strstr(orders_err, "token_wrong"));
    assert_null(strstr(orders_err, "another-token-than-expected"));
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once", "--token-file", file)),
                     0);
    setenv("FLASHSALE_ADMIN_TOKEN", "a-token-of-enough-characters", 1);
    expect_all_that_was_told(shop);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    fx_server_kill(guarded);
}

/* ---- the database ---------------------------------------------------------------------------- */

static void a_database_that_was_killed_is_waited_for(void **state)
{
    begin_case(state);
    follow_here();
    fx_postgres_kill(postgres);
    sell_to(20);
    await_line(follower, AWAY);
    fx_postgres_restart(postgres);
    await_line(follower, ANSWERS);
    go_on_and_end();
    assert_int_equal(count_of(orders_err, ANSWERS), 1);
}

/* It is there, and says nothing. */
static void a_database_that_stands_still_is_waited_for(void **state)
{
    begin_case(state);
    follow_here();
    fx_postgres_signal(postgres, SIGSTOP);
    sell_to(20);
    await_line(follower, AWAY "PostgreSQL: no answer within 30 s; trying again");
    fx_postgres_signal(postgres, SIGCONT);
    await_line(follower, ANSWERS);
    go_on_and_end();
}

static void a_file_that_another_has_locked_is_waited_for(void **state)
{
    begin_case(state);
    follow_here();
    database *other = connect_to_base();
    assert_true(database_run(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL, NULL));
    sell_to(20);
    await_line(follower, AWAY "SQLite: database is locked; trying again");
    database_free(other);
    await_line(follower, ANSWERS);
    go_on_and_end();
    assert_int_equal(count_of(orders_err, ANSWERS), count_of(orders_err, "; trying again\n"));
}

#define FULL                                                                                       \
    "CREATE TRIGGER full_disk BEFORE INSERT ON flashsale_orders"                                   \
    " BEGIN SELECT RAISE(ABORT, 'no room'); END"

/* It can be read, and refuses to be written to: that is one trouble, not one each time. */
static void a_database_that_refuses_is_said_once(void **state)
{
    begin_case(state);
    follow_here();
    sql_do(FULL);
    sell_to(20);
    await_line(follower, AWAY "SQLite: no room; trying again");
    fx_let_pass(4000); /* in which it tries again and again */
    sql_do("DROP TRIGGER full_disk");
    await_line(follower, ANSWERS);
    go_on_and_end();
    assert_int_equal(count_of(orders_err, "; trying again"), 1);
    assert_int_equal(count_of(orders_err, ANSWERS), 1);
}

/* A server that takes connections and ends them: how often it was tried, in so long. */
static int count_tries(int listener, int for_ms)
{
    int count = 0, fd;
    for (int64_t passed = 0; passed < for_ms; passed += fx_let_pass(20))
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
            close(fd);
            count++;
        }
    return count;
}

static void an_unreachable_database_is_tried_less_and_less(void **state)
{
    begin_case(state);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(any);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&any, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&any, &len), 0);
    snprintf(base.url, sizeof(base.url), "postgresql://u@127.0.0.1:%d/d?sslmode=disable",
             ntohs(any.sin_port));
    follower = start_follower(FX_ARGS("--item", shop));
    await_line(follower, AWAY "PostgreSQL: ");
    assert_in_range(count_tries(listener, 10000), 1, 9); /* 0.1, 0.2, 0.4, ... 5 s */
    assert_int_equal(stop_follower(follower), 0);
    assert_int_equal(count_of(orders_err, "\n"), 1);
    close(listener);
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(an_instance_that_is_down_is_passed_over),
        ON_EACH_DATABASE(all_instances_are_away_for_a_while),
        ON("sqlite", an_admins_token_is_sent),
        ON("postgresql", a_database_that_was_killed_is_waited_for),
        ON("postgresql", a_database_that_stands_still_is_waited_for),
        ON("sqlite", a_file_that_another_has_locked_is_waited_for),
        ON("sqlite", a_database_that_refuses_is_said_once),
        ON("postgresql", an_unreachable_database_is_tried_less_and_less),
    };
    fx.plan = (fx_plan){.instances = 2};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
