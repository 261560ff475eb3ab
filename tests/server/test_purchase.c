/* test_purchase.c - what an answer of Redis means for a buyer, and what no answer means. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/store/purchase.h"

static void answers_of_scripts_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        purchase_outcome outcome;
        bool replayed;
    } cases[] = {
        {"7 u1 2 93 1700000000000000 i-1 1700000000000001 0123456789ab sold", BUY_SOLD, false},
        {"=7 u1 2 93 0 i-1 1700000000000001 0123456789ab sold", BUY_SOLD, true},
        {"=7 u2 2 93 0 i-1 1700000000000001 0123456789ab sold", BUY_CONFLICT, false},
        {"=7 u1 1 93 0 i-1 1700000000000001 0123456789ab sold", BUY_CONFLICT, false},
        {"sold_out", BUY_SOLD_OUT, false},
        {"limit", BUY_LIMIT_REACHED, false},
        {"void", BUY_VOID, false},
        {"late", BUY_BUSY, false},
        {"closed", BUY_CLOSED, false},
        {"damaged stock", BUY_DAMAGED, false},
        {"rolled_back 7", BUY_ROLLED_BACK, false},
        {"epoch", BUY_CLOSED, false},
        {"=7 u1 2", BUY_DAMAGED, false},
        {"=7 u1 2 93 0 i-1 1700000000000001", BUY_DAMAGED, false},
        {"=7 u1 2 93 0 i-1 1700000000000001 0123456789ab lent", BUY_DAMAGED, false},
        {"=", BUY_DAMAGED, false},
        {"7 u1 2", BUY_UNKNOWN, false},
        {"rubbish", BUY_UNKNOWN, false},
    };
    purchase request = {.user = "u1", .request = "r1", .quantity = 2};
    for (size_t i = 0; i < COUNT(cases); i++) {
        purchase_result result;
        purchase_answer_script(&result, cases[i].answer, strlen(cases[i].answer), &request);
        if (result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].answer, outcome_table[result.outcome].name);
        assert_int_equal(result.replayed, cases[i].replayed);
        if (result.outcome == BUY_SOLD) {
            assert_int_equal(result.order.number, 7);
            assert_int_equal(result.order.remaining, 93);
            assert_string_equal(result.order.instance, "i-1");
            assert_string_equal(result.order.epoch, "0123456789ab");
        }
    }
}

/* "expired" and "cancelled" may name the end of a reservation, which "sold" has none of. */
static void a_state_goes_with_the_end_of_a_reservation(void **state)
{
    (void)state;
    static const struct {
        const char *state; /* as it is recorded */
        bool good;
        order_state is;
        int64_t bucket;
    } cases[] = {
        {"sold", true, ORDER_SOLD, 0},
        {"cancelled", true, ORDER_CANCELLED, 0},
        {"reserved 1", true, ORDER_RESERVED, 1},
        {"confirmed 2", true, ORDER_CONFIRMED, 2},
        {"cancelled 1", true, ORDER_CANCELLED, 1},
        {"expired 1", true, ORDER_EXPIRED, 1},
        {"sold 1", false, ORDER_SOLD, 0},
        {"reserved", false, ORDER_SOLD, 0},
        {"confirmed", false, ORDER_SOLD, 0},
        {"expired", false, ORDER_SOLD, 0},
        {"expired 0", false, ORDER_SOLD, 0},
        {"expired 1 1", false, ORDER_SOLD, 0},
        {"expired ", false, ORDER_SOLD, 0},
        {"sold ", false, ORDER_SOLD, 0},
        {"sole", false, ORDER_SOLD, 0},
        {"lent 1", false, ORDER_SOLD, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char record[128];
        fs_order order;
        snprintf(record, sizeof(record), "7 u1 2 93 5 i-1 1700000000000001 0123456789ab %s",
                 cases[i].state);
        bool good = order_read(record, strlen(record), &order);
        if (good != cases[i].good)
            fail_msg("%s: %d", record, good);
        assert_int_equal(order.fence, good ? 5 : 0);
        if (!good)
            continue;
        assert_int_equal(order.state, cases[i].is);
        assert_int_equal(order.expires_us, cases[i].bucket * BUCKET_US);
    }
}

static void what_was_sent_and_not_answered_is_unknown(void **state)
{
    (void)state;
    fs_store store;
    char err[256];
    assert_int_equal(store_open(&store, "redis://127.0.0.1:1", NULL, "i", err, sizeof(err)), 0);
    assert_int_equal(purchase_write_failed(&store, DLOCK_REDIS_UNKNOWN), BUY_UNKNOWN);
    assert_int_equal(purchase_write_failed(&store, DLOCK_REDIS_NOT_SENT), BUY_UNAVAILABLE);
    assert_int_equal(purchase_write_failed(&store, DLOCK_REDIS_REFUSED), BUY_UNAVAILABLE);
    assert_null(store_read(&store, dlock_in_ms(1000), WORDS("GET", "key")));
    assert_int_equal(purchase_guard_failed(&store, DLOCK_UNKNOWN), BUY_UNKNOWN);
    assert_int_equal(purchase_guard_failed(&store, DLOCK_STALE), BUY_STALE);
    assert_int_equal(purchase_lock_failed(&store, DLOCK_BUSY), BUY_BUSY);
    assert_int_equal(purchase_lock_failed(&store, DLOCK_UNKNOWN), BUY_UNAVAILABLE);
    store_close(&store);
}

/* A result is used again by a buyer who goes on to the next segment, or waits once more. */
static void an_answer_says_nothing_of_the_one_before(void **state)
{
    (void)state;
    for (int outcome = 0; outcome < BUY_OUTCOMES; outcome++) {
        purchase_result result = {.outcome = BUY_OUTCOMES,
                                  .replayed = true,
                                  .replicated = true,
                                  .segment = 3,
                                  .remaining = 9,
                                  .redis = "OOM"};
        purchase_answer(&result, outcome);
        assert_int_equal(result.outcome, outcome);
        assert_false(result.replayed);
        assert_false(result.replicated);
        assert_int_equal(result.segment, 0);
        assert_int_equal(result.remaining, -1);
        assert_string_not_equal(result.redis, "OOM");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_scripts_are_understood),
        cmocka_unit_test(a_state_goes_with_the_end_of_a_reservation),
        cmocka_unit_test(an_answer_says_nothing_of_the_one_before),
        cmocka_unit_test(what_was_sent_and_not_answered_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
