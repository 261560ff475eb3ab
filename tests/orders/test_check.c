/*
 * test_check.c - `check` says nothing of a sound database, and names each difference that is
 * planted into one. What it must say is part of each row of the table.
 */
#include "tests/orders/follower.h"

enum { BOUGHT = 20, RESERVED = 5 };

static char plain[64], reserving[64], sharded[64]; /* sales of the item, in this order */

/* Three sales, copied: with plain orders, with reservations and their moves, and in segments. */
static void copy_sales(void)
{
    open_shop();
    snprintf(plain, sizeof(plain), "%s", sell_here("'stock':100,'strategy':'combined'"));
    sell_to(BOUGHT);
    snprintf(
        reserving, sizeof(reserving), "%s",
        sell_here("'stock':100,'strategy':'combined','per_user_limit':9,'reserve_max_s':3600"));
    for (int i = 0; i < RESERVED; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=v&request=%s-v%d&reserve_s=3000", shop,
                  shop, i);
    for (int i = 0; i < RESERVED; i++)
        fx_expect(fx.server[0], 200, "POST /orders/%s-v%d/%s?item=%s", shop, i,
                  i % 2 == 0 ? "confirm" : "cancel", shop);
    snprintf(sharded, sizeof(sharded), "%s",
             sell_here("'stock':100,'strategy':'sharded','segments':2"));
    sell_to(6);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
}

static void a_sound_database_has_no_differences(void **state)
{
    use_database(*state);
    copy_sales();
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 0);
    assert_string_equal(orders_out, "36 events of 3 sales compared; 0 differences\n");
    assert_string_equal(orders_err, "");
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=w&request=%s-w", shop, shop);
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 1); /* nobody follows */
    assert_int_equal(count_of(orders_out, "not in the database"), 1);
    assert_non_null(strstr(orders_out, "37 events of 3 sales compared; 1 differences\n"));
}

/* ---- planted --------------------------------------------------------------------------------- */

typedef struct difference {
    const char *name, *sql, *said;
} difference;

/* In both texts @plain and its like stand for the sales, @shop for the item, and @n for an order's
 * number or a move's place. */
static const char *named(const char *text, int n)
{
    static char texts[2][SQL_MAX];
    static int turn;
    char number[16];
    const char *const names[][2] = {{"@plain", plain},
                                    {"@reserving", reserving},
                                    {"@sharded", sharded},
                                    {"@shop", shop},
                                    {"@n", number}};
    char *to = texts[turn ^= 1];
    size_t len = 0;
    snprintf(number, sizeof(number), "%d", n);
    while (*text != '\0') {
        size_t i = 0;
        while (i < 5 && strncmp(text, names[i][0], strlen(names[i][0])) != 0)
            i++;
        len += (size_t)snprintf(to + len, SQL_MAX - len, "%.*s", i < 5 ? 64 : 1,
                                i < 5 ? names[i][1] : text);
        text += i < 5 ? strlen(names[i][0]) : 1;
    }
    return to;
}

static bool is_said(const difference *of, int n)
{
    const char *said = named(of->said, n);
    bool is = strstr(orders_out, said) != NULL;
    if (!is)
        print_message("%s: '%s' is not said\n", of->name, said);
    return is;
}

#define ORDER "UPDATE flashsale_orders SET "
#define MOVE  "UPDATE flashsale_moves SET "
#define AT    "WHERE sale = '@plain' AND number = @n"
#define PLACE "WHERE sale = '@reserving' AND place = @n"
#define N     "@shop, sale @plain, segment 0, order @n: "
#define M     "@shop, sale @reserving, segment 0, move @n: "

/* One look finds all of these: each is planted into an order, or a move, of its own. */
static const difference orders[] =
    {
        {"row missing", "DELETE FROM flashsale_orders " AT, N "not in the database"},
        {"marked, and there", ORDER "lost_us = 5 " AT, N "not in the database, or marked as lost"},
        {"user", ORDER "username = 'eve' " AT, N "user is u2@mail.example in Redis and eve in the"},
        {"quantity", ORDER "quantity = 7 " AT, N "quantity is 1 in Redis and 7 in the database\n"},
        {"remaining", ORDER "remaining = 1000 " AT, N "remaining is 91 in Redis and 1000 in the"},
        {"request", ORDER "request = 'other' " AT,
         N "request is @shop-r5 in Redis and other in the"},
        {"order id", ORDER "order_id = 'x-1' " AT, N "order id is @plain-"},
        {"fence", ORDER "fence = fence + 1 " AT, N "fence is "},
        {"time", ORDER "time_us = time_us + 1 " AT, N "time_us is "},
        {"instance", ORDER "instance = 'other' " AT, N "instance is "},
        {"epoch", ORDER "epoch = 'aaaaaaaaaaaa' " AT, N "epoch is "},
        {"end of a reservation", ORDER "expires_us = 5 " AT,
         N "expires_us is nothing in Redis and 5"},
},
                        moves[] = {
                            {"move changed", MOVE "what = 'cancelled' " PLACE,
                             M "what is confirmed in Redis and cancelled"},
                            {"move missing", "DELETE FROM flashsale_moves " PLACE,
                             M "not in the database"},
                            {"move of another", MOVE "request = 'other' " PLACE,
                             M "request is @shop-v2 in Redis and other"},
                            {"move marked", MOVE "lost_us = 5 " PLACE,
                             M "not in the database, or marked as lost there"},
                            {"move's units", MOVE "quantity = 9 " PLACE,
                             M "quantity is 1 in Redis and 9 in the database\n"},
};

enum { IN_ORDERS = COUNT(orders), IN_MOVES = COUNT(moves) };

static void each_difference_is_found(void **state)
{
    bool all = true;
    use_database(*state);
    copy_sales();
    for (int i = 0; i < IN_ORDERS; i++)
        sql_do("%s", named(orders[i].sql, i + 1));
    for (int i = 0; i < IN_MOVES; i++)
        sql_do("%s", named(moves[i].sql, i + 1));
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 1);
    for (int i = 0; i < IN_ORDERS; i++)
        all &= is_said(&orders[i], i + 1);
    for (int i = 0; i < IN_MOVES; i++)
        all &= is_said(&moves[i], i + 1);
    char end[64];
    snprintf(end, sizeof(end), "of 3 sales compared; %d differences\n", IN_ORDERS + IN_MOVES);
    if (!all || !strstr(orders_out, end))
        fail_msg("%s", orders_out);
}

#define COPY(where, sale, number)                                                                  \
    "INSERT INTO flashsale_orders SELECT " where ", " sale ", " number ", epoch, order_id,"        \
    " request, username, remaining, fence, instance, quantity, time_us, expires_us, lost_us"       \
    " FROM flashsale_orders WHERE sale = '@plain' AND number = 3"
#define COPY_MOVE(sale, place)                                                                     \
    "INSERT INTO flashsale_moves SELECT item, " sale ", segment, " place ", epoch, what, request," \
    " quantity, time_us, expires_us, lost_us FROM flashsale_moves WHERE place = 3"

/* What is too many, or at the end, each alone. */
static const difference alone[] = {
    {"last row missing", "DELETE FROM flashsale_orders WHERE sale = '@plain' AND number = 20",
     "sale @plain, segment 0, order 20: not in the database"},
    {"row twice, at the end", COPY("item", "sale, segment", "21"),
     "sale @plain, segment 0, order 21: in the database"},
    {"row twice, before the beginning", COPY("item", "sale, segment", "0"),
     "sale @plain, segment 0, order 0: in the database"},
    {"move too many", COPY_MOVE("sale", "6"),
     "sale @reserving, segment 0, move 6: in the database"},
    {"position", "UPDATE flashsale_positions SET position = '8-aaaaaaaaaaaa' WHERE sale = '@plain'",
     "sale @plain, segment 0, position 8-aaaaaaaaaaaa: "},
    {"no position", "DELETE FROM flashsale_positions WHERE sale = '@plain'",
     "sale @plain, segment 0, position 0: "},
    {"segment that is none", COPY("item", "sale, 7", "1"), "segment 7, order 1: in the database"},
    {"segment that is none, of many", COPY("item", "'@sharded', 2", "1"),
     "sale @sharded, segment 2, order 1: in the database"},
    {"sale that never was", COPY("item", "'invented', 0", "1"),
     "@shop, sale invented, segment 0, order 1: in the database"},
    {"sale before all others that never was", COPY("item", "'0', 0", "1"),
     "@shop, sale 0, segment 0, order 1: in the database"},
    {"move of a sale that never was", COPY_MOVE("'invented'", "1"),
     "@shop, sale invented, segment 0, move 1: in the database"},
    {"item that never was", COPY("'other'", "sale, segment", "1"),
     "other, sale @plain, segment 0, order 1: in the database"},
};

/* Puts away what the case has copied, and takes it out again. */
static void save_or_restore(bool save)
{
    static const char *const tables[] = {"orders", "moves", "positions"};
    for (int i = 0; i < 3; i++) {
        if (save) {
            sql_do("CREATE TABLE kept_%s AS SELECT * FROM flashsale_%s", tables[i], tables[i]);
            continue;
        }
        sql_do("DELETE FROM flashsale_%s", tables[i]);
        sql_do("INSERT INTO flashsale_%s SELECT * FROM kept_%s", tables[i], tables[i]);
    }
}

static void what_is_too_many_is_found(void **state)
{
    int missed = 0;
    use_database(*state);
    copy_sales();
    save_or_restore(true);
    for (size_t i = 0; i < COUNT(alone); i++) {
        sql_do("%s", named(alone[i].sql, 0));
        bool elsewhere = strncmp(alone[i].said, "other,", 6) == 0;
        int code = run_orders("check", FX_ARGS("--item", elsewhere ? "other" : shop));
        if (code != 1 || !is_said(&alone[i], 0)) {
            print_message("%s: %d %s%s\n", alone[i].name, code, orders_out, orders_err);
            missed++;
        }
        save_or_restore(false);
    }
    assert_int_equal(missed, 0);
    expect_sound(shop);
}

/* Nothing is asked of a row that is marked; and each difference is a line. */
static void lost_rows_are_not_compared(void **state)
{
    use_database(*state);
    copy_sales();
    sql_do("INSERT INTO flashsale_orders SELECT item, sale, segment, number, 'aaaaaaaaaaaa',"
           " order_id, 'other', 'eve', remaining, fence, instance, 7, time_us, expires_us, 5"
           " FROM flashsale_orders WHERE sale = '%s'",
           plain);
    expect_sound(shop);
    sql_do("UPDATE flashsale_orders SET username = 'eve', quantity = 9 WHERE sale = '%s'", plain);
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 1);
    assert_int_equal(count_of(orders_out, ": user is "), BOUGHT);
    assert_int_equal(count_of(orders_out, ", quantity is "), BOUGHT);
    assert_non_null(strstr(orders_out, "; 20 differences\n"));
}

/* An instance that can not tell what it has sold is no reason to say that all is well. */
static void what_can_not_be_compared_is_no_success(void **state)
{
    use_database(*state);
    copy_sales();
    snprintf(orders_from, sizeof(orders_from), "%s/elsewhere", fx_server_url(fx.server[0]));
    assert_int_equal(run_orders("check", NULL), 69);
    assert_non_null(strstr(orders_err, "not_found"));
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 69);
    snprintf(orders_from, sizeof(orders_from), "http://127.0.0.1:%d", fx_free_port());
    assert_int_equal(run_orders("check", FX_ARGS("--item", shop)), 69);
    assert_non_null(strstr(orders_err, orders_from));
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(a_sound_database_has_no_differences),
        ON_EACH_DATABASE(each_difference_is_found),
        ON_EACH_DATABASE(what_is_too_many_is_found),
        ON_EACH_DATABASE(lost_rows_are_not_compared),
        ON("sqlite", what_can_not_be_compared_is_no_success),
    };
    fx.plan = (fx_plan){.instances = 1};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
