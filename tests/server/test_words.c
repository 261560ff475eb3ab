/* test_words.c - reading what clients and Redis write: identifiers, queries, JSON, records. */
#include "tests/support/fixture.h"

#include <string.h>

#include "server/api/query.h"
#include "server/base/json.h"
#include "server/base/text.h"
#include "server/sale/sale_request.h"
#include "server/selling/strategy.h"
#include "server/store/outcome.h"

static void identifiers_are_1_to_64_safe_characters(void **state)
{
    (void)state;
    char long_one[IDENT_MAX + 2];
    memset(long_one, 'a', sizeof(long_one));
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"P0001", true}, {"a-b_c", true},     {"", false},    {"a b", false},
        {"a{b}", false}, {"\xc3\xa4", false}, {"a\n", false}, {"#", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(ident_ok(cases[i].text, strlen(cases[i].text)), cases[i].good);
    assert_true(ident_ok(long_one, IDENT_MAX));
    assert_false(ident_ok(long_one, IDENT_MAX + 1));
}

static void queries_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *query, *value;
        query_status status;
    } cases[] = {
        {"item=P1&user=u", "P1", QUERY_OK}, {"user=u&item=P%31", "P1", QUERY_OK},
        {"user=u", "", QUERY_ABSENT},       {"xitem=P1", "", QUERY_ABSENT},
        {"item=", "", QUERY_BAD},           {"item=P1&item=P2", "", QUERY_BAD},
        {"item=P%3", "", QUERY_BAD},        {"item=P%00", "", QUERY_BAD},
        {"item=P%zz", "", QUERY_BAD},       {"item=a+b", "", QUERY_BAD},
        {"item", "", QUERY_ABSENT},         {"", "", QUERY_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char value[IDENT_MAX + 1] = "";
        query_status status = query_ident(cases[i].query, "item", value);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].query, status);
        if (status == QUERY_OK)
            assert_string_equal(value, cases[i].value);
    }
}

static void numbers_in_queries_are_whole_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        query_status status;
    } cases[] = {
        {"n=1", QUERY_OK},     {"n=10", QUERY_OK},
        {"n=0", QUERY_BAD},    {"n=11", QUERY_BAD},
        {"n=-1", QUERY_BAD},   {"n=+1", QUERY_BAD},
        {"n=1.0", QUERY_BAD},  {"n=1x", QUERY_BAD},
        {"n=%201", QUERY_BAD}, {"n=9999999999999999999999", QUERY_BAD},
        {"m=1", QUERY_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t number;
        if (query_int(cases[i].query, "n", 1, 10, &number) != cases[i].status)
            fail_msg("%s", cases[i].query);
    }
}

static void json_is_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool good;
    } cases[] = {
        {"{\"item\":\"P1\",\"stock\":5}", true},
        {" {\"stock\":5,\"item\":\"P1\"}\n", true},
        {"{\"item\":\"P1\",\"stock\":5}x", false},
        {"{\"item\":\"P1\",\"stock\":05}", false},
        {"{\"item\":\"P1\",\"stock\":1.9}", false},
        {"{\"item\":\"P1\",\"stock\":1e300}", false},
        {"{\"item\":\"P1\",\"stock\":-1}", false},
        {"{\"item\":\"P1\",\"stock\":\"5\"}", false},
        {"{\"item\":\"P1\",\"stock\":5,\"stock\":6}", false},
        {"{\"item\":\"P1\",\"Stock\":5}", false},
        {"{\"item\":\"P1\",\"stock\":5,\"what\":1}", false},
        {"{\"item\":\"P\\u00001\",\"stock\":5}", false},
        {"{\"item\":[],\"stock\":5}", false},
        {"[\"item\"]", false},
        {"", false},
        {"{", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char item[IDENT_MAX + 1] = "", err[256] = "";
        int64_t stock = -1;
        json_field fields[] = {{.name = "item", .text = item, .text_len = sizeof(item)},
                               {.name = "stock", .number = &stock, .least = 0, .most = 100},
                               {.name = NULL}};
        bool good = json_read(cases[i].body, strlen(cases[i].body), fields, err, sizeof(err));
        if (good != cases[i].good)
            fail_msg("%s: %s", cases[i].body, err);
        assert_int_equal(err[0] == '\0', good);
    }
}

static void a_draft_takes_what_is_not_said_from_the_strategy(void **state)
{
    (void)state;
    char err[512];
    sale_terms terms;
    const char *body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"pubsub\",\"wait_ms\":7}";
    assert_true(draft_read(body, strlen(body), &terms, err, sizeof(err)));
    assert_string_equal(terms.strategy->name, "pubsub");
    assert_int_equal(terms.lease_ms, 30000);
    assert_int_equal(terms.wait_ms, 7);
    assert_int_equal(terms.segments, 0);

    body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"sharded\",\"per_user_limit\":1}";
    assert_false(draft_read(body, strlen(body), &terms, err, sizeof(err)));
    assert_non_null(strstr(err, "per_user_limit"));
    body = "{\"item\":\"P1\",\"stock\":10,\"strategy\":\"hope\"}";
    assert_false(draft_read(body, strlen(body), &terms, err, sizeof(err)));
    assert_non_null(strstr(err, "combined"));
}

static void answers_of_scripts_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        buy_outcome outcome;
        bool replayed;
    } cases[] = {
        {"7 u1 2 93 1700000000000000 i-1 1700000000000001", BUY_SOLD, false},
        {"=7 u1 2 93 0 i-1 1700000000000001", BUY_SOLD, true},
        {"=7 u2 2 93 0 i-1 1700000000000001", BUY_CONFLICT, true},
        {"=7 u1 1 93 0 i-1 1700000000000001", BUY_CONFLICT, true},
        {"sold_out", BUY_SOLD_OUT, false},
        {"limit", BUY_LIMIT_REACHED, false},
        {"void", BUY_VOID, false},
        {"late", BUY_BUSY, false},
        {"closed", BUY_CLOSED, false},
        {"damaged", BUY_UNAVAILABLE, false},
        {"7 u1 2", BUY_UNKNOWN, false},
        {"rubbish", BUY_UNKNOWN, false},
    };
    buy_request request = {.user = "u1", .request = "r1", .quantity = 2};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buy_result result;
        outcome_of_answer(cases[i].answer, strlen(cases[i].answer), &request, &result);
        if (result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].answer, buy_outcome_name(result.outcome));
        if (result.outcome == BUY_SOLD) {
            assert_int_equal(result.replayed, cases[i].replayed);
            assert_int_equal(result.order.number, 7);
            assert_int_equal(result.order.remaining, 93);
            assert_string_equal(result.order.instance, "i-1");
        }
    }
}

static void what_was_sent_and_not_answered_is_unknown(void **state)
{
    (void)state;
    fs_store store;
    char err[256];
    assert_int_equal(store_open(&store, "redis://127.0.0.1:1", NULL, "i", err, sizeof(err)), 0);
    assert_int_equal(outcome_of_write(&store, DLOCK_REDIS_UNKNOWN), BUY_UNKNOWN);
    assert_int_equal(outcome_of_write(&store, DLOCK_REDIS_NOT_SENT), BUY_UNAVAILABLE);
    assert_int_equal(outcome_of_write(&store, DLOCK_REDIS_REFUSED), BUY_UNAVAILABLE);
    assert_int_equal(outcome_of_read(&store, DLOCK_REDIS_UNKNOWN), BUY_UNAVAILABLE);
    assert_int_equal(outcome_of_guard(&store, DLOCK_UNKNOWN), BUY_UNKNOWN);
    assert_int_equal(outcome_of_guard(&store, DLOCK_STALE), BUY_STALE);
    assert_int_equal(outcome_of_lock(&store, DLOCK_BUSY), BUY_BUSY);
    assert_int_equal(outcome_of_lock(&store, DLOCK_UNKNOWN), BUY_UNAVAILABLE);
    store_close(&store);
}

static void text_escapes_and_grows(void **state)
{
    (void)state;
    fs_text text;
    text_init(&text);
    text_json(&text, "a\"b\\c\n\xc3\xa4\xff\xed\xa0\x80");
    assert_string_equal(text_bytes(&text),
                        "\"a\\\"b\\\\c\\u000a\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\"");
    text_clear(&text);
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%04d,", i);
    assert_int_equal(text.len, 5000);
    assert_int_equal(strncmp(text_bytes(&text) + 4990, "0998,0999,", 10), 0);
    text_free(&text);
}

static void strategies_are_all_there_and_complete(void **state)
{
    (void)state;
    static const char *const names[] = {
        "none",    "setnx", "watchdog", "getset",   "reentrant", "nested",  "pubsub",
        "redlock", "fair",  "fenced",   "combined", "atomic",    "batched", "sharded",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_non_null(strategy_find(names[i]));
    for (const fs_strategy *const *s = strategy_list; *s != NULL; s++) {
        assert_ptr_equal(strategy_find((*s)->name), *s);
        assert_true(strlen((*s)->summary) > 10 && strlen((*s)->source) > 2);
        assert_true(strlen((*s)->weakness) > 10);
        assert_non_null((*s)->open);
        assert_non_null((*s)->buy);
        assert_non_null((*s)->close);
        assert_int_equal((*s)->locked, (*s)->lease_ms > 0);
        assert_non_null(strstr(strategy_names(), (*s)->name));
    }
    assert_null(strategy_find("hope"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_1_to_64_safe_characters),
        cmocka_unit_test(queries_are_read_strictly),
        cmocka_unit_test(numbers_in_queries_are_whole_and_in_range),
        cmocka_unit_test(json_is_read_strictly),
        cmocka_unit_test(a_draft_takes_what_is_not_said_from_the_strategy),
        cmocka_unit_test(answers_of_scripts_are_understood),
        cmocka_unit_test(what_was_sent_and_not_answered_is_unknown),
        cmocka_unit_test(text_escapes_and_grows),
        cmocka_unit_test(strategies_are_all_there_and_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
