/*
 * test_known_ledger.c - the text that a ledger's epochs are, and what is missed of a ledger by
 * somebody who has seen more.
 */
#include <string.h>

#include "server/store/known_ledger.h"
#include "tests/support/service.h"

#define A "aaaaaaaaaaaa"
#define B "bbbbbbbbbbbb"
#define C "cccccccccccc"

/* ---- the text -------------------------------------------------------------------------------- */

static void a_text_of_another_form_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t orders;
        bool ok;
    } cases[] = {
        {A " 1 run", 0, true},
        {A " 1 run", 9, true},
        {B " 10 " A " 1 run", 9, true},
        {B " 10 " A " 1 12345678.12345678", 9, true},
        {B " 11 " A " 1 run", 9, false}, /* it begins behind the ledger's end */
        {A " 1 " B " 10 run", 9, false}, /* the oldest first */
        {A " 0 run", 9, false},
        {A " 1", 9, false},
        {A " 1 ", 9, false},
        {A " 1 run more", 9, false},
        {A " x run", 9, false},
        {A "  1 run", 9, false},
        {A " +1 run", 9, false},
        {A " 01 run", 9, false},
        {"a 1 b", 9, false},
        {"aaaa 1 run", 9, false},
        {"1 run", 9, false},
        {"run", 9, false},
        {"", 9, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (epochs_ok(cases[i].text, cases[i].orders) != cases[i].ok)
            fail_msg("'%s' with %d orders", cases[i].text, (int)cases[i].orders);
}

static void an_epoch_ends_before_the_next_one(void **state)
{
    (void)state;
    static const char text[] = C " 20 " B " 10 " A " 1 run";
    assert_int_equal(epochs_last(text, 25, C), 25);
    assert_int_equal(epochs_last(text, 25, B), 19);
    assert_int_equal(epochs_last(text, 25, A), 9);
    assert_int_equal(epochs_last(text, 25, "dddddddddddd"), -1);
    assert_true(epochs_are_of(text, "run"));
    assert_false(epochs_are_of(text, "ru"));
    assert_false(epochs_are_of(text, ""));
}

static void names_are_random(void **state)
{
    (void)state;
    char names[100][EPOCH_LEN + 1];
    for (int i = 0; i < 100; i++) {
        assert_true(epoch_make(names[i]));
        assert_int_equal(strspn(names[i], "0123456789abcdef"), EPOCH_LEN);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
}

/* ---- what is missed -------------------------------------------------------------------------- */

static known_ledger known;

/* The lost orders as Redis has them: names and values. */
static redisReply *noted(const char *name, const char *value)
{
    static redisReply texts[2], *elements[2] = {&texts[0], &texts[1]}, all;
    texts[0] = (redisReply){.type = REDIS_REPLY_STRING, .str = (char *)name};
    texts[1] = (redisReply){.type = REDIS_REPLY_STRING, .str = (char *)value};
    all = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = name ? 2 : 0, .element = elements};
    return &all;
}

static void adopt(const char *epochs, int64_t orders, bool all_seen)
{
    const seen_ledger seen = {.epochs = epochs, .orders = orders};
    known_ledger_mark(&known, "run");
    assert_true(known_ledger_adopt(&known, &seen, 0, all_seen));
}

static int64_t missed(const char *epochs, int64_t orders, const redisReply *lost, bool halted)
{
    const seen_ledger seen = {epochs, orders, lost, halted};
    known_ledger_mark(&known, "run");
    return known_ledger_lost(&known, &seen, NULL);
}

static void what_another_epoch_has_in_its_place_is_missed(void **state)
{
    (void)state;
    adopt(A " 1 run", 900, true);
    known_ledger_saw(&known, A, 1500);
    assert_int_equal(missed(A " 1 run", 1500, NULL, false), 0);
    assert_int_equal(missed(A " 1 run", 1400, NULL, false), 100);
    assert_int_equal(missed(B " 901 " A " 1 run", 5000, NULL, false), 600);
    assert_int_equal(missed(B " 1 run", 5000, NULL, false), 1500);
    assert_int_equal(missed("", 0, NULL, false), 1500);
}

/* Of two branches each loses its own. */
static void each_epoch_is_missed_by_itself(void **state)
{
    (void)state;
    adopt(A " 1 run", 900, true);
    known_ledger_saw(&known, A, 950); /* the answer of the server before, late */
    adopt(B " 901 " A " 1 run", 1000, true);
    assert_int_equal(missed(B " 901 " A " 1 run", 1000, NULL, false), 50);
    assert_int_equal(missed(C " 801 " A " 1 run", 2000, NULL, false), 150 + 100);
}

static void what_was_accepted_is_missed_no_more(void **state)
{
    (void)state;
    static const char now[] = C " 901 " A " 1 run";
    adopt(A " 1 run", 1000, true);
    assert_int_equal(missed(now, 900, noted(A, "900 1000"), false), 100); /* noted, not accepted */
    assert_int_equal(missed(now, 900, noted(A, "900 1000"), true), 0);
    assert_int_equal(missed(now, 900, noted(A, "900 990"), true), 10);
    assert_int_equal(missed(now, 900, noted(A, "1000 1000"), false), 0);
    assert_int_equal(missed(now, 900, noted(A, "990 990"), false), 10);
    const seen_ledger accepted = {now, 900, noted(A, "1000 1000"), false};
    assert_true(known_ledger_adopt(&known, &accepted, 0, true));
    assert_int_equal(missed(now, 900, NULL, false), 0); /* Redis may forget that, too */
}

/* What was left then can be lost later; what was accepted is not counted again. */
static void what_was_left_at_a_resumption_is_missed_later(void **state)
{
    (void)state;
    static const char resumed[] = B " 51 " A " 1 run";
    adopt(A " 1 run", 100, true);
    const seen_ledger accepted = {resumed, 50, noted(A, "100 100"), false};
    known_ledger_mark(&known, "run");
    assert_true(known_ledger_adopt(&known, &accepted, 0, true));
    known_ledger_saw(&known, B, 60);
    assert_int_equal(missed(A " 1 run", 30, NULL, false), 20 + 10);
    assert_int_equal(missed("", 0, NULL, false), 50 + 10);
    assert_int_equal(known_ledger_orders(&known), 60);
    adopt(A " 1 run", 100, true); /* a server that has them all comes back */
    assert_int_equal(missed(A " 1 run", 40, NULL, false), 60 + 10);
}

/* So it is of one that joins afterwards. */
static void who_joins_later_misses_what_was_left(void **state)
{
    (void)state;
    static const char resumed[] = B " 51 " A " 1 run";
    const seen_ledger joined = {resumed, 50, noted(A, "100 100"), false};
    known_ledger_mark(&known, "run");
    assert_true(known_ledger_adopt(&known, &joined, 0, true));
    assert_int_equal(missed(A " 1 run", 30, noted(A, "100 100"), false), 20);
}

/* An order of a later epoch was confirmed: so were all before it. */
static void an_order_vouches_for_those_before(void **state)
{
    (void)state;
    adopt(B " 301 " A " 1 run", 350, false);
    assert_int_equal(missed("", 0, NULL, false), 0);
    known_ledger_saw(&known, B, 340);
    assert_int_equal(missed("", 0, NULL, false), 340);
}

static void epochs_do_not_change(void **state)
{
    (void)state;
    static const char text[] = B " 901 " A " 1 run";
    adopt(text, 1000, true);
    assert_false(known_ledger_contradicts(&known, text));
    assert_false(known_ledger_contradicts(&known, A " 1 before"));
    assert_false(known_ledger_contradicts(&known, C " 950 " B " 901 " A " 1 run"));
    assert_true(known_ledger_contradicts(&known, B " 901 " A " 1 runs"));
    assert_true(known_ledger_contradicts(&known, B " 891 " A " 1 run"));
    assert_true(known_ledger_contradicts(&known, C " 950 " B " 891 " A " 1 run"));
}

/* Of a replicated sale nobody was told of the others. */
static void only_what_was_told_is_missed_of_a_replicated_ledger(void **state)
{
    (void)state;
    adopt(A " 1 run", 1000, false);
    assert_int_equal(missed(A " 1 run", 900, NULL, false), 0);
    known_ledger_saw(&known, A, 950);
    assert_int_equal(missed(A " 1 run", 900, NULL, false), 50);
}

static void nothing_is_written_under_the_epoch_of_another_run(void **state)
{
    (void)state;
    int64_t number;
    assert_string_equal(known_ledger_epochs(&known, &number), EPOCHS_NONE);
    adopt(B " 901 " A " 1 run", 1000, true);
    assert_string_equal(known_ledger_epochs(&known, &number), B " 901 " A " 1 run");
    assert_int_equal(number, 1000);
    known_ledger_mark(&known, "run");
    assert_string_equal(known_ledger_epochs(&known, &number), B " 901 " A " 1 run");
    known_ledger_mark(&known, "next");
    assert_string_equal(known_ledger_epochs(&known, &number), EPOCHS_NONE);
    assert_int_equal(known_ledger_orders(&known), 1000);
}

/* What halt.lua is told: the epoch, the last order left, the last seen. */
static void the_halt_is_told_of_each_epoch(void **state)
{
    (void)state;
    dlock_args args;
    adopt(A " 1 run", 1000, true);
    const seen_ledger seen = {B " 901 " A " 1 run", 950, NULL, false};
    dlock_args_init(&args);
    known_ledger_mark(&known, "run");
    assert_int_equal(known_ledger_lost(&known, &seen, &args), 100);
    assert_int_equal(args.count, 3);
    static const char wire[] = "$12\r\n" A "\r\n$3\r\n900\r\n$4\r\n1000\r\n";
    assert_int_equal(args.len, strlen(wire));
    assert_memory_equal(args.buf, wire, args.len);
    dlock_args_free(&args);
}

/* ---- beginning one --------------------------------------------------------------------------- */

static fs_store store;

static void begun(const char *seen, const char *ret_text)
{
    sale_keys keys;
    keys_name(&keys, "E1", SEGMENT_NONE, "00000000000001");
    redisReply *reply =
        epochs_begin(&store, &keys, "00000000000001", seen, "next", dlock_in_ms(10000));
    if (!ret_text)
        assert_null(reply);
    else if (!reply || strcmp(reply->str + EPOCH_LEN, ret_text) != 0)
        fail_msg("'%s' became '%s'", seen, reply ? reply->str : "");
    freeReplyObject(reply);
}

static void another_run_begins_one(void **state)
{
    (void)state;
    char err[256];
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "i", err, sizeof(err)), 0);
    static const char base[] = "fs:{E1}:00000000000001";
    fx_redis_do(fx.redis, "SET fs:{E1}:sale 00000000000001");
    freeReplyObject(fx_redis_reply(fx.redis, "SET %s:epochs %s", base, A " 1 run"));
    begun(A " 1 run", " 1 next"); /* the one before had no order */
    freeReplyObject(fx_redis_reply(fx.redis, "SET %s:epochs %s", base, A " 1 run"));
    fx_redis_do(fx.redis, "RPUSH %s:ledger a b c", base);
    begun(B " 1 run", " 1 run"); /* others were seen: nothing is done */
    begun(A " 1 run", " 4 " A " 1 next");
    freeReplyObject(fx_redis_reply(fx.redis, "SET %s:epochs %s", base, B " 9 " A " 1 run"));
    begun(B " 9 " A " 1 run", NULL); /* the ledger is shorter */
    fx_redis_do(fx.redis, "SET fs:{E1}:sale 00000000000002");
    begun(B " 9 " A " 1 run", NULL);
    store_close(&store);
}

static int forget(void **state)
{
    (void)state;
    known_ledger_free(&known);
    return 0;
}

#define CASE(test) cmocka_unit_test_teardown(test, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_of_another_form_is_none),
        cmocka_unit_test(an_epoch_ends_before_the_next_one),
        cmocka_unit_test(names_are_random),
        CASE(what_another_epoch_has_in_its_place_is_missed),
        CASE(each_epoch_is_missed_by_itself),
        CASE(what_was_accepted_is_missed_no_more),
        CASE(what_was_left_at_a_resumption_is_missed_later),
        CASE(who_joins_later_misses_what_was_left),
        CASE(an_order_vouches_for_those_before),
        CASE(epochs_do_not_change),
        CASE(only_what_was_told_is_missed_of_a_replicated_ledger),
        CASE(nothing_is_written_under_the_epoch_of_another_run),
        CASE(the_halt_is_told_of_each_epoch),
        cmocka_unit_test(another_run_begins_one),
    };
    return fx_run(tests, .instances = 0, .one_server = true);
}
