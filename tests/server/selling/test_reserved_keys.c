/*
 * test_reserved_keys.c - what the reserving script does with keys that are not what they should be.
 *
 * While a key, a field or a bucket is not what it should be, somebody buys, reserves, confirms,
 * cancels and revokes: what needs it is answered "damaged", and the sale stays as it is. Then it is
 * mended, and all of them go on.
 */
#include "tests/server/selling/odd_keys.h"
#include "tests/server/selling/reserving_shop.h"

/* ---- damage ---------------------------------------------------------------------------------- */

enum { NEW = 1, HOLDER = 2, OWNER = 4, EVERYBODY = 7 }; /* meets the damage */

static void expect_damaged(const char *what, purchase_outcome outcome)
{
    if (outcome != BUY_DAMAGED)
        fail_msg("%s, %s: %s", context, what, outcome_table[outcome].name);
}

/* Those that the damage concerns are refused, and nothing is written. */
static void meet(unsigned whom)
{
    picture before;
    take_picture(&before);
    if (whom & NEW) {
        expect_damaged("buy", buy(0));
        expect_damaged("reserve", buy(RESERVE_S));
    }
    if (whom & HOLDER) { /* of a reservation */
        expect_damaged("confirm", ask_for(PURCHASE_CONFIRM, shop.reserved, 0));
        expect_damaged("cancel", ask_for(PURCHASE_CANCEL, shop.reserved, 0));
    }
    if (whom & OWNER)
        expect_damaged("revoke", ask_for(PURCHASE_REVOKE, shop.sold, 0));
    expect_as_before(&before);
}

static void try_types(const char *key, const char *name, const char *type, unsigned whom)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (strcmp(types[i].type, type) == 0 || (!types[i].make && strcmp(name, "moves") == 0))
            continue; /* the list of moves begins with the first one */
        snprintf(context, sizeof(context), "%s, %s is %s", shop.strategy->name, name,
                 types[i].type);
        put_aside(key);
        if (types[i].make)
            freeReplyObject(fx_redis_reply(fx.redis, types[i].make, key));
        meet(whom);
        put_back(key);
        expect_mended();
    }
}

/* A field has another value, or (if somebody meets that) is missing. */
static void try_field(const char *key, const char *field, unsigned whom, unsigned whom_without)
{
    enum { VALUES = COUNT(values) };
    for (size_t i = 0; i < VALUES + (whom_without != 0); i++) {
        char right[64];
        assert_true(fx_redis_text(fx.redis, right, sizeof(right), "HGET %s %s", key, field));
        snprintf(context, sizeof(context), "%s, %s is '%s' instead of '%s'", shop.strategy->name,
                 field, i < VALUES ? values[i] : "missing", right);
        if (i < VALUES)
            fx_redis_do(fx.redis, "HSET %s %s %s", key, field, values[i]);
        else
            fx_redis_do(fx.redis, "HDEL %s %s", key, field);
        meet(i < VALUES ? whom : whom_without);
        fx_redis_do(fx.redis, "HSET %s %s %s", key, field, right);
        expect_mended();
    }
}

/* The last place of a move is read by those who compare alone; that it is there, by all. */
static void lose_the_last_place(void)
{
    char right[64];
    snprintf(context, sizeof(context), "%s, settled is missing", shop.strategy->name);
    assert_true(
        fx_redis_text(fx.redis, right, sizeof(right), "HGET %s settled", shop.keys->reserved));
    fx_redis_do(fx.redis, "HDEL %s settled", shop.keys->reserved);
    meet(EVERYBODY);
    fx_redis_do(fx.redis, "HSET %s settled %s", shop.keys->reserved, right);
    expect_mended();
}

static void break_keys(void)
{
    try_types(shop.keys->reserved, "reserved", "hash", EVERYBODY);
    try_types(shop.keys->buckets, "buckets", "zset", EVERYBODY);
    try_types(shop.keys->moves, "moves", "list", HOLDER | OWNER); /* whom it concerns */
    try_types(shop.keys->users, "users", "hash", EVERYBODY);
}

static void no_key_of_a_reservation_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(break_keys);
}

static void break_fields(void)
{
    char user[32];
    snprintf(user, sizeof(user), "u%d", shop.reserved);
    try_field(shop.keys->reserved, "units", EVERYBODY, EVERYBODY);
    try_field(shop.keys->reserved, "now", EVERYBODY, EVERYBODY);
    lose_the_last_place();
    try_field(shop.keys->reserved, shop.bucket, HOLDER, HOLDER);
    try_field(shop.keys->users, user, HOLDER, HOLDER);
}

static void no_number_of_a_reservation_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(break_fields);
}

/* A user's word that is none, or that says other reservations than there are. */
static void break_words(void)
{
    static const char *const words[] = {
        "0 x",     "0 %s",    "0 %s:",   "0 %s:0",   "0 %s:01", "0  %s:1",
        "0 %s:1 ", "00 %s:1", "-1 %s:1", "1.0 %s:1", "0 0%s:1", "0 -%s:1",
        "0 %s:1,", " %s:1",   "0 %s:-1", "0 %s:1.0", "0",       "0 99999999999:1"};
    for (size_t i = 0; i < COUNT(words); i++) {
        char word[128];
        snprintf(word, sizeof(word), words[i], shop.bucket);
        snprintf(context, sizeof(context), "%s, a user's word is '%s' instead of '%s'",
                 shop.strategy->name, word, shop.word);
        fx_redis_do(fx.redis, "HSET %s u%d %s", shop.keys->users, shop.reserved, word);
        meet(HOLDER);
        fx_redis_do(fx.redis, "HSET %s u%d %s", shop.keys->users, shop.reserved, shop.word);
        expect_mended();
    }
}

static void no_word_of_a_user_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(break_words);
}

/* ---- buckets --------------------------------------------------------------------------------- */

static void break_buckets(void)
{
    snprintf(context, sizeof(context), "%s, a bucket is missing", shop.strategy->name);
    fx_redis_do(fx.redis, "ZREM %s %s", shop.keys->buckets, shop.bucket);
    meet(EVERYBODY);
    fx_redis_do(fx.redis, "ZADD %s %s %s", shop.keys->buckets, shop.bucket, shop.bucket);
    expect_mended();
    snprintf(context, sizeof(context), "%s, a bucket has another score", shop.strategy->name);
    fx_redis_do(fx.redis, "ZADD %s 1 %s", shop.keys->buckets, shop.bucket);
    meet(EVERYBODY);
    fx_redis_do(fx.redis, "ZADD %s %s %s", shop.keys->buckets, shop.bucket, shop.bucket);
    expect_mended();
    static const char *const strangers[] = {"x", "17", "-1", "1e3"};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        snprintf(context, sizeof(context), "%s, there is a bucket '%s'", shop.strategy->name,
                 strangers[i]);
        fx_redis_do(fx.redis, "ZADD %s 17 %s", shop.keys->buckets, strangers[i]);
        meet(EVERYBODY);
        fx_redis_do(fx.redis, "ZREM %s %s", shop.keys->buckets, strangers[i]);
        expect_mended();
    }
}

static void no_bucket_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(break_buckets);
}

/* A bucket that is over has no number of units, or more than all that are reserved. */
static void break_what_is_over(void)
{
    static const char *const units[] = {"x", "", "-1", "01", "1.0", "1e0", "0", "99", NULL};
    pass(shop.bucket_is);
    for (size_t i = 0; i < COUNT(units); i++) {
        snprintf(context, sizeof(context), "%s, a bucket that is over has '%s' units",
                 shop.strategy->name, units[i] ? units[i] : "no");
        if (units[i])
            fx_redis_do(fx.redis, "HSET %s %s %s", shop.keys->reserved, shop.bucket, units[i]);
        else
            fx_redis_do(fx.redis, "HDEL %s %s", shop.keys->reserved, shop.bucket);
        meet(EVERYBODY);
        fx_redis_do(fx.redis, "HSET %s %s 1", shop.keys->reserved, shop.bucket);
    }
    expect_mended();
    assert_int_equal(ask_for(PURCHASE_CONFIRM, shop.reserved, 0), BUY_EXPIRED);
    check_books();
}

static void no_bucket_that_is_over_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(break_what_is_over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_of_a_reservation_misleads_a_strategy),
        cmocka_unit_test(no_number_of_a_reservation_misleads_a_strategy),
        cmocka_unit_test(no_word_of_a_user_misleads_a_strategy),
        cmocka_unit_test(no_bucket_misleads_a_strategy),
        cmocka_unit_test(no_bucket_that_is_over_misleads_a_strategy),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
