/*
 * test_export.c - the orders of a database as CSV (RFC 4180): a line of names, a line an order with
 * its state, lost ones too, quoted where that is needed; of one item, or one sale.
 */
#include "server/orders/records.h"

#include "tests/orders/follower.h"

#define NAMES                                                                                      \
    "item,sale,segment,number,epoch,order_id,request,username,quantity,state,remaining,fence,"     \
    "instance,time_us,expires_us,lost_us\r\n"

#define LINE1 "P1,S1,0,1,ea,S1-ea-1,r1,ann,1,sold,9,1763773000123456,i1,1001,,\r\n"
#define LINE2 "P1,S1,0,2,ea,S1-ea-2,r2,bob,2,expired,7,0,i2,1002,5100000,\r\n"
#define LINE3 "P1,S2,1,1,ea,S2-ea-1,r1,ann,1,lost,9,0,i1,1003,,7777\r\n"
#define LINE4 "P1,S2,1,1,eb,S2-eb-1,r2,bob,1,sold,9,0,i1,1004,,\r\n"
#define LINE5 "P2,S1,0,1,ea,S3-ea-1,r1,ann,1,sold,9,0,i1,1005,,\r\n"

static void add(const char *values)
{
    sql_do("INSERT INTO flashsale_orders (item, sale, segment, number, epoch, order_id, request,"
           " username, quantity, remaining, fence, instance, time_us, expires_us, lost_us)"
           " VALUES (%s)",
           values);
}

static void begin_case(void **state)
{
    use_database(*state);
    assert_true(records_create(base.db));
}

static void fill(void)
{
    add("'P2', 'S1', 0, 1, 'ea', 'S3-ea-1', 'r1', 'ann', 1, 9, 0, 'i1', 1005, NULL, NULL");
    add("'P1', 'S2', 1, 1, 'eb', 'S2-eb-1', 'r2', 'bob', 1, 9, 0, 'i1', 1004, NULL, NULL");
    add("'P1', 'S2', 1, 1, 'ea', 'S2-ea-1', 'r1', 'ann', 1, 9, 0, 'i1', 1003, NULL, 7777");
    add("'P1', 'S1', 0, 2, 'ea', 'S1-ea-2', 'r2', 'bob', 2, 7, 0, 'i2', 1002, 5100000, NULL");
    add("'P1', 'S1', 0, 1, 'ea', 'S1-ea-1', 'r1', 'ann', 1, 9, 1763773000123456, 'i1', 1001, NULL,"
        " NULL");
    sql_do("INSERT INTO flashsale_moves (item, sale, segment, place, epoch, what, request,"
           " quantity, time_us, expires_us) VALUES ('P1', 'S1', 0, 1, 'ea', 'expired', NULL, 2,"
           " 2000, 5100000)");
}

static void expect_export(const char *const *words, const char *lines)
{
    char expected[2048];
    snprintf(expected, sizeof(expected), "%s%s", NAMES, lines);
    assert_int_equal(run_orders("export", words), 0);
    assert_string_equal(orders_out, expected);
    assert_string_equal(orders_err, "");
}

static void orders_are_printed_with_their_states(void **state)
{
    begin_case(state);
    expect_export(FX_ARGS("--csv"), "");
    fill();
    expect_export(FX_ARGS("--csv"), LINE1 LINE2 LINE3 LINE4 LINE5);
}

static void one_item_or_sale_is_printed(void **state)
{
    begin_case(state);
    fill();
    expect_export(FX_ARGS("--csv", "--item", "P1"), LINE1 LINE2 LINE3 LINE4);
    expect_export(FX_ARGS("--csv", "--sale", "S1"), LINE1 LINE2 LINE5);
    expect_export(FX_ARGS("--csv", "--item", "P1", "--sale", "S2"), LINE3 LINE4);
    expect_export(FX_ARGS("--csv", "--item", "P3"), "");
    expect_export(FX_ARGS("--csv", "--item", "P"), "");
}

static void values_are_quoted(void **state)
{
    static const char *const users[][2] = {{"a,b", "\"a,b\""},
                                           {"say \"hi\"", "\"say \"\"hi\"\"\""},
                                           {"two\nlines", "\"two\nlines\""},
                                           {"a\rb", "\"a\rb\""},
                                           {"", ""},
                                           {" plain ", " plain "},
                                           {"J\303\266rg; x", "J\303\266rg; x"},
                                           {"\"", "\"\"\"\""}};
    char lines[2048] = "", values[512];
    begin_case(state);
    for (int i = 0; i < 8; i++) {
        snprintf(values, sizeof(values),
                 "'P1', 'S1', 0, %d, 'e', 'o', 'r', '%s', 1, 2, 3, 'i', 4, NULL, NULL", i + 1,
                 users[i][0]);
        add(values);
        snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines),
                 "P1,S1,0,%d,e,o,r,%s,1,sold,2,3,i,4,,\r\n", i + 1, users[i][1]);
    }
    expect_export(FX_ARGS("--csv"), lines);
}

/* What a spreadsheet of the case's orders would be made of: as many lines as were sold. */
static void what_was_copied_is_printed(void **state)
{
    begin_case(state);
    open_shop();
    sell_here("'stock':1000,'strategy':'combined'");
    sell_to(30);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    assert_int_equal(run_orders("export", FX_ARGS("--csv", "--item", shop)), 0);
    assert_int_equal(count_of(orders_out, "\r\n"), 31);
    for (int i = 0; i < told_count; i++) {
        char line[512];
        snprintf(line, sizeof(line), ",%s,%s,%s,%lld,sold,%lld,%lld,%s,", told[i].order,
                 told[i].request, told[i].user, told[i].quantity, told[i].remaining, told[i].fence,
                 told[i].instance);
        if (count_of(orders_out, line) != 1)
            fail_msg("no line %s in %s", line, orders_out);
    }
}

/* A reader that goes away, and a database without tables. */
static void what_can_not_be_printed_is_said(void **state)
{
    use_database(*state);
    assert_int_equal(run_orders("export", FX_ARGS("--csv")), 69);
    assert_non_null(strstr(orders_err, "flashsale-orders: the database: "));
    assert_true(records_create(base.db));
    fill();
    char command[1024], path[512], output[64];
    snprintf(command, sizeof(command), "%s export --csv --to '%s' 2>&1 >/dev/full",
             fx_build_path("flashsale-orders", path, sizeof(path)), base.url);
    assert_int_equal(fx_shell_output(command, output, sizeof(output)), 69);
    assert_string_equal(output, "flashsale-orders: stdout can not be written\n");
}

static int stop_all(void **state)
{
    stop_postgres();
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(orders_are_printed_with_their_states),
        ON_EACH_DATABASE(one_item_or_sale_is_printed),
        ON_EACH_DATABASE(values_are_quoted),
        ON_EACH_DATABASE(what_was_copied_is_printed),
        ON_EACH_DATABASE(what_can_not_be_printed_is_said),
    };
    fx.plan = (fx_plan){.instances = 1};
    return cmocka_run_group_tests(tests, fx_service_start, stop_all);
}
