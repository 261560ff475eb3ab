/*
 * test_history.c - a history's lines in memory: what each value means, what is filled in where it
 * is left out, and the limits of each kind of number. (What can not be read is in test_judge.c.)
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

#include "loadtest/history/history.h"

static char err[512];

/* Reads the lines behind the first; to be released. */
static bool read_lines(lt_history *ret, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof(text), HISTORY_FIRST_LINE "\n%s", lines);
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    err[0] = '\0';
    bool good = history_parse(ret, "it", file, err, sizeof(err));
    fclose(file);
    return good;
}

static void must_read(lt_history *ret, const char *lines)
{
    if (!read_lines(ret, lines))
        fail_msg("%s: %s", lines, err);
}

#define SALE(strategy, more)                                                                       \
    "sale id=1 item=P strategy=" strategy " durability=memory stock=9 limit=0 lease_us=0" more "\n"
#define FOUR SALE("sharded", " segments=4")
#define ONE  SALE("combined", " segments=0")

/* As server/strategies/README.md has them. */
static void a_strategys_flags_are_filled_in(void **state)
{
    (void)state;
    static const struct {
        const char *sale;
        int64_t guarded, fences;
    } cases[] = {
        {SALE("none", " segments=0"), 0, 0},
        {SALE("fenced", " segments=0"), 1, 1},
        {SALE("combined", " segments=0"), 1, 1},
        {SALE("combined:x", " segments=0"), 1, 1},
        {SALE("sharded", " segments=4"), 1, 1},
        {SALE("atomic", " segments=0"), 1, 0},
        {SALE("batched", " segments=0"), 1, 0},
        {SALE("fair", " segments=0"), 0, UNKNOWN},
        {SALE("combine", " segments=0"), 0, UNKNOWN},
        {SALE("combinedx", " segments=0"), 0, UNKNOWN},
        {SALE("combined", " segments=0 guarded=0 fences=0"), 0, 0},
        {SALE("none", " segments=0 guarded=1"), 1, 0},
        {SALE("none", " segments=0 fences=1"), 0, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lt_history h;
        must_read(&h, cases[i].sale);
        if (h.sale.guarded != cases[i].guarded || h.sale.fences != cases[i].fences)
            fail_msg("%s: guarded %d, fences %d", cases[i].sale, (int)h.sale.guarded,
                     (int)h.sale.fences);
        history_release(&h);
    }
}

static void escapes_are_undone(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"a", "a"},
        {"%41", "A"},
        {"%61%7A", "az"},
        {"%20x%0A", " x\n"},
        {"%FF", "\xFF"},
        {"%01", "\x01"},
        {"%10", "\x10"},
        {"%9F", "\x9F"},
        {"%A0", "\xA0"},
        {"%25", "%"},
        {"x%2D", "x-"},
        {"%3F", "?"},
        {"\xC3\xA4", "\xC3\xA4"},
        {"!~", "!~"},
    };
    static const char *const none[] = {"%",   "%4",  "%4g",  "%g4",  "%4a",
                                       "%a4", "%00", "\x7f", "\x1f", "%%41"};
    char line[256];
    lt_history h;
    for (size_t i = 0; i < COUNT(texts); i++) {
        snprintf(line, sizeof(line), ONE "doubt why=%s\nend\n", texts[i][0]);
        must_read(&h, line);
        assert_int_equal(h.doubts_len, 1);
        assert_string_equal(history_text(&h, h.doubts[0].why), texts[i][1]);
        history_release(&h);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        snprintf(line, sizeof(line), ONE "doubt why=%s\nend\n", none[i]);
        if (read_lines(&h, line))
            fail_msg("%s was read", none[i]);
        history_release(&h);
    }
}

/* The largest that is read, and one that is not. */
static void each_kind_of_number_has_its_limits(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool good;
    } cases[] = {
        {"left locks=0", true},
        {"left locks=9000000000000000", true},
        {"left locks=9000000000000001", false},
        {"rest remaining=-1", true},
        {"rest remaining=-", true},
        {"rest remaining=-9000000000000001", false},
        {"rest remaining=+1", false},
        {"rest remaining= 1", false},
        {"stranger from=0 to=0 kept=0", true},
        {"stranger from=0 to=0 kept=1", true},
        {"stranger from=0 to=0 kept=2", false},
        {"stranger from=1 to=0 kept=1", false},
        {"fault at=4000000000000000000 name=x", true},
        {"fault at=4000000000000000001 name=x", false},
        {"audit n=0 from=1 to=1 status=200", true},
        {"audit n=1000000000 from=1 to=1 status=200", true},
        {"audit n=1000000001 from=1 to=1 status=200", false},
        {"audit n=1 from=1 to=1 status=0", true},
        {"audit n=1 from=1 to=1 status=100", true},
        {"audit n=1 from=1 to=1 status=999", true},
        {"ask from=1 to=1 request=r user=u target=a status=99", false},
        {"ask from=1 to=1 request=r user=u target=a status=100", true},
        {"ask from=1 to=1 request=r user=u target=a status=999", true},
        {"ask from=1 to=1 request=r user=u target=a status=1000", false},
        {"ask from=1 to=1 request=r user=u target=a status=0", true},
        {"order number=1 request=r user=u quantity=1", true},
        {"order number=0 request=r user=u quantity=1", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lt_history h;
        char lines[512];
        snprintf(lines, sizeof(lines), ONE "%s\nend\n", cases[i].line);
        bool good = read_lines(&h, lines);
        if (good != cases[i].good)
            fail_msg("%s: %s", cases[i].line, good ? "read" : err);
        history_release(&h);
    }
}

static void what_is_left_out_is_filled_in(void **state)
{
    (void)state;
    lt_history h;
    must_read(&h, ONE "# a comment\n\n"
                      "ask from=1 to=- request=r user=u target=a status=201\n"
                      "stock at=7 remaining=1\n"
                      "stock segment=0 from=7 to=8 remaining=1\n"
                      "order order=x request=r user=u quantity=1\n"
                      "rest remaining=3\nlanded count=2\nlanded count=5\nend\n");
    assert_int_equal(history_segments(&h), 1);
    assert_true(h.asks_len == 1 && h.stocks_len == 2 && h.orders_len == 1 && h.rests_len == 1);
    assert_true(h.asks[0].to_us == NEVER && h.asks[0].quantity == 1 && h.asks[0].line == 5);
    assert_true(h.asks[0].told.time_us == UNKNOWN && h.asks[0].told.quantity == UNKNOWN);
    assert_true(h.stocks[0].from_us == 7 && h.stocks[0].to_us == 7 && h.stocks[0].status == 200);
    assert_true(h.stocks[0].segment == 0 && h.stocks[1].to_us == 8);
    assert_true(h.orders[0].segment == 0 && h.orders[0].number == UNKNOWN);
    assert_true(h.rests[0].segment == 0 && h.rests[0].remaining == 3);
    assert_int_equal(h.landed, 7);
    assert_string_equal(h.cut, "");
    assert_string_equal(history_text(&h, h.asks[0].told.order), "-");
    history_release(&h);
    must_read(&h, ONE);
    assert_true(h.landed == UNKNOWN);
    assert_string_equal(h.cut, "the history has no end, so it is cut off");
    history_release(&h);
    must_read(&h, ONE "end truncated=full%20disk\n");
    assert_string_equal(h.cut, "the recorder lost a part of the history: full disk");
    history_release(&h);
}

/* A rest for each segment, or one for the whole. */
static void segments_are_the_sales(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *says; /* NULL: it is read */
    } cases[] = {
        {FOUR "rest remaining=3\n", NULL},
        {FOUR "rest segment=0 remaining=3\nrest segment=3 remaining=3\n", NULL},
        {FOUR "rest segment=4 remaining=3\n", "it:3: no segment of the sale"},
        {FOUR "rest segment=1 remaining=3\nrest segment=1 remaining=3\n", "it:4: a second rest"},
        {FOUR "rest segment=1 remaining=3\nrest remaining=3\n", "it:4: a second rest"},
        {FOUR "rest remaining=3\nrest segment=1 remaining=3\n", "it:4: a second rest"},
        {FOUR "stock at=1 segment=3 remaining=1\n", NULL},
        {FOUR "stock at=1 segment=4 remaining=1\n", "it:3: no segment of the sale"},
        {FOUR "stock at=1 remaining=1\n", NULL},
        {FOUR "order number=1 segment=3 request=r user=u quantity=1\n", NULL},
        {FOUR "order number=1 segment=4 request=r user=u quantity=1\n",
         "it:3: no segment of the sale"},
        {FOUR "order number=1 request=r user=u quantity=1\n", "it:3: no segment of the sale"},
        {FOUR "order order=x request=r user=u quantity=1\n", NULL},
        {SALE("sharded", " segments=1024") "rest segment=1023 remaining=1\nrest segment=0 "
                                           "remaining=1\n",
         NULL},
        {SALE("sharded", " segments=1024") "rest segment=1024 remaining=1\n",
         "it:3: no segment of the sale"},
        {SALE("sharded", " segments=1025"), "it: too many segments"},
        {FOUR "audit n=1 from=1 to=1 status=200\naudit n=2 from=1 to=1 status=200\n", NULL},
        {FOUR "audit n=2 from=1 to=1 status=200\naudit n=1 from=1 to=1 status=200\naudit n=2 "
              "from=1 to=1 status=200\n",
         "it:5: a second audit of this number"},
        {ONE "end\n# behind it", "it:4: a line behind the end"},
        {ONE "end\n\n", "it:4: a line behind the end"},
        {ONE "left locks=1", NULL}, /* a line without an end is not read */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lt_history h;
        bool good = read_lines(&h, cases[i].lines);
        if (good != !cases[i].says || strcmp(err, good ? "" : cases[i].says) != 0)
            fail_msg("%s: %s", cases[i].lines, good ? "read" : err);
        history_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategys_flags_are_filled_in),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(each_kind_of_number_has_its_limits),
        cmocka_unit_test(what_is_left_out_is_filled_in),
        cmocka_unit_test(segments_are_the_sales),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
