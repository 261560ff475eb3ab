/*
 * test_records.c - the transactions that write orders: a page is written once, from its own
 * position and by who leads; what Redis has lost is marked and stays; and what the view makes of
 * orders and moves. On SQLite and on PostgreSQL.
 */
#include "server/orders/records.h"

#include "tests/orders/databases.h"

#define EPOCH "aaaaaaaaaaaa"
#define OTHER "bbbbbbbbbbbb"

static copied_part at; /* of the case: P1, sale S1, segment 0 */
static char events[ROWS_MAX];

static void begin_case(void **state)
{
    use_database(*state);
    at = (copied_part){.item = "P1", .sale = "S1", .position = POSITION_START};
    assert_true(records_create(base.db));
    assert_int_equal(records_begin(base.db, at.item, at.sale, 1, 0), WRITE_OK);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Adds one event to the page. `members` with single quotes for double ones. */
static void add_event(const char *members)
{
    size_t len = strlen(events);
    if (len == 0)
        len = (size_t)snprintf(events, sizeof(events), "{'events':[]}");
    len -= strlen("]}");
    snprintf(events + len, sizeof(events) - len, "%s{%s}]}", events[len - 1] == '[' ? "" : ",",
             members);
    for (char *c = events; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
}

static void add_order(int number, const char *epoch, const char *expires_us)
{
    char members[512];
    snprintf(members, sizeof(members),
             "'event':'order','number':%d,'epoch':'%s','order':'S1-%s-%d','request':'r%d',"
             "'user':'u%d@mail.example','quantity':%d,'remaining':%d,'fence':1763773000123456,"
             "'instance':'vm-7000','time_us':%d,'expires_us':%s",
             number, epoch, epoch, number, number, number, number % 3 + 1, 100 - number,
             1000 + number, expires_us);
    add_event(members);
}

static void add_orders(int first, int last, const char *epoch)
{
    for (int i = first; i <= last; i++)
        add_order(i, epoch, "null");
}

/* request NULL: the expired units of a bucket, with its end. */
static void add_move(int place, const char *epoch, const char *what, const char *request,
                     const char *expires_us)
{
    char members[256], of[80] = "null";
    if (request)
        snprintf(of, sizeof(of), "'%s'", request);
    snprintf(members, sizeof(members),
             "'event':'%s','place':%d,'epoch':'%s','request':%s,'quantity':1,'time_us':2000,"
             "'expires_us':%s",
             what, place, epoch, of, expires_us);
    add_event(members);
}

/* Writes the page that was made, from at.position to this one; the place moves on with it. */
#define HOUR_US (INT64_C(3600) * 1000000)
#define KEPT_US (24 * HOUR_US)

static write_status write_as(database *db, const char *position, copy_page page, uint64_t fence,
                             int64_t *lost)
{
    if (events[0] == '\0')
        snprintf(events, sizeof(events), "{\"events\":[]}");
    page.json = events;
    page.position = position;
    page.segments = page.segments == 0 ? 1 : page.segments;
    page.time_us = 7777;
    page.kept_us = KEPT_US;
    write_status status = records_write(db, &at, &page, fence, lost);
    if (status == WRITE_OK)
        snprintf(at.position, sizeof(at.position), "%s", position);
    events[0] = '\0';
    return status;
}

static void write_page(const char *position)
{
    int64_t lost;
    assert_int_equal(write_as(base.db, position, (copy_page){.rewound = false}, 0, &lost),
                     WRITE_OK);
    assert_int_equal(lost, 0);
}

/* The page of a Redis that has only so many orders and moves of what was written. How many are
 * marked. */
static int write_rewound(const char *position, int orders, int moves)
{
    int64_t lost;
    const copy_page page = {.rewound = true, .orders = orders, .moves = moves};
    assert_int_equal(write_as(base.db, position, page, 0, &lost), WRITE_OK);
    return (int)lost;
}

/* All that is in the database, to compare. */
static void look(char *ret, size_t len)
{
    snprintf(ret, len, "%s\n", sql_text("SELECT * FROM flashsale_orders ORDER BY number, epoch"));
    static const char *const others[] = {"moves ORDER BY place, epoch",
                                         "positions ORDER BY item, sale, segment", "leader"};
    for (int i = 0; i < 3; i++)
        snprintf(ret + strlen(ret), len - strlen(ret), "%s\n",
                 sql_text("SELECT * FROM flashsale_%s", others[i]));
}

static char before[ROWS_MAX], after[ROWS_MAX];

#define assert_unchanged() (look(after, sizeof(after)), assert_string_equal(after, before))

/* ---- once ------------------------------------------------------------------------------------ */

static void an_order_is_kept_as_it_was_told(void **state)
{
    begin_case(state);
    add_order(1, EPOCH, "null");
    add_order(2, EPOCH, "5100000");
    add_move(1, EPOCH, "confirmed", "r2", "null");
    add_move(2, EPOCH, "expired", NULL, "6100000");
    write_page("2-" EPOCH ".2-" EPOCH);
    assert_string_equal(sql_text("SELECT item, sale, segment, number, epoch, order_id, request,"
                                 " username, quantity, remaining, fence, instance, time_us,"
                                 " expires_us, lost_us FROM flashsale_orders ORDER BY number"),
                        "P1|S1|0|1|" EPOCH "|S1-" EPOCH "-1|r1|u1@mail.example|2|99|"
                        "1763773000123456|vm-7000|1001||\n"
                        "P1|S1|0|2|" EPOCH "|S1-" EPOCH "-2|r2|u2@mail.example|3|98|"
                        "1763773000123456|vm-7000|1002|5100000|");
    assert_string_equal(sql_text("SELECT item, sale, segment, place, epoch, what, request,"
                                 " quantity, time_us, expires_us, lost_us FROM flashsale_moves"
                                 " ORDER BY place"),
                        "P1|S1|0|1|" EPOCH "|confirmed|r2|1|2000||\n"
                        "P1|S1|0|2|" EPOCH "|expired||1|2000|6100000|");
}

static void a_page_is_written_once(void **state)
{
    int64_t lost;
    begin_case(state);
    add_orders(1, 3, EPOCH);
    write_page("3-" EPOCH);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 3);
    look(before, sizeof(before));

    snprintf(at.position, sizeof(at.position), POSITION_START); /* as one who has not noticed */
    add_orders(1, 4, EPOCH);
    assert_int_equal(write_as(base.db, "4-" EPOCH, (copy_page){.end = true}, 0, &lost),
                     WRITE_ELSEWHERE);
    assert_unchanged();
    const copy_page rewound = {.rewound = true, .next_sale = "S2"};
    assert_int_equal(write_as(base.db, "0", rewound, 0, &lost), WRITE_ELSEWHERE);
    assert_unchanged();

    at.segment = 1; /* nor where there is no such place */
    assert_int_equal(write_as(base.db, "1-" EPOCH, (copy_page){0}, 0, &lost), WRITE_ELSEWHERE);
    assert_unchanged();
}

/* Two at once, each with a connection of its own, with the page behind the same position. */
static void the_second_of_two_writes_nothing(void **state)
{
    int64_t lost;
    begin_case(state);
    database *other = connect_to_base();
    copied_part place = at;
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    at = place;
    add_orders(1, 2, EPOCH);
    assert_int_equal(write_as(other, "2-" EPOCH, (copy_page){0}, 0, &lost), WRITE_ELSEWHERE);
    snprintf(at.position, sizeof(at.position), "2-" EPOCH);
    add_orders(3, 3, EPOCH);
    assert_int_equal(write_as(other, "3-" EPOCH, (copy_page){0}, 0, &lost), WRITE_OK);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 3);
    database_free(other);
}

static void an_older_fence_writes_nothing(void **state)
{
    int64_t lost;
    begin_case(state);
    add_orders(1, 1, EPOCH);
    assert_int_equal(write_as(base.db, "1-" EPOCH, (copy_page){0}, 7, &lost), WRITE_OK);
    look(before, sizeof(before));
    add_orders(2, 2, EPOCH);
    const copy_page page = {.rewound = true, .next_sale = "S2", .end = true};
    assert_int_equal(write_as(base.db, "2-" EPOCH, page, 6, &lost), WRITE_NOT_LEADING);
    assert_unchanged();
    assert_int_equal(records_begin(base.db, "P2", "S1", 3, 6), WRITE_NOT_LEADING);
    assert_int_equal(records_give_up(base.db, &at, 9999, 6, &lost), WRITE_NOT_LEADING);
    assert_unchanged();

    add_orders(2, 2, EPOCH); /* whoever leads goes on, then the next one */
    assert_int_equal(write_as(base.db, "2-" EPOCH, (copy_page){0}, 7, &lost), WRITE_OK);
    add_orders(3, 3, EPOCH);
    assert_int_equal(write_as(base.db, "3-" EPOCH, (copy_page){0}, 1763773000123456, &lost),
                     WRITE_OK);
    assert_int_equal(sql_number("SELECT fence FROM flashsale_leader"), 1763773000123456);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 3);
}

/* ---- cut ------------------------------------------------------------------------------------- */

static void a_transaction_that_was_cut_leaves_nothing(void **state)
{
    begin_case(state);
    look(before, sizeof(before));
    database *other = connect_to_base();
    assert_true(
        database_run(other, database_driver_of(other)->begin, NULL, NULL, NULL, NULL) &&
        database_run(other, "UPDATE flashsale_positions SET position = 'x'", NULL, NULL, NULL,
                     NULL) &&
        database_run(other, "UPDATE flashsale_leader SET fence = 9", NULL, NULL, NULL, NULL));
    database_disconnect(other);
    assert_unchanged();
    database_free(other);
}

/* The last order of a page can not be written: none of it is. */
static void a_page_is_written_whole_or_not_at_all(void **state)
{
    int64_t lost;
    begin_case(state);
    look(before, sizeof(before));
    static const char *const wrong[] = {
        "'event':'order','number':3,'epoch':'" EPOCH "','order':'S1-3','request':null",
        "'event':'expired','place':1,'epoch':'" EPOCH "','request':null,'quantity':null"};
    for (int i = 0; i < 2; i++) {
        add_orders(1, 2, EPOCH);
        add_event(wrong[i]);
        const copy_page page = {.next_sale = "S2", .segments = 3};
        assert_int_equal(write_as(base.db, "3-" EPOCH, page, 5, &lost), WRITE_FAILED);
        assert_true(strlen(database_error(base.db)) > 0);
        assert_unchanged();
    }
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 2);
}

/* Whoever was stopped in the middle of a transaction keeps the others out for a while only. */
static void who_stops_midway_is_not_waited_for_for_ever(void **state)
{
    begin_case(state);
    database *stopped = connect_to_base();
    assert_true(
        database_run(stopped, database_driver_of(stopped)->begin, NULL, NULL, NULL, NULL) &&
        database_run(stopped, "UPDATE flashsale_leader SET fence = 1", NULL, NULL, NULL, NULL));
    int64_t lost;
    add_orders(1, 1, EPOCH);
    assert_int_equal(write_as(base.db, "1-" EPOCH, (copy_page){0}, 2, &lost), WRITE_OK);
    assert_false(database_run(stopped, "COMMIT", NULL, NULL, NULL, NULL));
    assert_int_equal(sql_number("SELECT fence FROM flashsale_leader"), 2);
    database_free(stopped);
}

/* ---- lost ------------------------------------------------------------------------------------ */

#define LOST "SELECT number, epoch, lost_us FROM flashsale_orders ORDER BY number, epoch"

static void what_redis_has_lost_is_marked_and_stays(void **state)
{
    begin_case(state);
    add_orders(1, 4, EPOCH);
    add_move(1, EPOCH, "confirmed", "r1", "null");
    add_move(2, EPOCH, "cancelled", "r2", "null");
    write_page("4-" EPOCH ".2-" EPOCH);
    assert_int_equal(write_rewound("2-" EPOCH ".1-" EPOCH, 2, 1), 2 + 1);
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|\n3|" EPOCH "|7777\n"
                                        "4|" EPOCH "|7777");
    assert_string_equal(sql_text("SELECT place, lost_us FROM flashsale_moves ORDER BY place"),
                        "1|\n2|7777");
    assert_string_equal(sql_text("SELECT position FROM flashsale_positions"),
                        "2-" EPOCH ".1-" EPOCH);

    sql_do("UPDATE flashsale_orders SET lost_us = 5 WHERE number = 4");
    assert_int_equal(write_rewound("0", 0, 0), 3 + 2); /* at that time; a mark keeps its own */
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|7777\n2|" EPOCH "|7777\n"
                                        "3|" EPOCH "|7777\n4|" EPOCH "|5");
}

/* Orders of another segment, sale or item are not concerned. */
static void others_are_not_marked(void **state)
{
    static const copied_part others[] = {
        {"P1", "S1", 1, "0"}, {"P1", "S2", 0, "0"}, {"P2", "S1", 0, "0"}, {"P1", "S1", 0, "0"}};
    begin_case(state);
    assert_int_equal(records_begin(base.db, "P1", "S1", 2, 0), WRITE_OK);
    assert_int_equal(records_begin(base.db, "P1", "S2", 1, 0), WRITE_OK);
    assert_int_equal(records_begin(base.db, "P2", "S1", 1, 0), WRITE_OK);
    for (int i = 0; i < 4; i++) {
        at = others[i];
        add_orders(1, 2, EPOCH);
        add_move(1, EPOCH, "cancelled", "r1", "null");
        write_page("2-" EPOCH ".1-" EPOCH);
    }
    assert_int_equal(write_rewound("0", 0, 0), 2 + 1);
    assert_string_equal(sql_text("SELECT item, sale, segment, count(*) FROM flashsale_orders"
                                 " WHERE lost_us IS NOT NULL GROUP BY item, sale, segment"),
                        "P1|S1|0|2");
    assert_string_equal(sql_text("SELECT item, sale, segment, count(*) FROM flashsale_moves"
                                 " WHERE lost_us IS NOT NULL GROUP BY item, sale, segment"),
                        "P1|S1|0|1");
}

static void what_comes_again_loses_its_mark(void **state)
{
    begin_case(state);
    add_orders(1, 3, EPOCH);
    add_move(1, EPOCH, "confirmed", "r1", "null");
    write_page("3-" EPOCH ".1-" EPOCH);
    write_rewound("0", 0, 0);
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|\n3|" EPOCH "|7777");
    add_orders(3, 3, EPOCH);
    add_move(1, EPOCH, "confirmed", "r1", "null");
    assert_int_equal(write_rewound("3-" EPOCH ".1-" EPOCH, 2, 0), 0); /* in the page that marks */
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|\n3|" EPOCH "|");
    assert_string_equal(sql_text("SELECT place, lost_us FROM flashsale_moves"), "1|");
}

static void a_number_given_again_stands_beside_the_lost_one(void **state)
{
    begin_case(state);
    add_orders(1, 3, EPOCH);
    add_move(1, EPOCH, "cancelled", "r1", "null");
    write_page("3-" EPOCH ".1-" EPOCH);
    add_orders(2, 3, OTHER);
    add_move(1, OTHER, "confirmed", "r1", "null");
    assert_int_equal(write_rewound("3-" OTHER ".1-" OTHER, 1, 0), 2 + 1);
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|7777\n2|" OTHER "|\n"
                                        "3|" EPOCH "|7777\n3|" OTHER "|");
    assert_string_equal(
        sql_text("SELECT place, epoch, lost_us FROM flashsale_moves ORDER BY epoch"),
        "1|" EPOCH "|7777\n1|" OTHER "|");

    add_orders(2, 2, EPOCH); /* and the first come back, for it was the other server */
    assert_int_equal(write_rewound("2-" EPOCH, 1, 0), 3 + 2); /* at that time */
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|\n2|" OTHER "|7777\n"
                                        "3|" EPOCH "|7777\n3|" OTHER "|7777");
}

static void a_number_is_there_once_among_those_that_are_kept(void **state)
{
    int64_t lost;
    begin_case(state);
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    look(before, sizeof(before));
    add_orders(2, 2, OTHER);
    assert_int_equal(write_as(base.db, "2-" OTHER, (copy_page){0}, 0, &lost), WRITE_FAILED);
    assert_unchanged();
}

/* ---- places ---------------------------------------------------------------------------------- */

static char found[512];

static void keep_place(void *arg, const copied_part *place)
{
    (void)arg;
    size_t len = strlen(found);
    snprintf(found + len, sizeof(found) - len, "%s/%s/%d:%s ", place->item, place->sale,
             place->segment, place->position);
}

static const char *places(void)
{
    found[0] = '\0';
    assert_true(records_places(base.db, keep_place, NULL));
    return found;
}

static void sales_and_segments_get_places(void **state)
{
    int64_t lost;
    begin_case(state);
    assert_string_equal(places(), "P1/S1/0:0 ");
    add_orders(1, 1, EPOCH);
    const copy_page sharded = {.segments = 3, .next_sale = "S2"};
    assert_int_equal(write_as(base.db, "1-" EPOCH, sharded, 0, &lost), WRITE_OK);
    assert_string_equal(places(), "P1/S1/0:1-" EPOCH " P1/S1/1:0 P1/S1/2:0 P1/S2/0:0 ");
    const copy_page end = {.end = true, .segments = 3, .next_sale = "S2"};
    assert_int_equal(write_as(base.db, at.position, end, 0, &lost), WRITE_OK);
    assert_string_equal(places(), "P1/S1/1:0 P1/S1/2:0 P1/S2/0:0 ");
    at.segment = 1;
    snprintf(at.position, sizeof(at.position), POSITION_START);
    assert_int_equal(records_give_up(base.db, &at, 9999, 0, &lost), WRITE_OK);
    assert_string_equal(places(), "P1/S1/2:0 P1/S2/0:0 ");
    assert_string_equal(sql_text("SELECT segment, ended FROM flashsale_positions"
                                 " WHERE sale = 'S1' ORDER BY segment"),
                        "0|1\n1|2\n2|0");
    assert_int_equal(records_begin(base.db, "P0", "S9", 2, 0), WRITE_OK);
    assert_int_equal(records_begin(base.db, "P1", "S1", 1, 0), WRITE_OK); /* goes on */
    assert_string_equal(places(), "P0/S9/0:0 P0/S9/1:0 P1/S1/0:1-" EPOCH " P1/S1/2:0 P1/S2/0:0 ");
}

/* Redis keeps a sale until then: one that is gone before was lost, but for an hour by which clocks
 * may differ. */
static void a_sale_that_is_gone_too_soon_is_marked(void **state)
{
    int64_t lost;
    begin_case(state);
    add_orders(1, 3, EPOCH); /* the last at 1003 us */
    write_page("3-" EPOCH);
    look(before, sizeof(before));
    copied_part elsewhere = at;
    snprintf(elsewhere.position, sizeof(elsewhere.position), "2-" EPOCH);
    assert_int_equal(records_give_up(base.db, &elsewhere, 5000, 0, &lost), WRITE_ELSEWHERE);
    assert_unchanged();
    assert_int_equal(records_give_up(base.db, &at, KEPT_US - HOUR_US, 0, &lost), WRITE_OK);
    assert_int_equal(lost, 0);
    assert_string_equal(places(), "");

    assert_int_equal(records_begin(base.db, "P1", "S1", 1, 0),
                     WRITE_OK); /* it is there after all */
    assert_string_equal(places(), "P1/S1/0:0 ");
    snprintf(at.position, sizeof(at.position), POSITION_START);
    assert_int_equal(records_give_up(base.db, &at, KEPT_US - HOUR_US - 1, 0, &lost), WRITE_OK);
    assert_int_equal(lost, 3);
    assert_int_equal(records_begin(base.db, "P1", "S1", 1, 0), WRITE_OK);
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    assert_string_equal(sql_text(LOST), "1|" EPOCH "|\n2|" EPOCH "|\n3|" EPOCH "|82799999999");
}

#define ENDS sql_text("SELECT sale, ended FROM flashsale_positions ORDER BY sale")

/* The latest sale that is known is gone: so Redis may sell in one before. Sales that are kept no
 * more are not asked again, nor when it was not the latest. */
static void sales_before_one_that_is_gone_are_asked_again(void **state)
{
    int64_t lost;
    begin_case(state);
    static const char *const sales[] = {"S2", "S3", "S4"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(records_begin(base.db, "P1", sales[i], 1, 0), WRITE_OK);
    sql_do("UPDATE flashsale_positions SET ended = 1 WHERE sale < 'S4'");
    sql_do("UPDATE flashsale_positions SET ended = 2 WHERE sale = 'S2'");
    snprintf(at.sale, sizeof(at.sale), "S3");
    snprintf(at.position, sizeof(at.position), POSITION_START);
    assert_int_equal(records_give_up(base.db, &at, 9999, 0, &lost), WRITE_OK);
    assert_string_equal(ENDS, "S1|1\nS2|2\nS3|2\nS4|0");
    snprintf(at.sale, sizeof(at.sale), "S4");
    assert_int_equal(records_give_up(base.db, &at, 9999, 0, &lost), WRITE_OK);
    assert_string_equal(ENDS, "S1|0\nS2|2\nS3|2\nS4|2");
}

/* So they are when orders were lost; and a lost move may come again as another. */
static void a_move_that_comes_again_is_what_it_is_now(void **state)
{
    begin_case(state);
    assert_int_equal(records_begin(base.db, "P1", "S0", 1, 0), WRITE_OK);
    sql_do("UPDATE flashsale_positions SET ended = 1 WHERE sale = 'S0'");
    add_orders(1, 1, EPOCH);
    add_move(1, EPOCH, "confirmed", "r1", "null");
    write_page("1-" EPOCH ".1-" EPOCH);
    add_move(1, EPOCH, "cancelled", "r1", "null");
    assert_int_equal(write_rewound("1-" EPOCH ".1-" EPOCH, 1, 0), 0);
    assert_string_equal(sql_text("SELECT what, lost_us FROM flashsale_moves"), "cancelled|");
    assert_string_equal(ENDS, "S0|0\nS1|0");
}

static const char *position(int orders, int moves)
{
    static char text[POSITION_MAX_LEN + 1];
    assert_true(records_position(base.db, &at, orders, moves, text));
    return text;
}

static void the_position_is_of_rows_that_are_not_lost(void **state)
{
    begin_case(state);
    assert_string_equal(position(99, 99), "0");
    add_orders(1, 3, EPOCH);
    add_move(1, EPOCH, "confirmed", "r1", "null");
    add_move(2, EPOCH, "confirmed", "r2", "null");
    write_page("3-" EPOCH ".2-" EPOCH);
    assert_string_equal(position(99, 99), "3-" EPOCH ".2-" EPOCH);
    assert_string_equal(position(2, 1), "2-" EPOCH ".1-" EPOCH);
    assert_string_equal(position(2, 0), "2-" EPOCH);
    assert_string_equal(position(0, 2), "0");
    write_rewound("2-" EPOCH ".1-" EPOCH, 2, 1);
    assert_string_equal(position(99, 99), "2-" EPOCH ".1-" EPOCH);
    add_orders(3, 3, OTHER);
    write_page("3-" OTHER ".1-" EPOCH);
    assert_string_equal(position(99, 99), "3-" OTHER ".1-" EPOCH);
    at.segment = 1;
    assert_string_equal(position(99, 99), "0");
}

/* ---- states ---------------------------------------------------------------------------------- */

#define STATES "SELECT request, state FROM flashsale_order_states ORDER BY number, lost_us IS NULL"

static void the_view_tells_what_became_of_an_order(void **state)
{
    begin_case(state);
    add_order(1, EPOCH, "null");    /* sold at once */
    add_order(2, EPOCH, "null");    /* ... and taken back by the admin */
    add_order(3, EPOCH, "5100000"); /* reserved */
    add_order(4, EPOCH, "5200000"); /* confirmed */
    add_order(5, EPOCH, "5200000"); /* cancelled */
    add_order(6, EPOCH, "5200000"); /* expired, as its bucket was returned */
    add_order(7, EPOCH, "5200000"); /* confirmed, and cancelled then */
    add_order(8, EPOCH, "5300000"); /* lost */
    add_move(1, EPOCH, "cancelled", "r2", "null");
    add_move(2, EPOCH, "confirmed", "r4", "null");
    add_move(3, EPOCH, "cancelled", "r5", "null");
    add_move(4, EPOCH, "confirmed", "r7", "null");
    add_move(5, EPOCH, "expired", NULL, "5200000");
    add_move(6, EPOCH, "cancelled", "r7", "null");
    write_page("8-" EPOCH ".6-" EPOCH);
    assert_int_equal(write_rewound("7-" EPOCH ".6-" EPOCH, 7, 6), 1);
    assert_string_equal(sql_text(STATES), "r1|sold\nr2|cancelled\nr3|reserved\nr4|sold\n"
                                          "r5|cancelled\nr6|expired\nr7|cancelled\nr8|lost");

    add_orders(8, 8, OTHER);
    assert_int_equal(write_rewound("8-" OTHER ".1-" EPOCH, 7, 1), 1 + 5); /* and moves */
    assert_string_equal(sql_text(STATES), "r1|sold\nr2|cancelled\nr3|reserved\nr4|reserved\n"
                                          "r5|reserved\nr6|reserved\nr7|reserved\nr8|lost\n"
                                          "r8|sold");
}

/* A move is about the orders of its own segment and sale. */
static void moves_of_others_change_no_state(void **state)
{
    begin_case(state);
    assert_int_equal(records_begin(base.db, "P1", "S1", 2, 0), WRITE_OK);
    assert_int_equal(records_begin(base.db, "P1", "S2", 1, 0), WRITE_OK);
    add_order(1, EPOCH, "5100000");
    add_order(2, EPOCH, "5100000");
    write_page("2-" EPOCH);
    static const copied_part others[] = {{"P1", "S1", 1, "0"}, {"P1", "S2", 0, "0"}};
    for (int i = 0; i < 2; i++) {
        at = others[i];
        add_move(1, EPOCH, "confirmed", "r1", "null");
        add_move(2, EPOCH, "expired", NULL, "5100000");
        write_page("0.2-" EPOCH);
    }
    assert_string_equal(sql_text(STATES), "r1|reserved\nr2|reserved");
}

static void tables_are_created_once(void **state)
{
    begin_case(state);
    add_orders(1, 2, EPOCH);
    write_page("2-" EPOCH);
    look(before, sizeof(before));
    assert_true(records_create(base.db));
    assert_unchanged();
}

static int stop_databases(void **state)
{
    (void)state;
    stop_postgres();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(an_order_is_kept_as_it_was_told),
        ON_EACH_DATABASE(a_page_is_written_once),
        ON_EACH_DATABASE(the_second_of_two_writes_nothing),
        ON_EACH_DATABASE(an_older_fence_writes_nothing),
        ON_EACH_DATABASE(a_transaction_that_was_cut_leaves_nothing),
        ON_EACH_DATABASE(a_page_is_written_whole_or_not_at_all),
        ON("postgresql", who_stops_midway_is_not_waited_for_for_ever),
        ON_EACH_DATABASE(what_redis_has_lost_is_marked_and_stays),
        ON_EACH_DATABASE(others_are_not_marked),
        ON_EACH_DATABASE(what_comes_again_loses_its_mark),
        ON_EACH_DATABASE(a_number_given_again_stands_beside_the_lost_one),
        ON_EACH_DATABASE(a_number_is_there_once_among_those_that_are_kept),
        ON_EACH_DATABASE(sales_and_segments_get_places),
        ON_EACH_DATABASE(a_sale_that_is_gone_too_soon_is_marked),
        ON_EACH_DATABASE(sales_before_one_that_is_gone_are_asked_again),
        ON_EACH_DATABASE(a_move_that_comes_again_is_what_it_is_now),
        ON_EACH_DATABASE(the_position_is_of_rows_that_are_not_lost),
        ON_EACH_DATABASE(the_view_tells_what_became_of_an_order),
        ON_EACH_DATABASE(moves_of_others_change_no_state),
        ON_EACH_DATABASE(tables_are_created_once),
    };
    return cmocka_run_group_tests(tests, NULL, stop_databases);
}
