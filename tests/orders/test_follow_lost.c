/*
 * test_follow_lost.c - Redis loses what was copied: older after a power loss, or empty. Rows stay
 * and are marked, the new orders stand beside them, and no row of a sale that is sound is touched.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/orders/follower.h"

enum { WAIT_MS = 90000, KEPT = 20, LOST = 13 };

static fx_process *follower; /* of the case */

static void begin_case(void **state)
{
    use_database(*state);
    fx_only_single("it cuts the append-only file");
    open_shop();
}

/* ---- a Redis that forgets -------------------------------------------------------------------- */

/* What Redis writes as it goes, and its length now. */
static long find_log(char path[512])
{
    struct stat now;
    snprintf(path, 512, "%s/appendonlydir/appendonly.aof.1.incr.aof", fx_redis_dir(fx.redis));
    assert_int_equal(stat(path, &now), 0);
    return (long)now.st_size;
}

/* As after a power loss: what was written last had not reached the disk. */
static void restart_as_of(long len)
{
    char path[512];
    fx_redis_kill(fx.redis);
    assert_true(len < find_log(path));
    assert_int_equal(truncate(path, len), 0);
    fx_redis_restart(fx.redis);
}

/* Both instances refuse, and tell what the other has known, too. */
static bool say_rolled_back(void *part)
{
    fx_reply reply;
    bool say = true;
    for (int at = 0; say && at < 2; at++) {
        say = fx_ask(fx.server[at], &reply, "POST /buy?item=%s&user=x", shop) == 503 &&
              strstr(reply.body, "\"sale_rolled_back\"") != NULL &&
              strstr(reply.body, (char *)part) != NULL;
        fx_reply_free(&reply);
    }
    return say;
}

/* Waits until both refuse with this in the answer, and tells the sale. */
static void await_halt(const char *part, char sale[64])
{
    if (!fx_wait_until(say_rolled_back, (char *)part, WAIT_MS))
        fail_msg("not halted with %s: %s", part,
                 fx_refused(fx.server[0], 503, NULL, "POST /buy?item=%s&user=x", shop));
    const char *body =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=x", shop);
    fx_copy_member(body, "sale", sale, 64);
}

static bool is_sold_by_both(void *arg)
{
    bool *sold = arg;
    for (int at = 0; at < 2; at++)
        sold[at] =
            sold[at] || fx_status(fx.server[at], "POST /buy?item=%s&user=first%d", shop, at) == 201;
    return sold[0] && sold[1];
}

/* Rows that are there and not marked, by what buyers were told; `first` of them are not. */
static void expect_rest_of_what_was_told(int first, int lost)
{
    memmove(told + first, told + first + lost,
            (size_t)(told_count - first - lost) * sizeof(told[0]));
    told_count -= lost;
    expect_all_that_was_told(shop);
}

/* ---- older ----------------------------------------------------------------------------------- */

#define MARKED "SELECT count(*) FROM flashsale_orders WHERE lost_us IS NOT NULL"

/* Sells, copies, and has Redis forget LOST orders. Returns when the sale is halted. */
static void lose_orders(const char *terms, char sale[64])
{
    char path[512];
    sell_here(terms);
    follower = start_follower(FX_ARGS("--item", shop));
    sell_to(KEPT);
    long len = find_log(path);
    sell_to(LOST);
    await_orders(KEPT + LOST);
    restart_as_of(len);
    await_halt("\"lost_orders\":13}", sale);
}

/* Not before the instances have compared the Redis that was started again. */
static bool is_resumed(void *sale)
{
    return fx_status(fx.server[1], "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}",
                     shop, (char *)sale, LOST) == 200;
}

static void resume(char *sale)
{
    bool sold[2] = {false, false};
    assert_true(fx_wait_until(is_resumed, sale, WAIT_MS));
    assert_true(fx_wait_until(is_sold_by_both, sold, WAIT_MS));
}

static void lose_and_resume(const char *terms)
{
    char sale[64];
    lose_orders(terms, sale);
    await_number(LOST, MARKED); /* as soon as the halted sale can be read */
    resume(sale);
    sell_to(LOST + 5);
    expect_rest_of_what_was_told(KEPT, LOST);
    assert_int_equal(sql_number(MARKED), LOST);
    assert_int_equal(stop_follower(follower), 0);
    assert_non_null(strstr(orders_err, "Redis has lost orders or moves; "));
}

static void orders_that_redis_lost_are_marked(void **state)
{
    begin_case(state);
    lose_and_resume("'stock':1000,'strategy':'combined'");
    assert_non_null(strstr(orders_err, "Redis has lost orders or moves; 13 are marked"));
    assert_string_equal(
        sql_text("SELECT count(*), count(DISTINCT epoch) FROM flashsale_orders WHERE number"
                 " BETWEEN 21 AND 33"),
        "26|2");
    assert_string_equal(sql_text("SELECT count(*) FROM flashsale_order_states WHERE state = 'lost'"
                                 " AND number BETWEEN 21 AND 33"),
                        "13");
}

static void orders_that_segments_lost_are_marked(void **state)
{
    begin_case(state);
    lose_and_resume("'stock':1000,'strategy':'sharded','segments':3");
}

/* While nobody follows: the one that comes later finds others under the same numbers. */
static void orders_lost_unseen_are_marked_later(void **state)
{
    begin_case(state);
    char sale[64], path[512];
    sell_here("'stock':1000,'strategy':'combined'");
    sell_to(KEPT);
    long len = find_log(path);
    sell_to(LOST);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_all_that_was_told(shop);
    restart_as_of(len);
    await_halt("\"lost_orders\":13}", sale);
    resume(sale);
    sell_to(LOST + 5);
    sell_here("'stock':1000,'strategy':'combined'");
    sell_to(3);
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 1);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_rest_of_what_was_told(KEPT, LOST);
    assert_int_equal(sql_number(MARKED), LOST);
}

/* ---- empty ----------------------------------------------------------------------------------- */

static void a_sale_that_redis_lost_is_marked_and_the_next_is_copied(void **state)
{
    begin_case(state);
    char sale[64];
    sell_here("'stock':1000,'strategy':'combined'");
    follower = start_follower(FX_ARGS("--item", shop));
    sell_to(KEPT);
    await_orders(KEPT);
    fx_redis_do(fx.redis, "FLUSHALL");
    await_halt("", sale);
    await_line(follower, "sale_rolled_back");
    assert_int_equal(sql_number(MARKED), 0); /* nobody knows as yet what became of them */
    fx_expect(fx.server[0], 201, "POST /sales {'item':'%s','stock':50,'replaces':'%s'}", shop,
              sale);
    bool sold[2] = {false, false};
    assert_true(fx_wait_until(is_sold_by_both, sold, WAIT_MS));
    sell_to(8);
    await_number(KEPT, MARKED);
    await_line(follower, "its rows stay, 20 marked as lost");
    expect_rest_of_what_was_told(0, KEPT);
    assert_int_equal(stop_follower(follower), 0);
}

/* Redis was away and is as it was: nothing is marked. */
static void what_redis_has_kept_is_not_marked(void **state)
{
    begin_case(state);
    sell_here("'stock':1000,'strategy':'combined'");
    follower = start_follower(FX_ARGS("--item", shop));
    sell_to(KEPT);
    await_orders(KEPT);
    fx_redis_restart(fx.redis);
    bool sold[2] = {false, false};
    assert_true(fx_wait_until(is_sold_by_both, sold, WAIT_MS));
    sell_to(5);
    expect_all_that_was_told(shop);
    assert_int_equal(sql_number(MARKED), 0);
    assert_int_equal(stop_follower(follower), 0);
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(orders_that_redis_lost_are_marked),
        ON_EACH_DATABASE(orders_that_segments_lost_are_marked),
        ON_EACH_DATABASE(orders_lost_unseen_are_marked_later),
        ON_EACH_DATABASE(what_redis_has_kept_is_not_marked),
        ON_EACH_DATABASE(a_sale_that_redis_lost_is_marked_and_the_next_is_copied),
    };
    /* With "everysec" a slow disk has Redis answer before it has written the log; with "no" never.
     */
    fx.plan = (fx_plan){.instances = 2,
                        .redis_args = FX_ARGS("--appendonly", "yes", "--appendfsync", "no")};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
