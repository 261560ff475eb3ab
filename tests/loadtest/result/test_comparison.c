/*
 * What several runs say together: the run that is shown, the ranges, the ranks, the exit code.
 */
#include "tests/support/fixture.h"

#include "loadtest/result/comparison.h"

#include <math.h>
#include <stdlib.h>

enum { RUNS = 5, ROWS = 3 };

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

/* A row of one run each word: "fair S100 L90?" is safe with 100 answers a second, then LOST with 90
 * and a reason against it. "!": it is expected to be unsafe. */
static void make_row(lt_row *row, const char *words)
{
    static const char verdicts[] = "SCUIBLDO"; /* by the letters that they begin with */
    char verdict, doubt[2];
    int throughput, length;
    for (words += strcspn(words, " "); row->run_count < RUNS; words += length) {
        doubt[0] = '\0';
        if (sscanf(words, " %c%d%n%1[?]%n", &verdict, &throughput, &length, doubt, &length) < 2)
            break;
        lt_result *run = &row->runs[row->run_count++];
        *run = (lt_result){.spec = row->spec,
                           .verdict = (lt_verdict)(strchr(verdicts, verdict) - verdicts),
                           .reason_count = doubt[0] == '?',
                           .elapsed_s = 1,
                           .sellout_s = 0.5,
                           .sold = throughput / 2,
                           .tally = tally_new()};
        run->tally->completed = throughput;
        run->tally->from_due[OUT_SOLD] = latencies(throughput);
    }
}

static void make(together *t, const char *const *rows, int count)
{
    *t = (together){.plan = {.runs = RUNS, .spec_count = count}};
    for (int i = 0; i < count; i++) {
        lt_sale_spec *spec = &t->plan.specs[i];
        spec->expect_unsafe = rows[i][0] == '!';
        assert_int_equal(sscanf(rows[i] + spec->expect_unsafe, "%15s", spec->strategy), 1);
    }
    t->comparison.plan = &t->plan;
    assert_true(comparison_init(&t->comparison));
    assert_int_equal(t->comparison.row_count, count);
    for (int i = 0; i < count; i++)
        make_row(&t->comparison.rows[i], rows[i]);
}

/* Among the worst, the one with the median throughput; of two, the slower. */
static void the_shown_run_is_the_median_of_the_worst(void **unused)
{
    (void)unused;
    static const struct {
        const char *row;
        int shown;
        double low, high;
    } table[] = {{"fair S30", 0, 30, 30},         {"fair S30 S10 S20", 2, 10, 30},
                 {"fair S30 S10", 1, 10, 30},     {"fair S30 L10 S20", 1, 10, 30},
                 {"fair L10 S20 S30", 0, 10, 30}, {"fair L40 O30 O10 O20 S50", 3, 10, 50}};
    for (size_t i = 0; i < COUNT(table); i++) {
        together t;
        make(&t, &table[i].row, 1);
        comparison_rank(&t.comparison);
        const lt_row *found = &t.comparison.rows[0];
        assert_int_equal(found->shown, table[i].shown);
        assert_int_equal(found->books, table[i].shown);
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
    static const char *const rows[] = {"none O400", "slow S100", "quick S200"};
    static const char *const with_a_gap[] = {"never", "doubted I300?", "slow S100"};
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
    t.comparison.rows[0].runs[0].tally->completed = 0; /* the unlocked one did nothing */
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
        const char *row;
        lt_verdict verdict;
        int books, shown;
        double low, high;
    } table[] = {{"fair S99 S10 S30 S20", VERDICT_SAFE, 0, 3, 10, 30},
                 {"fair O99 L10 L30", VERDICT_OVERSOLD, 0, 1, 10, 30},
                 {"fair L99 S10", VERDICT_LOST, 0, 1, 10, 10},
                 {"fair S5 S10 L30 S20", VERDICT_LOST, 2, 2, 10, 30},
                 {"fair S5", VERDICT_SAFE, 0, 0, 5, 5}}; /* interrupted */
    for (size_t i = 0; i < COUNT(table); i++) {
        together t;
        make(&t, &table[i].row, 1);
        t.plan.run_length = NS_PER_S;
        t.comparison.rows[0].timed_from = 1;
        comparison_rank(&t.comparison);
        const lt_row *found = &t.comparison.rows[0];
        assert_int_equal(row_verdict(found), table[i].verdict);
        assert_int_equal(found->books, table[i].books);
        assert_int_equal(found->shown, table[i].shown);
        assert_true(found->throughput_rps.low == table[i].low);
        assert_true(found->throughput_rps.high == table[i].high);
        bool ranked = table[i].verdict == VERDICT_SAFE && found->run_count > 2;
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
    enum { MOST = 6 };
    static const struct {
        const char *rows[MOST]; /* in order */
        const char *ranks;
    } table[] = {
        {{"a S50 S52 S54"}, "1"},
        {{"a S50 S52 S54", "b S40 S42 S44", "c S30 S32 S34"}, "1 2 3"},
        {{"a S50 S52 S54", "b S44 S48 S51", "c S30 S32 S34"}, "1= 1= 3"},
        {{"a S50 S52 S54", "b S44 S48 S50", "c S30 S32 S34"}, "1= 1= 3"}, /* they touch */
        {{"a S50 S52 S54", "b S44 S48 S49", "c S40 S42 S44"}, "1 2= 2="},
        {{"a S50 S52 S54", "b S44 S48 S51", "c S40 S42 S45", "d S30 S32 S34"},
         "1= 1= 1= 4"}, /* a chain */
        {{"a S20 S52 S54", "b S48 S49 S50", "c S30 S31 S32", "d S10 S12 S14"},
         "1= 1= 1= 4"}, /* one spans all */
        {{"a S50 S52 S54", "b S47 S48 S49", "c S30 S31 S60"},
         "1= 1= 1="}, /* one run of the slowest */
        {{"a S50 S52 S54", "b S40 S42 S44", "c S41 S41 S43", "d S30 S32 S34", "e S29 S30 S31"},
         "1 2= 2= 4= 4="},
        {{"a S50 S52 S54", "b S40"}, "- -"},
        {{"a S50", "b S40"}, "- -"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *rows[MOST + 1] = {"!none O49 L48"};
        char ranks[64] = "";
        together t;
        int count = 1;
        for (; table[i].rows[count - 1]; count++)
            rows[count] = table[i].rows[count - 1];
        make(&t, rows, count);
        comparison_rank(&t.comparison);
        for (int n = 0; n < count - 1; n++) {
            const lt_row *row = &t.comparison.rows[n];
            size_t at = strlen(ranks);
            assert_int_equal(row->spec->strategy[0], 'a' + n);
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

#define LINKED     "a S50 S54", "b S44 S51", "c S30 S34"
#define ALL_LINKED "a S50 S54", "b S44 S52", "c S43 S51"

/* What throughput does not tell apart the cost of a sale does: the cheaper first. */
static void as_quick_and_cheaper_is_ranked_first(void **unused)
{
    (void)unused;
    static const struct {
        double costs[ROWS][2]; /* of a sale of a, b, c, in us; NAN: unknown */
        const char *ranks;     /* "*": by cost */
        const char *rows[ROWS];
    } table[] = {
        {{{90, 99}, {40, 45}, {20, 25}}, "b1* a2* c3", {LINKED}},
        {{{40, 45}, {90, 99}, {20, 25}}, "a1* b2* c3", {LINKED}},
        {{{44, 99}, {40, 45}, {20, 25}}, "a1= b1= c3", {LINKED}},
        {{{45, 99}, {40, 45}, {20, 25}}, "a1= b1= c3", {LINKED}},
        {{{NAN, NAN}, {40, 45}, {20, 25}}, "a1= b1= c3", {LINKED}},
        {{{90, NAN}, {40, 45}, {20, 25}}, "b1* a2* c3", {LINKED}},
        {{{90, 99}, {60, 70}, {20, 25}}, "c1* b2* a3*", {ALL_LINKED}},
        {{{90, 99}, {60, 70}, {65, 80}}, "b1=* c1=* a3*", {ALL_LINKED}},
        {{{60, 70}, {20, 25}, {65, 80}}, "b1* a2=* c2=*", {ALL_LINKED}},
        /* Linked by b, but a is faster than c for sure. */
        {{{90, 99}, {60, 70}, {20, 25}}, "a1= b1= c1=", {"a S50 S54", "b S44 S51", "c S40 S45"}},
        {{{60, 70}, {20, 25}, {90, 99}}, "b1* a2* c3*", {"a S50 S54", "b S44 S51", "c S40 S45"}},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char ranks[64] = "";
        FILE *out = fmemopen(ranks, sizeof(ranks), "w");
        together t;
        make(&t, table[i].rows, ROWS);
        for (int n = 0; n < 2 * ROWS; n++)
            t.comparison.rows[n / 2].runs[n % 2].costs.sale.redis_us = table[i].costs[n / 2][n % 2];
        comparison_rank(&t.comparison);
        for (int n = 0; n < ROWS; n++) {
            const lt_row *row = &t.comparison.rows[n];
            fprintf(out, "%s%s%d%s%s", n > 0 ? " " : "", row->spec->strategy, row->rank,
                    row->shares_rank ? "=" : "", row->ranked_by_cost ? "*" : "");
        }
        fclose(out);
        if (strcmp(ranks, table[i].ranks) != 0)
            fail_msg("row %zu: %s", i, ranks);
        comparison_release(&t.comparison);
    }
}

#define SAFE_ROW    "fair S100"
#define BROKEN_ROW  "fair S100 L90"
#define CONTROL_ROW "!none O100"
#define INVALID_ROW "fair S100 I90?"

static void the_exit_code_is_the_gravest(void **unused)
{
    (void)unused;
    static const struct {
        const char *rows[2];
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
        {{"fair U100"}, 1, NULL, false, false, EXIT_BROKEN},
        {{CONTROL_ROW, SAFE_ROW}, 2, NULL, false, false, EXIT_SAFE},
        {{INVALID_ROW}, 1, NULL, false, false, EXIT_INVALID},
        {{"fair I100"}, 1, NULL, false, false, EXIT_INVALID},
        /* Broken or not is what it expects; a reason against it counts all the same. */
        {{"!none O100?"}, 1, NULL, false, false, EXIT_INVALID},
        {{SAFE_ROW}, 1, "throughput>99", false, false, EXIT_THRESHOLD},
        {{SAFE_ROW}, 1, "throughput>100", false, false, EXIT_SAFE},
        {{SAFE_ROW}, 1, "p99.9>1", false, false, EXIT_INVALID},
        {{CONTROL_ROW}, 1, "throughput>99", false, false, EXIT_SAFE},
        {{INVALID_ROW}, 1, "throughput>1", false, false, EXIT_INVALID},
        {{BROKEN_ROW}, 1, "throughput>1", false, false, EXIT_BROKEN},
        {{SAFE_ROW}, 1, NULL, true, false, EXIT_INVALID},
        {{CONTROL_ROW, SAFE_ROW}, 2, NULL, true, false, EXIT_SAFE},
        {{"!none L100"}, 1, NULL, true, false, EXIT_SAFE},
        {{"!none U100"}, 1, NULL, true, false, EXIT_INVALID},
        {{"!fair O100"}, 1, NULL, true, false, EXIT_INVALID},
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

/* Where there is no ledger the rows are ranked; whether that will do is for the caller to say. */
static void counts_alone_must_be_accepted(void **unused)
{
    (void)unused;
    static const char *const rows[] = {"a C50 C52", "b C60 S62", "!c U70 S72"};
    together t;
    make(&t, rows, ROWS);
    comparison_rank(&t.comparison);
    assert_string_equal(t.comparison.rows[0].spec->strategy, "b");
    assert_int_equal(t.comparison.rows[0].rank, 1);
    assert_int_equal(t.comparison.rows[1].rank, 2);
    assert_int_equal(t.comparison.rows[2].rank, 0);
    assert_int_equal(comparison_exit_code(&t.comparison), EXIT_INVALID);
    t.plan.accept_counts = true;
    assert_int_equal(comparison_exit_code(&t.comparison), EXIT_SAFE);
    comparison_release(&t.comparison);
}

/* Often, since malloc() keeps a little of what is freed for the next one. */
static void the_memory_of_all_runs_is_given_back(void **unused)
{
    (void)unused;
    enum { WARM_UPS = 5, TIMES = 300, SPARE_BYTES = 16 * 1024 };
    static const char *const rows[] = {"none O400 S300", "never", "fair S100"};
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
        cmocka_unit_test(as_quick_and_cheaper_is_ranked_first),
        cmocka_unit_test(timed_runs_tell_how_fast),
        cmocka_unit_test(the_memory_of_all_runs_is_given_back),
        cmocka_unit_test(the_exit_code_is_the_gravest),
        cmocka_unit_test(counts_alone_must_be_accepted),
    };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
