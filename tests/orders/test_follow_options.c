/*
 * test_follow_options.c - the words of flashsale-orders: mistakes are 64 and a sentence, what does
 * not answer is 69, --metrics writes what it should, the environment gives what options give.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/orders/follower.h"

enum { USAGE = 64, UNAVAILABLE = 69 };

#define FROM "--from", "http://127.0.0.1:1"
#define TO   "--to", "sqlite:/nowhere/orders.db"

/* ---- mistakes -------------------------------------------------------------------------------- */

static const struct {
    const char *words[10];
    const char *said;
} mistakes[] = {
    {{NULL}, "the first word is follow, check or export; see --help"},
    {{"copy", FROM, TO}, "the first word is follow, check or export"},
    {{"--once", "follow"}, "the first word is"},
    {{"follow"}, "follow needs --to"},
    {{"follow", FROM}, "follow needs --to"},
    {{"check", TO}, "check needs --from"},
    {{"export", "--csv"}, "export needs --to"},
    {{"export", TO}, "export needs --csv"},
    {{"follow", FROM, TO, "--sometimes"}, "--sometimes"},
    {{"follow", FROM, TO, "--lock"}, "--lock"},
    {{"follow", FROM, TO, "now"}, "what is 'now'?"},
    {{"follow", FROM, "--to", "mysql://h/d"}, "a database is sqlite:FILE or postgresql://..."},
    {{"follow", FROM, "--to", "orders.db"}, "a database is sqlite:FILE or postgresql://..."},
    {{"follow", "--from", "127.0.0.1:7000", TO}, "--from takes 1 to 16 URLs"},
    {{"follow", "--from", "http://127.0.0.1:1,", TO}, "--from takes 1 to 16 URLs"},
    {{"check", "--from", "ftp://127.0.0.1", TO}, "--from takes 1 to 16 URLs"},
    {{"follow", FROM, TO, "--token-file", "/nowhere/token"}, "--token-file /nowhere/token can not"},
    {{"follow", FROM, TO, "--token-file", "/dev/null"}, "or its first line is empty"},
    {{"follow", FROM, TO, "--lock", "nowhere"}, "--lock: "},
    {{"follow", FROM, TO, "--item", "two words"}, "--item: "},
    {{"check", FROM, TO, "--item", ""}, "--item needs a value"},
    {{"check", FROM, TO, "--once"}, "check has no option --once"},
    {{"export", "--csv", TO, "--lock", "redis://h"}, "export has no option --lock"},
    {{"follow", FROM, "--to", "sqlite:"}, "'sqlite:' names no file"},
    {{"follow", FROM, TO, "--item",
      "a-name-of-more-than-sixty-four-characters-is-not-the-name-of-any-item"},
     "--item: "},
};

static void a_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        int code = end_orders(spawn_orders(mistakes[i].words));
        if (code != USAGE || !strstr(orders_err, mistakes[i].said) ||
            strncmp(orders_err, "flashsale-orders: ", 18) != 0 || count_of(orders_err, "\n") != 1)
            fail_msg("mistake %zu: %d instead of 64 and '%s', but: %s", i, code, mistakes[i].said,
                     orders_err);
        assert_string_equal(orders_out, "");
    }
}

static void help_and_version_are_printed(void **state)
{
    (void)state;
    assert_int_equal(end_orders(spawn_orders(FX_ARGS("--help"))), 0);
    assert_non_null(strstr(orders_out, "usage: flashsale-orders follow "));
    assert_int_equal(end_orders(spawn_orders(FX_ARGS("follow", "--help"))), 0);
    assert_non_null(strstr(orders_out, "usage: flashsale-orders follow "));
    assert_int_equal(end_orders(spawn_orders(FX_ARGS("--version"))), 0);
    assert_int_equal(strncmp(orders_out, "flashsale-orders ", 17), 0);
    assert_string_equal(orders_err, "");
}

/* ---- nobody answers -------------------------------------------------------------------------- */

static void begin_case(void **state)
{
    use_database(*state);
    open_shop();
    sell_here("'stock':100,'strategy':'combined'");
    sell_to(7);
}

static void who_does_not_answer_is_named(void **state)
{
    char nobody[64];
    begin_case(state);
    snprintf(nobody, sizeof(nobody), "http://127.0.0.1:%d", fx_free_port());
    snprintf(orders_from, sizeof(orders_from), "%s", nobody);
    assert_int_equal(run_orders("follow", FX_ARGS("--once", "--item", shop)), UNAVAILABLE);
    assert_non_null(strstr(orders_err, nobody));
    assert_int_equal(run_orders("follow", FX_ARGS("--once")), UNAVAILABLE);
    assert_non_null(strstr(orders_err, nobody));
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 0);
}

static void a_database_that_is_none_is_named(void **state)
{
    begin_case(state);
    if (is_postgres())
        snprintf(base.url, sizeof(base.url), "postgresql://u@127.0.0.1:%d/d", fx_free_port());
    else
        snprintf(base.url, sizeof(base.url), "sqlite:%s/nowhere/orders.db", base.dir);
    const char *said = is_postgres() ? "the database: PostgreSQL: " : "the database: SQLite: ";
    assert_int_equal(run_orders("follow", FX_ARGS("--once", "--item", shop)), UNAVAILABLE);
    assert_non_null(strstr(orders_err, said));
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), UNAVAILABLE);
    assert_non_null(strstr(orders_err, said));
    assert_int_equal(run_orders("export", FX_ARGS("--csv")), UNAVAILABLE);
    assert_non_null(strstr(orders_err, said));
}

/* ---- what it says of itself ------------------------------------------------------------------ */

static double figure(const char *text, const char *name)
{
    char line[128];
    snprintf(line, sizeof(line), "\nflashsale_orders_%s ", name);
    const char *at = strstr(text, line);
    if (!at)
        fail_msg("no %s in %s", name, text);
    return strtod(at + strlen(line), NULL);
}

static void read_file(const char *path, char text[8192])
{
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    text[fread(text, 1, 8191, from)] = '\0';
    fclose(from);
}

static void metrics_are_written(void **state)
{
    static const char *const names[] = {"events_total", "lost_total", "behind_events",
                                        "age_seconds",  "leading",    "committed_timestamp_seconds",
                                        "database_up",  "source_up"};
    char file[320], text[8192], line[128];
    begin_case(state);
    snprintf(file, sizeof(file), "%s/orders.prom", base.dir);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--metrics", file, "--once")), 0);
    read_file(file, text);
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(line, sizeof(line), "# TYPE flashsale_orders_%s ", names[i]);
        assert_int_equal(count_of(text, line), 1);
        snprintf(line, sizeof(line), "# HELP flashsale_orders_%s ", names[i]);
        assert_int_equal(count_of(text, line), 1);
    }
    assert_true(figure(text, "events_total") == 7 && figure(text, "behind_events") == 0);
    assert_true(figure(text, "leading") == 1 && figure(text, "database_up") == 1);
    assert_true(figure(text, "source_up") == 1 && figure(text, "lost_total") == 0);
    assert_true(figure(text, "age_seconds") > 0 && figure(text, "age_seconds") < 600);
    assert_true(figure(text, "committed_timestamp_seconds") > 1.7e9);
    assert_int_equal(fx_entries(base.dir), is_postgres() ? 1 : 2); /* no other file is left */
}

static void a_file_that_can_not_be_written_stops_nobody(void **state)
{
    begin_case(state);
    assert_int_equal(
        run_orders("follow", FX_ARGS("--item", shop, "--once", "--metrics", "/nowhere/f")), 0);
    assert_non_null(strstr(orders_err, "flashsale-orders: --metrics: No such file or directory"));
    expect_all_that_was_told(shop);
}

static void the_environment_gives_options(void **state)
{
    begin_case(state);
    setenv("FLASHSALE_ORDERS_FROM", orders_from, 1);
    setenv("FLASHSALE_ORDERS_TO", base.url, 1);
    setenv("FLASHSALE_ORDERS_LOCK", fx_redis_url(fx.redis), 1);
    int code = end_orders(spawn_orders(FX_ARGS("follow", "--once", "--item", shop)));
    unsetenv("FLASHSALE_ORDERS_FROM");
    unsetenv("FLASHSALE_ORDERS_TO");
    unsetenv("FLASHSALE_ORDERS_LOCK");
    assert_int_equal(code, 0);
    assert_true(sql_number("SELECT fence FROM flashsale_leader") > 0);
    expect_all_that_was_told(shop);
}

/* An instance that says 429 to whatever it is asked, until its listener is shut. */
static atomic_int limited; /* how often it has */

static void *limit_all(void *arg)
{
    static const char answer[] = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: "
                                 "application/problem+json\r\nConnection: close\r\n"
                                 "Content-Length: 23\r\n\r\n{\"code\":\"rate_limited\"}";
    char request[2048];
    for (int fd; (fd = accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC)) >= 0; close(fd))
        if (recv(fd, request, sizeof(request), 0) > 0 &&
            send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) > 0)
            atomic_fetch_add(&limited, 1);
    return NULL;
}

/* It is asked again after a second, ten times; then another one is asked. */
static void who_limits_for_ever_is_given_up(void **state)
{
    pthread_t thread;
    char both[512];
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(any);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&any, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&any, &len), 0);
    assert_int_equal(pthread_create(&thread, NULL, limit_all, &listener), 0);
    use_database(*state);
    open_shop();
    sell_here("'stock':50,'strategy':'combined'");
    sell_to(3);
    snprintf(both, sizeof(both), "http://127.0.0.1:%d,%s", ntohs(any.sin_port),
             fx_server_url(fx.server[0]));
    int code = end_orders(spawn_orders(
        FX_ARGS("follow", "--once", "--item", shop, "--from", both, "--to", base.url)));
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    assert_int_equal(code, 0);
    assert_in_range(limited, 2, 11);
    expect_all_that_was_told(shop);
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mistake_is_named),
        cmocka_unit_test(help_and_version_are_printed),
        ON("sqlite", who_does_not_answer_is_named),
        ON_EACH_DATABASE(a_database_that_is_none_is_named),
        ON_EACH_DATABASE(metrics_are_written),
        ON("sqlite", a_file_that_can_not_be_written_stops_nobody),
        ON_EACH_DATABASE(the_environment_gives_options),
        ON("sqlite", who_limits_for_ever_is_given_up),
    };
    fx.plan = (fx_plan){.instances = 2};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
