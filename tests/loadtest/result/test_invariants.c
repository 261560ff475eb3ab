/*
 * What must hold, figure by figure: a sound run with one of them changed by one comes to exactly
 * the verdict that the broken invariant stands for.
 */
#include "tests/loadtest/result/sound_result.h"

static void the_stock(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{RESULT(stock.remaining, 1)}, VERDICT_LOST, "stock = remaining + units"},
        {{RESULT(stock.remaining, 1)}, VERDICT_LOST, "gone from the stock"},
        {{RESULT(stock.remaining, 1)}, VERDICT_LOST, "units in the ledger are those gone"},
        {{RESULT(stock.remaining, -1)}, VERDICT_OVERSOLD, "remaining is never below 0"},
        {{RESULT(watch.lowest, -1)}, VERDICT_OVERSOLD, "remaining is never below 0"},
        {{RESULT(watch.lowest, 50)}, VERDICT_SAFE, NULL},
        {{RESULT(stock.units, 101)}, VERDICT_OVERSOLD, "units ordered never exceed"},
        {{RESULT(watch.most_units, 101)}, VERDICT_OVERSOLD, "units ordered never exceed"},
        {{RESULT(watch.most_units, 99)}, VERDICT_SAFE, NULL},
        {{RESULT(stock.units, 99)}, VERDICT_LOST, "stock = remaining + units"},
        {{RESULT(stock.oversold, 1)}, VERDICT_OVERSOLD, "oversold, by the service's own count"},
        {{RESULT(watch.most_oversold, 1)}, VERDICT_OVERSOLD, "oversold, by the service's"},
        {{RESULT(stock.lost_updates, 1)}, VERDICT_LOST, "lost updates, by the service's"},
        {{RESULT(watch.most_lost, 1)}, VERDICT_LOST, "lost updates, by the service's"},
        {{RESULT(stock.orders, 101)}, VERDICT_LOST, "the service counts the orders in its ledger"},
        /* Ten are left, and everybody agrees. */
        {{RESULT(stock.remaining, 10), RESULT(stock.units, 90), RESULT(stock.orders, 90),
          RESULT(audit.units, 90), RESULT(audit.orders, 90), RESULT(audit.first_units, 90),
          RESULT(audit.matched, 90), TALLY(outcomes[OUT_SOLD], 90)},
         VERDICT_UNDERSOLD,
         "units left while"},
        {{RESULT(stock.remaining, 7), RESULT(stock_known, false)}, VERDICT_SAFE, NULL},
    };
    judge_all(cases, COUNT(cases));
}

static void the_ledger(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{RESULT(audit.first_units, 101)}, VERDICT_OVERSOLD, "first orders in the ledger"},
        {{RESULT(audit.first_units, 101), RESULT(audit.strangers, 1)},
         VERDICT_INVALID, /* who knows whose they are? */
         "other buyers"},
        {{RESULT(audit.duplicates, 1)}, VERDICT_DUPLICATED, "beyond the first of a request"},
        {{RESULT(audit.matched, 99)}, VERDICT_LOST, "every 201 has its order"},
        {{RESULT(audit.matched, 101)}, VERDICT_LOST, "every 201 has its order"},
        {{RESULT(audit.other, 1)}, VERDICT_LOST, "orders of another user"},
        {{RESULT(audit.incomplete, 1)}, VERDICT_INVALID, "orders without id"},
        {{RESULT(audit.unannounced, 1)}, VERDICT_LOST, "refused requests that have an order"},
        {{RESULT(audit.unknown_open, 1)}, VERDICT_INVALID, "outcomes that stay unknown"},
        {{RESULT(audit.contradicted, 1)}, VERDICT_LOST, "looked up, and not as said"},
        {{RESULT(audit.units, 101)}, VERDICT_LOST, "units in the ledger are those gone"},
        {{RESULT(audit.orders, 99)}, VERDICT_LOST, "the service counts the orders in its ledger"},
        /* Without a whole one nothing of this is a row. */
        {{RESULT(audit.ledger, LEDGER_NONE), RESULT(audit.matched, 0), RESULT(audit.units, 0)},
         VERDICT_SAFE,
         NULL},
        {{RESULT(audit.ledger, LEDGER_NONE), RESULT(stock.orders, 99)},
         VERDICT_LOST,
         "counts the orders buyers were told of"},
        {{RESULT(audit.ledger, LEDGER_NONE), RESULT(stock.units, 99)},
         VERDICT_LOST,
         "counts the units buyers were told of"},
        {{RESULT(audit.ledger, LEDGER_NONE), RESULT(stock.orders, 99), RESULT(audit.unknown, 1)},
         VERDICT_INVALID,
         "no whole ledger"},
        {{RESULT(audit.ledger, LEDGER_NONE), RESULT(stock.orders, 99), RESULT(stock_known, false)},
         VERDICT_SAFE,
         NULL},
    };
    judge_all(cases, COUNT(cases));
}

/* While an outcome is open, the request may be between its two writes: sums prove nothing. */
static void what_is_not_at_rest(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{RESULT(audit.unknown, 1), RESULT(stock.units, 99)}, VERDICT_LOST, "stock = remaining"},
        {{RESULT(audit.unknown, 1), RESULT(audit.unknown_open, 1), RESULT(stock.units, 99)},
         VERDICT_INVALID,
         "stock = remaining"},
        {{RESULT(audit.unknown, 1), RESULT(audit.unknown_open, 1), RESULT(audit.units, 99)},
         VERDICT_INVALID, /* and the ledger is not held against the stock */
         "stay unknown"},
        {{RESULT(audit.unknown, 1), RESULT(audit.ledger, LEDGER_NONE), RESULT(stock.units, 99)},
         VERDICT_INVALID,
         "stock = remaining"},
    };
    judge_all(cases, COUNT(cases));
}

static void what_buyers_are_told(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{TALLY(outcomes[OUT_SOLD], 101)}, VERDICT_OVERSOLD, "units told sold never exceed"},
        {{RESULT(audit.shared, 1)}, VERDICT_DUPLICATED, "the order of another request"},
        {{TALLY(told_other, 1)}, VERDICT_LOST, "not what was asked for"},
        {{TALLY(told_less, 1)}, VERDICT_INVALID, "201 without all"},
        {{RESULT(audit.wrong_limit, 1)}, VERDICT_UNDERSOLD, "by a limit that was not reached"},
        {{SPEC(per_user_limit, 3), RESULT(audit.most_units, 3)}, VERDICT_SAFE, NULL},
        {{SPEC(per_user_limit, 3), RESULT(audit.most_units, 4)}, VERDICT_OVERSOLD, "by the limit"},
        {{RESULT(audit.most_units, 4)}, VERDICT_SAFE, NULL},
        {{TALLY(completed, 299)}, VERDICT_INVALID, "issued = completed + failed + unfinished"},
        {{TALLY(failed, 1)}, VERDICT_INVALID, "issued = completed + failed + unfinished"},
        {{TALLY(unfinished, 1)}, VERDICT_INVALID, "issued = completed + failed + unfinished"},
    };
    judge_all(cases, COUNT(cases));
}

static void replays(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{TALLY(replays, 5), TALLY(replays_same, 5)}, VERDICT_SAFE, NULL},
        {{TALLY(replays, 5), TALLY(replays_same, 1)}, VERDICT_SAFE, NULL},
        {{TALLY(replays, 5)}, VERDICT_INVALID, "replays whose answer tells"},
        {{TALLY(replays, 5), TALLY(replays_other, 1)}, VERDICT_DUPLICATED, "another order"},
        {{TALLY(replays, 5), TALLY(replays_refused, 1)}, VERDICT_LOST, "as if nothing had been"},
        /* 100 were bought: with a fifth, twenty are expected. */
        {{PLAN(replay, 0.2)}, VERDICT_INVALID, "sent again, as asked for"},
        {{PLAN(replay, 0.19)}, VERDICT_SAFE, NULL},
        {{PLAN(replay, 0.2), TALLY(replays, 1), TALLY(replays_same, 1)}, VERDICT_SAFE, NULL},
    };
    judge_all(cases, COUNT(cases));
}

/* How many units buyers went without, and whether that is a row. */
static void undersold(void **unused)
{
    (void)unused;
    static const struct {
        long quantity;
        int64_t segments, remaining, sold, refused, limited, unfinished, unknown_sold, undersold;
    } table[] = {
        {1, 1, 0, 100, 200, 0, 0, 0, 0},  {1, 1, 1, 99, 201, 0, 0, 0, 1},
        {1, 1, 10, 90, 4, 0, 0, 0, 4},    {1, 1, 10, 90, 0, 4, 0, 0, 0},
        {1, 1, 10, 90, 0, 0, 4, 0, 4},    {1, 1, 10, 90, 4, 0, 3, 2, 5},
        {1, 1, 10, 90, 0, 0, 0, 0, 0},    {1, 1, -5, 100, 200, 0, 0, 0, 0},
        {1, 1, 10, 100, 200, 0, 0, 0, 0}, /* forgotten by the stock: lost, not left */
        {1, 1, 10, 95, 200, 0, 0, 0, 5},  {3, 1, 2, 32, 100, 0, 0, 0, 0},
        {3, 1, 3, 32, 100, 0, 0, 0, 3},   {3, 1, 10, 30, 2, 0, 0, 0, 6},
        {3, 4, 8, 30, 100, 0, 0, 0, 0},   {3, 4, 9, 30, 100, 0, 0, 0, 9},
        {1, 1, 10, 88, 10, 0, 0, 2, 8},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        sound s;
        sound_make(&s);
        s.plan.quantity = table[i].quantity;
        s.result.segments = table[i].segments;
        s.result.stock.remaining = table[i].remaining;
        s.result.audit.unknown_sold = table[i].unknown_sold;
        s.tally->outcomes[OUT_SOLD] = table[i].sold;
        s.tally->outcomes[OUT_SOLD_OUT] = 0;
        s.tally->outcomes[OUT_BUSY] = table[i].refused;
        s.tally->outcomes[OUT_LIMIT] = table[i].limited;
        s.tally->unfinished = table[i].unfinished;
        s.tally->retries = 7; /* no requests of their own */
        verdict_reach(&s.result, &s.plan);
        if (s.result.undersold != table[i].undersold)
            fail_msg("row %zu: %lld", i, (long long)s.result.undersold);
        const lt_invariant *row = invariants_broken(&s.result, VERDICT_UNDERSOLD);
        assert_int_equal(row != NULL, table[i].undersold > 0);
        sound_free(&s);
    }
}

/* The other figures, from what was told and what was looked up. */
static void the_figures(void **unused)
{
    (void)unused;
    static const struct {
        long quantity;
        int64_t sold, unknown_sold, remaining, duplicates, replays_other;
        int64_t units, oversold, lost, twice;
    } table[] = {
        {1, 100, 0, 0, 0, 0, 100, 0, 0, 0},  {1, 101, 0, 0, 0, 0, 101, 1, 1, 0},
        {1, 99, 3, 0, 0, 0, 102, 2, 2, 0},   {1, 90, 0, 15, 0, 0, 90, 0, 5, 0},
        {3, 40, 1, 0, 2, 3, 123, 23, 23, 5}, {1, 90, 0, 10, 2, 0, 90, 0, 0, 2},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        sound s;
        sound_make(&s);
        s.plan.quantity = table[i].quantity;
        s.tally->outcomes[OUT_SOLD] = table[i].sold;
        s.tally->replays_other = table[i].replays_other;
        s.result.audit.unknown_sold = table[i].unknown_sold;
        s.result.audit.duplicates = table[i].duplicates;
        s.result.stock.remaining = table[i].remaining;
        verdict_reach(&s.result, &s.plan);
        assert_int_equal(s.result.sold, table[i].sold);
        assert_int_equal(s.result.sold_units, table[i].units);
        assert_int_equal(s.result.oversold, table[i].oversold);
        assert_int_equal(s.result.lost_updates, table[i].lost);
        assert_int_equal(s.result.duplicates, table[i].twice);
        sound_free(&s);
    }
}

/* Of a stock that is not known nothing is said. */
static void an_unknown_stock_is_no_figure(void **unused)
{
    (void)unused;
    sound s;
    sound_make(&s);
    s.result.stock_known = false;
    s.result.stock.remaining = 7;
    verdict_reach(&s.result, &s.plan);
    assert_int_equal(s.result.lost_updates, 0);
    assert_int_equal(s.result.undersold, 0);
    assert_int_equal(s.result.verdict, VERDICT_SAFE);
    sound_free(&s);
}

/* The worst of what a run has earned; each that fails is found by its verdict. */
static void the_worst_counts(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{RESULT(audit.wrong_limit, 1), RESULT(partial, true)}, VERDICT_INVALID, "by a limit"},
        {{RESULT(audit.other, 1), RESULT(partial, true)}, VERDICT_LOST, "partial"},
        {{RESULT(audit.other, 1), RESULT(audit.shared, 1)}, VERDICT_DUPLICATED, "of another user"},
        {{RESULT(audit.shared, 1), RESULT(stock.oversold, 1)}, VERDICT_OVERSOLD, "of another req"},
    };
    judge_all(cases, COUNT(cases));
    sound s;
    sound_make(&s);
    s.result.audit.shared = 1;
    verdict_reach(&s.result, &s.plan);
    assert_non_null(invariants_broken(&s.result, VERDICT_DUPLICATED));
    assert_null(invariants_broken(&s.result, VERDICT_LOST));
    assert_null(invariants_broken(&s.result, VERDICT_OVERSOLD));
    sound_free(&s);
    sound_make(&s);
    s.tally->replays = 5;
    s.tally->replays_same = s.tally->replays_other = 1; /* both tell */
    s.result.stock.units = 99;
    verdict_reach(&s.result, &s.plan);
    assert_null(invariants_broken(&s.result, VERDICT_INVALID));
    assert_non_null(invariants_broken(&s.result, VERDICT_LOST));
    assert_string_equal(invariants_broken(&s.result, VERDICT_LOST)->id, "I1");
    sound_free(&s);
    lt_result nothing = {0};
    verdict_reach(&nothing, &s.plan);
    assert_int_equal(nothing.verdict, VERDICT_INVALID);
    for (int verdict = VERDICT_SAFE; verdict <= VERDICT_OVERSOLD; verdict++)
        assert_int_equal(verdict_is_broken((lt_verdict)verdict),
                         verdict != VERDICT_SAFE && verdict != VERDICT_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stock),
        cmocka_unit_test(the_ledger),
        cmocka_unit_test(what_is_not_at_rest),
        cmocka_unit_test(what_buyers_are_told),
        cmocka_unit_test(replays),
        cmocka_unit_test(undersold),
        cmocka_unit_test(the_figures),
        cmocka_unit_test(an_unknown_stock_is_no_figure),
        cmocka_unit_test(the_worst_counts),
    };
    return cmocka_run_group_tests_name("invariants", tests, NULL, NULL);
}
