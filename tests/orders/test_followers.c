/*
 * test_followers.c - two followers of the same sales: without a lock they do each other no harm,
 * with one the first leads and the other takes its place, and one that has slept meanwhile writes
 * nothing.
 */
#include "tests/orders/follower.h"

#define PLAIN "'stock':5000,'strategy':'combined'"

static fx_process *followers[2];

static void begin_case(void **state)
{
    use_database(*state);
    open_shop();
    sell_here(PLAIN);
}

static void end_both(void)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(stop_follower(followers[i]), 0);
}

/* ---- without a lock -------------------------------------------------------------------------- */

static void two_without_a_lock_do_no_harm(void **state)
{
    begin_case(state);
    sell_to(40);
    for (int i = 0; i < 2; i++)
        followers[i] = start_follower(FX_ARGS("--item", shop));
    for (int i = 0; i < 3; i++) {
        sell_to(60);
        if (i == 1)
            sell_here("'stock':5000,'strategy':'sharded','segments':3");
    }
    expect_all_that_was_told(shop);
    fx_process_signal(followers[0], SIGKILL);
    assert_int_equal(end_orders(followers[0]), 128 + SIGKILL);
    sell_to(20);
    expect_all_that_was_told(shop);
    assert_int_equal(stop_follower(followers[1]), 0);
}

/* ---- with a lock ----------------------------------------------------------------------------- */

typedef struct wanted_figure {
    const char *file, *line;
} wanted_figure;

static bool has_figure(void *arg)
{
    const wanted_figure *wanted = arg;
    char text[4096] = "";
    FILE *from = fopen(wanted->file, "r");
    size_t len = from ? fread(text, 1, sizeof(text) - 1, from) : 0;
    text[len] = '\0';
    if (from)
        fclose(from);
    return strstr(text, wanted->line) != NULL;
}

static char metrics[2][320];

static void await_leading(int which, const char *number)
{
    char line[64];
    snprintf(line, sizeof(line), "\nflashsale_orders_leading %s\n", number);
    if (!fx_wait_until(has_figure, &(wanted_figure){metrics[which], line}, COPY_MS))
        fail_msg("follower %d: leading is not %s: %s", which, number,
                 fx_process_stderr(followers[which]));
}

static void start_with_lock(int which)
{
    snprintf(metrics[which], sizeof(metrics[which]), "%s/%d.prom", base.dir, which);
    remove(metrics[which]);
    followers[which] = start_follower(FX_ARGS("--item", shop, "--lock", fx_redis_url(fx.redis),
                                              "--lock-name", shop, "--metrics", metrics[which]));
}

static void start_both(void)
{
    start_with_lock(0);
    await_leading(0, "1");
    start_with_lock(1);
    await_leading(1, "0");
}

static void the_other_takes_over_when_one_ends(void **state)
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGTERM};
    begin_case(state);
    start_both();
    for (int i = 0; i < 3; i++) {
        sell_to(20);
        await_orders(count_told());
        fx_process_signal(followers[i % 2], signals[i]);
        assert_int_equal(end_orders(followers[i % 2]), signals[i] == SIGKILL ? 128 + SIGKILL : 0);
        sell_to(20);
        await_leading((i + 1) % 2, "1");
        expect_all_that_was_told(shop);
        start_with_lock(i % 2);
        await_leading(i % 2, "0");
    }
    assert_true(sql_number("SELECT fence FROM flashsale_leader") > 0);
    end_both();
}

static void who_has_slept_writes_nothing(void **state)
{
    begin_case(state);
    start_both();
    sell_to(20);
    await_orders(count_told());
    long long fence = sql_number("SELECT fence FROM flashsale_leader");
    fx_process_signal(followers[0], SIGSTOP);
    sell_to(20);
    await_leading(1, "1");
    await_orders(count_told());
    long long later = sql_number("SELECT fence FROM flashsale_leader");
    assert_true(later > fence);
    fx_process_signal(followers[0], SIGCONT);
    sell_to(20);
    await_leading(0, "0");
    expect_all_that_was_told(shop);
    assert_int_equal(sql_number("SELECT fence FROM flashsale_leader"), later);
    end_both();
}

/* The lock's Redis is away: nobody writes, and one says why; then one leads again. */
static void without_the_lock_nobody_leads(void **state)
{
    begin_case(state);
    fx_redis *locks = fx_redis_start_single(NULL);
    followers[0] =
        start_follower(FX_ARGS("--item", shop, "--lock", fx_redis_tcp_url(locks), "--once"));
    assert_int_equal(end_orders(followers[0]), 0);
    fx_redis_kill(locks);
    followers[0] = start_follower(FX_ARGS("--item", shop, "--lock", fx_redis_tcp_url(locks)));
    await_line(followers[0], "flashsale-orders: the lock: ");
    sell_to(10);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 0);
    fx_redis_restart(locks);
    await_line(followers[0], "the lock: answers again");
    expect_all_that_was_told(shop);
    assert_int_equal(stop_follower(followers[0]), 0);
    fx_redis_stop(locks);
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(two_without_a_lock_do_no_harm),
        ON_EACH_DATABASE(the_other_takes_over_when_one_ends),
        ON_EACH_DATABASE(who_has_slept_writes_nothing),
        ON_EACH_DATABASE(without_the_lock_nobody_leads),
    };
    fx.plan = (fx_plan){.instances = 2};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
