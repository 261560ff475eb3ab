/*
 * What several runs say together: the run that is shown, the ranges, the ranks, the exit code.
 */
#include "tests/support/fixture.h"

#include "loadtest/result/comparison.h"

#include <math.h>
#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { RUNS = 5, ROWS = 3 };

typedef struct run_case {
    lt_verdict verdict;
    int throughput; /* answers in a second; 0: the row has no such run */
    int reasons;
} run_case;

typedef struct row_case {
    const char *strategy;
    run_case runs[RUNS];
    bool expect_unsafe;
} row_case;

typedef struct together {
    lt_plan plan;
    lt_comparison comparison;
} together;

/* All of a tenth of the throughput in ms; enough of them for a 99th percentile. */
static lt_histogram *latencies(int throughput)
{
    enum { SAMPLES = 2000 };
    lt_histogram *h = histogram_new();
    for (int i = 0; i < SAMPLES; i++)
        histogram_record(h, throughput * 100);
    return h;
}

static void is_range(lt_range found, double low, double high)
{
    assert_true(fabs(found.low - low) < 0.01 * low && fabs(found.high - high) < 0.01 * high);
}

static void make(together *t, const row_case *rows, int count)
{
    *t = (together){.plan = {.runs = RUNS, .spec_count = count}};
    for (int i = 0; i < count; i++) {
        snprintf(t->plan.specs[i].strategy, sizeof(t->plan.specs[i].strategy), "%s",
                 rows[i].strategy);
        t->plan.specs[i].expect_unsafe = rows[i].expect_unsafe;
    }
    t->comparison.plan = &t->plan;
    assert_true(comparison_init(&t->comparison));
    assert_int_equal(t->comparison.row_count, count);
    for (int i = 0; i < count; i++) {
        lt_row *row = &t->comparison.rows[i];
        for (int n = 0; n < RUNS && rows[i].runs[n].throughput > 0; n++) {
            const run_case *run = &rows[i].runs[n];
            row->runs[row->run_count++] = (lt_result){.spec = row->spec,
                                                      .verdict = run->verdict,
                                                      .reason_count = run->reasons,
                                                      .elapsed_s = 1,
                                                      .sellout_s = 0.5,
                                                      .sold = run->throughput / 2,
                                                      .tally = tally_new()};
            row->runs[n].tally->completed = run->throughput;
            row->runs[n].tally->from_due[OUT_SOLD] = latencies(run->throughput);
        }
    }
}

/* Among the worst, the one with the median throughput; of two, the slower. */
static void the_shown_run_is_the_median_of_the_worst(void **unused)
{
    (void)unused;
    static const struct {
        run_case runs[RUNS];
        int shown;
        double low, high;
    } table[] = {
        {{{VERDICT_SAFE, 30, 0}}, 0, 30, 30},
        {{{VERDICT_SAFE, 30, 0}, {VERDICT_SAFE, 10, 0}, {VERDICT_SAFE, 20, 0}}, 2, 10, 30},
        {{{VERDICT_SAFE, 30, 0}, {VERDICT_SAFE, 10, 0}}, 1, 10, 30},
        {{{VERDICT_SAFE, 30, 0}, {VERDICT_LOST, 10, 0}, {VERDICT_SAFE, 20, 0}}, 1, 10, 30},
        {{{VERDICT_LOST, 10, 0}, {VERDICT_SAFE, 20, 0}, {VERDICT_SAFE, 30, 0}}, 0, 10, 30},
        {{{VERDICT_LOST, 40, 0},
          {VERDICT_OVERSOLD, 30, 0},
          {VERDICT_OVERSOLD, 10, 0},
          {VERDICT_OVERSOLD, 20, 0},
          {VERDICT_SAFE, 50, 0}},
         3,
         10,
         50},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        together t;
        row_case row = {.strategy = "fair"};
        memcpy(row.runs, table[i].runs, sizeof(row.runs));
        make(&t, &row, 1);
        comparison_rank(&t.comparison);
        const lt_row *found = &t.comparison.rows[0];
        assert_int_equal(found->shown, table[i].shown);
        assert_true(found->throughput_rps.low == table[i].low);
        assert_true(found->throughput_rps.high == table[i].high);
        assert_true(found->goodput_sps.low == table[i].low);
        is_range(found->p50_ms, table[i].low / 10, table[i].high / 10);
        is_range(found->p99_ms, table[i].low / 10, table[i].high / 10);
        assert_true(isnan(found->of_unlocked));
        comparison_release(&t.comparison);
    }
}

/* Safe ones first, then by speed, in shares of the unlocked one; rows without a run are dropped. */
static void rows_are_ranked(void **unused)
{
    (void)unused;
    static const row_case rows[] = {
        {"none", {{VERDICT_OVERSOLD, 400, 0}}, false},
        {"slow", {{VERDICT_SAFE, 100, 0}}, false},
        {"quick", {{VERDICT_SAFE, 200, 0}}, false},
    };
    static const row_case with_a_gap[] = {
        {"never", {{VERDICT_SAFE, 0, 0}}, false},
        {"doubted", {{VERDICT_INVALID, 300, 1}}, false},
        {"slow", {{VERDICT_SAFE, 100, 0}}, false},
    };
    together t;
    make(&t, rows, 3);
    comparison_rank(&t.comparison);
    static const char *const names[] = {"quick", "slow", "none"};
    static const double shares[] = {0.5, 0.25, 1};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(t.comparison.rows[i].spec->strategy, names[i]);
        assert_true(t.comparison.rows[i].of_unlocked == shares[i]);
    }
    comparison_release(&t.comparison);
    make(&t, with_a_gap, 3);
    comparison_rank(&t.comparison);
    assert_int_equal(t.comparison.row_count, 2);
    assert_string_equal(t.comparison.rows[0].spec->strategy, "slow");
    assert_string_equal(t.comparison.rows[1].spec->strategy, "doubted");
    assert_true(isnan(t.comparison.rows[0].of_unlocked));
    comparison_release(&t.comparison);
    make(&t, rows, 3);
    t.comparison.rows[0].runs[0].tally->completed = 0; /* the unlocked one came to nothing */
    comparison_rank(&t.comparison);
    assert_true(isnan(t.comparison.rows[0].of_unlocked));
    comparison_release(&t.comparison);
}

/* With a run length the first run tells what was sold, unless a later one went wrong worse; the
 * later ones, how fast. */
static void timed_runs_tell_how_fast(void **unused)
{
    (void)unused;
    static const struct {
        run_case runs[RUNS];
        lt_verdict verdict;
        int books, shown;
        double low, high;
    } table[] = {
        {{{VERDICT_SAFE, 99, 0},
          {VERDICT_SAFE, 10, 0},
          {VERDICT_SAFE, 30, 0},
          {VERDICT_SAFE, 20, 0}},
         VERDICT_SAFE,
         0,
         3,
         10,
         30},
        {{{VERDICT_OVERSOLD, 99, 0}, {VERDICT_LOST, 10, 0}, {VERDICT_LOST, 30, 0}},
         VERDICT_OVERSOLD,
         0,
         1,
         10,
         30},
        {{{VERDICT_LOST, 99, 0}, {VERDICT_SAFE, 10, 0}}, VERDICT_LOST, 0, 1, 10, 10},
        {{{VERDICT_SAFE, 5, 0},
          {VERDICT_SAFE, 10, 0},
          {VERDICT_LOST, 30, 0},
          {VERDICT_SAFE, 20, 0}},
         VERDICT_LOST,
         2,
         2,
         10,
         30},
        {{{VERDICT_SAFE, 5, 0}}, VERDICT_SAFE, 0, 0, 5, 5}, /* interrupted */
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        together t;
        row_case row = {.strategy = "fair"};
        memcpy(row.runs, table[i].runs, sizeof(row.runs));
        make(&t, &row, 1);
        t.plan.run_length = NS_PER_S;
        t.comparison.rows[0].timed_from = 1;
        comparison_rank(&t.comparison);
        const lt_row *found = &t.comparison.rows[0];
        assert_int_equal(row_verdict(found), table[i].verdict);
        assert_int_equal(found->books, table[i].books);
        assert_int_equal(found->shown, table[i].shown);
        assert_true(found->throughput_rps.low == table[i].low);
        assert_true(found->throughput_rps.high == table[i].high);
        bool ranked = table[i].verdict == VERDICT_SAFE && table[i].runs[2].throughput > 0;
        assert_int_equal(found->rank, ranked);
        assert_int_equal(comparison_exit_code(&t.comparison),
                         table[i].verdict == VERDICT_SAFE ? EXIT_SAFE : EXIT_BROKEN);
        comparison_release(&t.comparison);
    }
}

/* Those whose ranges overlap, or are linked by others', share a rank; only safe ones have any. */
static void overlapping_ranges_share_a_rank(void **unused)
{
    (void)unused;
    enum { MOST = 5 };
    static const struct {
        int throughputs[MOST][3]; /* of the runs of each row; rows in order */
        const char *ranks;
    } table[] = {
        {{{50, 52, 54}}, "1"},
        {{{50, 52, 54}, {40, 42, 44}, {30, 32, 34}}, "1 2 3"},
        {{{50, 52, 54}, {44, 48, 51}, {30, 32, 34}}, "1= 1= 3"},
        {{{50, 52, 54}, {44, 48, 50}, {30, 32, 34}}, "1= 1= 3"}, /* they touch */
        {{{50, 52, 54}, {44, 48, 49}, {40, 42, 44}}, "1 2= 2="},
        {{{50, 52, 54}, {44, 48, 51}, {40, 42, 45}, {30, 32, 34}}, "1= 1= 1= 4"}, /* a chain */
        {{{20, 52, 54}, {48, 49, 50}, {30, 31, 32}, {10, 12, 14}},
         "1= 1= 1= 4"},                                           /* one spans all */
        {{{50, 52, 54}, {47, 48, 49}, {30, 31, 60}}, "1= 1= 1="}, /* one run of the slowest */
        {{{50, 52, 54}, {40, 42, 44}, {41, 41, 43}, {30, 32, 34}, {29, 30, 31}}, "1 2= 2= 4= 4="},
        {{{50, 52, 54}, {40}}, "- -"},
        {{{50}, {40}}, "- -"},
    };
    static const char *const names[MOST] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < COUNT(table); i++) {
        row_case rows[MOST + 1] = {
            {"none", {{VERDICT_OVERSOLD, 49, 0}, {VERDICT_LOST, 48, 0}}, true}};
        char ranks[64] = "";
        together t;
        int count = 1;
        for (; count <= MOST && table[i].throughputs[count - 1][0] > 0; count++) {
            rows[count].strategy = names[count - 1];
            for (int n = 0; n < 3; n++)
                rows[count].runs[n].throughput = table[i].throughputs[count - 1][n];
        }
        make(&t, rows, count);
        comparison_rank(&t.comparison);
        for (int n = 0; n < count - 1; n++) {
            const lt_row *row = &t.comparison.rows[n];
            size_t at = strlen(ranks);
            assert_string_equal(row->spec->strategy, names[n]);
            snprintf(ranks + at, sizeof(ranks) - at, row->rank > 0 ? "%s%d%s" : "%s-",
                     n > 0 ? " " : "", row->rank, row->shares_rank ? "=" : "");
        }
        if (strcmp(ranks, table[i].ranks) != 0)
            fail_msg("row %zu: %s", i, ranks);
        assert_int_equal(t.comparison.rows[count - 1].rank, 0); /* none */
        assert_false(t.comparison.rows[count - 1].shares_rank);
        comparison_release(&t.comparison);
    }
}

#define SAFE_ROW                                                                                   \
    {                                                                                              \
        "fair", {{VERDICT_SAFE, 100, 0}}, false                                                    \
    }
#define BROKEN_ROW                                                                                 \
    {                                                                                              \
        "fair", {{VERDICT_SAFE, 100, 0}, {VERDICT_LOST, 90, 0}}, false                             \
    }
#define CONTROL_ROW                                                                                \
    {                                                                                              \
        "none", {{VERDICT_OVERSOLD, 100, 0}}, true                                                 \
    }
#define INVALID_ROW                                                                                \
    {                                                                                              \
        "fair", {{VERDICT_SAFE, 100, 0}, {VERDICT_INVALID, 90, 1}}, false                          \
    }

static void the_exit_code_is_the_gravest(void **unused)
{
    (void)unused;
    static const struct {
        row_case rows[2];
        int count;
        const char *limit; /* for --fail-if, or NULL */
        bool needs_control, interrupted;
        lt_exit_code code;
    } table[] = {
        {{SAFE_ROW}, 1, NULL, false, false, EXIT_SAFE},
        {{SAFE_ROW}, 1, NULL, false, true, EXIT_INVALID},
        {{SAFE_ROW}, 0, NULL, false, false, EXIT_INVALID},
        {{BROKEN_ROW}, 1, NULL, false, false, EXIT_BROKEN},
        {{SAFE_ROW, BROKEN_ROW}, 2, NULL, false, false, EXIT_BROKEN},
        {{INVALID_ROW, BROKEN_ROW}, 2, NULL, false, false, EXIT_BROKEN},
        {{{"fair", {{VERDICT_UNDERSOLD, 100, 0}}, false}}, 1, NULL, false, false, EXIT_BROKEN},
        {{CONTROL_ROW, SAFE_ROW}, 2, NULL, false, false, EXIT_SAFE},
        {{INVALID_ROW}, 1, NULL, false, false, EXIT_INVALID},
        {{{"fair", {{VERDICT_INVALID, 100, 0}}, false}}, 1, NULL, false, false, EXIT_INVALID},
        /* Broken or not is what it expects; a reason against it counts all the same. */
        {{{"none", {{VERDICT_OVERSOLD, 100, 1}}, true}}, 1, NULL, false, false, EXIT_INVALID},
        {{SAFE_ROW}, 1, "throughput>99", false, false, EXIT_THRESHOLD},
        {{SAFE_ROW}, 1, "throughput>100", false, false, EXIT_SAFE},
        {{SAFE_ROW}, 1, "p99.9>1", false, false, EXIT_INVALID},
        {{CONTROL_ROW}, 1, "throughput>99", false, false, EXIT_SAFE},
        {{INVALID_ROW}, 1, "throughput>1", false, false, EXIT_INVALID},
        {{BROKEN_ROW}, 1, "throughput>1", false, false, EXIT_BROKEN},
        {{SAFE_ROW}, 1, NULL, true, false, EXIT_INVALID},
        {{CONTROL_ROW, SAFE_ROW}, 2, NULL, true, false, EXIT_SAFE},
        {{{"none", {{VERDICT_LOST, 100, 0}}, true}}, 1, NULL, true, false, EXIT_SAFE},
        {{{"none", {{VERDICT_UNDERSOLD, 100, 0}}, true}}, 1, NULL, true, false, EXIT_INVALID},
        {{{"fair", {{VERDICT_OVERSOLD, 100, 0}}, true}}, 1, NULL, true, false, EXIT_INVALID},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        together t;
        lt_threshold threshold;
        char err[256];
        make(&t, table[i].rows, table[i].count);
        t.plan.needs_control = table[i].needs_control;
        t.comparison.interrupted = table[i].interrupted;
        if (table[i].limit) {
            assert_true(threshold_parse(table[i].limit, &threshold, err, sizeof(err)));
            t.comparison.thresholds = &threshold;
            t.comparison.threshold_count = 1;
        }
        comparison_rank(&t.comparison);
        lt_exit_code code = comparison_exit_code(&t.comparison);
        if (code != table[i].code)
            fail_msg("row %zu: %d", i, (int)code);
        comparison_release(&t.comparison);
    }
}

/* Often, since malloc() keeps a little of what is freed for the next one. */
static void the_memory_of_all_runs_is_given_back(void **unused)
{
    (void)unused;
    enum { WARM_UPS = 5, TIMES = 300, SPARE_BYTES = 16 * 1024 };
    static const row_case rows[] = {
        {"none", {{VERDICT_OVERSOLD, 400, 0}, {VERDICT_SAFE, 300, 0}}, false},
        {"never", {{VERDICT_SAFE, 0, 0}}, false},
        {"fair", {{VERDICT_SAFE, 100, 0}}, false},
    };
    size_t before = 0;
    for (int n = 0; n < WARM_UPS + TIMES; n++) {
        together t;
        if (n == WARM_UPS)
            before = fx_bytes_allocated();
        make(&t, rows, 3);
        for (int i = 0; i < 3; i += 2) {
            lt_result *run = &t.comparison.rows[i].runs[0];
            run->all_due = histogram_new();
            run->bins = calloc(10, sizeof(run->bins[0]));
            run->watch.samples = calloc(10, sizeof(run->watch.samples[0]));
            run->user_sales = calloc(10, sizeof(run->user_sales[0]));
        }
        comparison_rank(&t.comparison);
        comparison_release(&t.comparison);
    }
    assert_true(fx_bytes_allocated() <= before + SPARE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shown_run_is_the_median_of_the_worst),
        cmocka_unit_test(rows_are_ranked),
        cmocka_unit_test(overlapping_ranges_share_a_rank),
        cmocka_unit_test(timed_runs_tell_how_fast),
        cmocka_unit_test(the_memory_of_all_runs_is_given_back),
        cmocka_unit_test(the_exit_code_is_the_gravest),
    };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
