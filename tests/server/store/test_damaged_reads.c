/*
 * test_damaged_reads.c - what the scripts that look, count, ask, limit and start say of keys that
 * are not what they should be, and with commands that they may not call: that something is wrong,
 * never a number, an order or a "no such order" that the books do not have. test_scripts.c does the
 * same to those that sell.
 */
#include <stdio.h>
#include <string.h>

#include "server/api/rate.h"
#include "server/store/feed.h"
#include "server/store/ledger.h"
#include "tests/server/nodes.h"
#include "tests/support/service.h"

static fs_store store; /* as the service's user */
static sale_terms terms;
static sale_keys keys;

static const char *const makers[] = {
    "RPUSH %s x", "HSET %s f 1", "SADD %s x", "ZADD %s 1 x", "XADD %s * f 1", "SET %s text", NULL,
};

static const char *const values[] = {
    "",   "abc", "90.0", "9e1", " 90", "0x5a", "12.5", "99999999999999999999",
    "-1", "+5",  "007",  "nan", "inf",
};
enum { MAKERS = COUNT(makers), VALUES = COUNT(values) };

/* Replaces the key by fault `i` and puts the key aside: other types, nothing, strings. */
static const char *plant(const char *key, size_t i)
{
    fx_redis_do(fx.redis, "COPY %s %s:saved REPLACE", key, key);
    fx_redis_do(fx.redis, "DEL %s", key);
    if (i >= MAKERS)
        fx_redis_do(fx.redis, "SET %s %s", key, values[i - MAKERS]);
    else if (makers[i])
        fx_redis_do(fx.redis, makers[i], key);
    return i >= MAKERS ? values[i - MAKERS] : makers[i] ? makers[i] : "missing";
}

static void mend(const char *key)
{
    fx_redis_do(fx.redis, "DEL %s", key);
    if (fx_redis_number(fx.redis, "EXISTS %s:saved", key) == 1)
        fx_redis_do(fx.redis, "RENAME %s:saved %s", key, key);
}

static ledger_status find(const char *request, ledger_how how)
{
    ledger_entry entry;
    return ledger_find(&store, &terms, request, how, dlock_in_ms(5000), &entry);
}

static void ignore(void *arg, int segment, const char *request, const fs_order *order)
{
    (void)arg, (void)segment, (void)request, (void)order;
}

static ledger_status read_page(void)
{
    return ledger_read(&store, &terms, 0, 0, LEDGER_PAGE - 1, dlock_in_ms(5000), ignore, NULL,
                       NULL);
}

static void ignore_event(void *arg, const char *request, const fs_order *order)
{
    (void)arg, (void)request, (void)order;
}

static feed_status read_feed(void)
{
    feed_page page;
    return feed_read(
        &(feed_question){
            .store = &store, .terms = &terms, .limit = FEED_LIMIT, .deadline = dlock_in_ms(5000)},
        &(feed_reader){.order = ignore_event}, &page);
}

/* What each of them says; `what` is wrong with the key. */
static void check_reads(const char *key, const char *what)
{
    ledger_numbers numbers;
    ledger_status count = ledger_count(&store, &terms, true, dlock_in_ms(5000), &numbers),
                  page = read_page();
    feed_status feed = read_feed();
    if (count != LEDGER_DAMAGED || page != LEDGER_DAMAGED || feed != FEED_DAMAGED)
        fail_msg("%s '%s': counted %d, listed %d, fed %d", key, what, count, page, feed);
    ledger_status bought = find("bought", LEDGER_VOID), nobody = find("nobody", LEDGER_VOID);
    if (bought != LEDGER_FOUND && bought != LEDGER_DAMAGED)
        fail_msg("%s '%s': the order is %d", key, what, bought);
    if (nobody != LEDGER_DAMAGED)
        fail_msg("%s '%s': the order of nobody is %d", key, what, nobody);
}

static void no_damage_is_counted_listed_or_declared_void(void **state)
{
    (void)state;
    struct {
        const char *key;
        const char *own; /* the maker of its own type */
    } broken[] = {{keys.current, "SET"}, {keys.stock, "SET"},    {keys.sold, "SET"},
                  {keys.orders, "HSET"}, {keys.ledger, "RPUSH"}, {keys.users, "HSET"}};
    for (size_t k = 0; k < COUNT(broken); k++) {
        for (size_t i = 0; i < MAKERS + VALUES; i++) {
            if (i < MAKERS && makers[i] &&
                strncmp(makers[i], broken[k].own, strlen(broken[k].own)) == 0)
                continue;
            const char *what = plant(broken[k].key, i);
            check_reads(broken[k].key, what);
            mend(broken[k].key);
            assert_int_equal(find("bought", LEDGER_LOOK), LEDGER_FOUND);
            assert_int_equal(find("nobody", LEDGER_LOOK), LEDGER_NOT_YET);
        }
    }
}

/* Nor is an order told or listed by a number that the ledger does not have under its request. */
static void a_number_that_the_ledger_has_not_is_damage(void **state)
{
    (void)state;
    char record[256];
    static const char *const numbers[] = {
        "0", "2", "01", "-1", "999999999999", "999999999999999999"};
    assert_true(fx_redis_text(fx.redis, record, sizeof(record), "HGET %s bought", keys.orders));
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char other[300];
        snprintf(other, sizeof(other), "%s%s", numbers[i], strchr(record, ' '));
        freeReplyObject(fx_redis_reply(fx.redis, "HSET %s bought %s", keys.orders, other));
        ledger_status looked = find("bought", LEDGER_LOOK), page = read_page();
        if (looked != LEDGER_DAMAGED || page != LEDGER_DAMAGED || read_feed() != FEED_DAMAGED ||
            ledger_read(&store, &terms, 0, -5, -1, dlock_in_ms(5000), ignore, NULL, NULL) !=
                LEDGER_DAMAGED)
            fail_msg("number %s: found %d, listed %d", numbers[i], looked, page);
        assert_int_equal(find("bought", LEDGER_VOID), LEDGER_DAMAGED);
        assert_int_equal(find("nobody", LEDGER_LOOK), LEDGER_NOT_YET);
    }
    freeReplyObject(fx_redis_reply(fx.redis, "HSET %s bought %s", keys.orders, record));
    assert_int_equal(find("bought", LEDGER_LOOK), LEDGER_FOUND);
    assert_int_equal(read_page(), LEDGER_FOUND);
    assert_int_equal(read_feed(), FEED_OK);
}

/* A note that is none was not taken: the question is the first one again. */
static void a_damaged_note_makes_nothing_final(void **state)
{
    (void)state;
    char notes[KEY_MAX + 8];
    snprintf(notes, sizeof(notes), "%s:asked", keys.base);
    for (size_t i = 0; i < MAKERS + VALUES; i++) {
        plant(notes, i);
        assert_int_equal(find("ghost", LEDGER_ASK), LEDGER_NOT_YET);
        assert_int_equal(find("ghost", LEDGER_ASK), LEDGER_NOT_YET);
        assert_true(fx_redis_number(fx.redis, "PTTL %s", notes) > 0);
        fx_redis_do(fx.redis, "DEL %s %s:saved", notes, notes);
    }
}

/* Whoever has a bucket that is none is neither shut out nor let in without limit. */
static void a_damaged_bucket_is_an_empty_one(void **state)
{
    (void)state;
    static fs_rate rate = {.store = &store, .address = 1, .burst = 2};
    const char *key = "fs:rate:address:{10.0.0.1}";
    for (size_t i = 0; i < MAKERS + VALUES; i++) {
        const char *what = plant(key, i);
        if (rate_wait_buy(&rate, NULL, "10.0.0.1", dlock_in_ms(5000)) != 0)
            fail_msg("'%s': shut out", what);
        rate_wait_buy(&rate, NULL, "10.0.0.1", dlock_in_ms(5000));
        if (rate_wait_buy(&rate, NULL, "10.0.0.1", dlock_in_ms(5000)) == 0)
            fail_msg("'%s': no limit", what);
        fx_redis_do(fx.redis, "DEL %s %s:saved", key, key);
    }
}

/* ---- commands that are forbidden ------------------------------------------------------------- */

static const char *const commands[] = {
    "evalsha",          "mget",    "get",   "set",    "hget",   "hset", "hlen",  "llen",
    "lrange",           "time",    "hmget", "expire", "zscore", "zadd", "zcard", "zrandmember",
    "zremrangebyscore", "pexpire",
};

/* Starts a sale while one command is forbidden: the old sale is whole, or the new one. */
static void start_without(fx_server *server, const char *command)
{
    char before[80];
    snprintf(before, sizeof(before), "%s", fx_current_sale("W1"));
    fx_redis_do(fx.redis, "ACL SETUSER service -%s", command);
    fx_status(server, "POST /sales {'item':'W1','stock':7,'strategy':'atomic'}");
    fx_redis_do(fx.redis, "ACL SETUSER service +%s", command);
    const char *now = fx_current_sale("W1");
    long long stock = fx_redis_number(fx.redis, "GET fs:{W1}:%s:stock", now);
    long long sold = fx_redis_number(fx.redis, "GET fs:{W1}:%s:sold", now);
    long long fields = fx_redis_number(fx.redis, "HLEN fs:{W1}:%s:cfg", now);
    bool expires = fx_redis_number(fx.redis, "TTL fs:{W1}:%s:stock", before) > 0;
    if (stock + sold != 7 || fields < 11 || expires != (strcmp(before, now) != 0))
        fail_msg("without %s: sale %s after %s has stock %lld, sold %lld, %lld terms", command, now,
                 before, stock, sold, fields);
}

static void no_right_that_is_missing_makes_half_a_sale(void **state)
{
    (void)state;
    char url[512];
    fx_redis_url_as(fx.redis, "service:secret", url, sizeof(url));
    fx_server *server = fx_server_start(url, NULL);
    fx_start_sale(server, "W1", "'stock':7,'strategy':'atomic'");
    for (size_t i = 0; i < COUNT(commands); i++)
        start_without(server, commands[i]);
    fx_start_sale(server, "W1", "'stock':7,'strategy':'atomic'");
    fx_expect(server, 201, "POST /buy?item=W1&user=u1");
    fx_server_kill(server);
}

static void no_right_that_is_missing_makes_an_answer(void **state)
{
    (void)state;
    ledger_numbers numbers;
    for (size_t i = 0; i < COUNT(commands); i++) {
        fx_redis_do(fx.redis, "ACL SETUSER service -%s", commands[i]);
        ledger_status bought = find("bought", LEDGER_ASK), nobody = find("nobody", LEDGER_ASK);
        ledger_status count = ledger_count(&store, &terms, true, dlock_in_ms(5000), &numbers),
                      page = read_page();
        feed_status feed = read_feed();
        fx_redis_do(fx.redis, "ACL SETUSER service +%s", commands[i]);
        if ((bought != LEDGER_FOUND && bought != LEDGER_UNAVAILABLE) ||
            (nobody != LEDGER_NOT_YET && nobody != LEDGER_UNAVAILABLE))
            fail_msg("without %s: %d and %d", commands[i], bought, nobody);
        if ((count != LEDGER_FOUND && count != LEDGER_UNAVAILABLE) ||
            (page != LEDGER_FOUND && page != LEDGER_UNAVAILABLE) ||
            (feed != FEED_OK && feed != FEED_UNAVAILABLE))
            fail_msg("without %s: counted %d, listed %d, fed %d", commands[i], count, page, feed);
        assert_int_equal(find("bought", LEDGER_LOOK), LEDGER_FOUND);
    }
}

static void a_note_without_an_end_is_not_written(void **state)
{
    (void)state;
    fx_redis_do(fx.redis, "DEL %s:asked", keys.base);
    fx_redis_do(fx.redis, "ACL SETUSER service -pexpire");
    ledger_status asked = find("never", LEDGER_ASK);
    fx_redis_do(fx.redis, "ACL SETUSER service +pexpire");
    assert_int_equal(asked, LEDGER_NOT_YET);
    assert_int_equal(fx_redis_number(fx.redis, "EXISTS %s:asked", keys.base), 0);
}

static int setup(void **state)
{
    char url[512], err[256];
    fx.plan = (fx_plan){.instances = 1};
    fx_service_start(state);
    fx_redis_do(fx.redis, "ACL SETUSER service on >secret ~* &* +@all");
    fx_redis_url_as(fx.redis, "service:secret", url, sizeof(url));
    assert_int_equal(store_open(&store, url, NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    const char *sale =
        fx_start_sale(fx.server[0], "R1", "'stock':9,'strategy':'atomic','per_user_limit':5");
    fx_expect(fx.server[0], 201, "POST /buy?item=R1&user=u1&request=bought");
    assert_int_equal(terms_read(&store, "R1", sale, dlock_in_ms(5000), &terms, err, sizeof(err)),
                     SALE_OK);
    terms_keys(&terms, 0, &keys);
    fx_server_kill(fx.server[0]); /* or it would look at the sale, too */
    fx.server[0] = NULL;
    return 0;
}

static int teardown(void **state)
{
    store_close(&store);
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_damage_is_counted_listed_or_declared_void),
        cmocka_unit_test(a_number_that_the_ledger_has_not_is_damage),
        cmocka_unit_test(a_damaged_note_makes_nothing_final),
        cmocka_unit_test(a_damaged_bucket_is_an_empty_one),
        cmocka_unit_test(no_right_that_is_missing_makes_an_answer),
        cmocka_unit_test(no_right_that_is_missing_makes_half_a_sale),
        cmocka_unit_test(a_note_without_an_end_is_not_written),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
