/*
 * The reports of three runs whose figures are known, word by word: known.txt and known.json beside
 * this file were looked through by hand. Whoever changes a report changes them.
 */
#include "tests/loadtest/result/sound_result.h"

#include "loadtest/result/comparison.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <math.h>
#include <stdio.h>

#define FOLDER "tests/loadtest/report/"

enum { ROWS = 3, PAGE_MAX = 128 * 1024 };

typedef struct known {
    lt_plan plan;
    lt_threshold thresholds[2];
    lt_comparison comparison;
    sound sounds[ROWS], faster; /* `faster`: the first one again */
} known;

/* ---- the runs -------------------------------------------------------------------------------- */

/* So many latencies in ms, spread evenly from `low` to `high`. */
static void spread(lt_histogram_slot *slot, double low, double high, int count)
{
    for (int i = 0; i < count; i++)
        sound_record(slot, (int64_t)((low + (high - low) * i / count) * 1000), 1);
}

static void finish_latencies(sound *s)
{
    histogram_free(s->result.all_due);
    s->result.all_due = tally_all(s->tally);
}

/* All that a run can tell, and nothing wrong. */
static void make_rich(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    spread(&t->from_due[OUT_SOLD], 2, 12, STOCK);
    spread(&t->from_due[OUT_SOLD_OUT], 1, 40, REQUESTS - STOCK);
    spread(&t->from_send, 1, 39, REQUESTS);
    spread(&t->lag, 0, 0.5, REQUESTS);
    t->retries = 7;
    t->replays = 10;
    t->replays_same = 9;
    t->connects = 21;
    t->waited = 5;
    t->unsent = 2;
    t->bytes_received = 30000;
    t->bytes_sent = 60000;
    t->targets[0].sold = 60;
    t->targets[1].sold = 40;
    t->targets[1].failed = 1;
    spread(&t->targets[1].latency, 2, 3, 30);
    t->outcomes[OUT_SOLD_OUT] -= 4;
    t->outcomes[OUT_UNKNOWN] = 4;
    r->audit.unknown = 4;
    r->audit.unknown_not_sold = 4;
    r->fairness = (lt_fairness){.users = USERS,
                                .never_served = 2,
                                .starved = 3,
                                .least = 4,
                                .most = 6,
                                .ratio = 4.0 / 6,
                                .jain = 0.95};
    r->user_sales = calloc(USERS, sizeof(r->user_sales[0]));
    for (int i = 0; i < USERS; i++)
        r->user_sales[i] = 4 + i / 8;
    r->error_count = 2;
    r->errors[0] = (lt_error_entry){PHASE_WAIT, "timeout", 1, 8};
    r->errors[1] = (lt_error_entry){PHASE_CONNECT, "refused", 0, 2};
    r->health = (lt_generator_health){.cpu_s = 0.6, .cores = 2, .share = 0.15};
    r->lock_wait_p50_ms = 1.5;
    r->lock_wait_p99_ms = 22;
    r->redis_per_sale = 3.25;
    r->bin_count = 2;
    r->bin_width_s = 1;
    r->bins = calloc(2, sizeof(r->bins[0]));
    r->bins[0] = (lt_timeline_bin){.outcomes = {[OUT_SOLD] = 100}, .p50_ms = 5, .p99_ms = 9};
    r->bins[1] = (lt_timeline_bin){.start_s = 1, .outcomes = {[OUT_SOLD_OUT] = 200}, .p50_ms = 7};
    r->watch.samples = calloc(2, sizeof(r->watch.samples[0]));
    r->watch.samples[0] = (lt_stock_sample){0.5, 70, 30};
    r->watch.samples[1] = (lt_stock_sample){1, 0, 100};
    r->watch.count = 2;
    r->watch.while_buying = 1;
    finish_latencies(s);
}

/* Oversold, without a ledger, and requests that left late. */
static void make_oversold(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    snprintf(s->spec.strategy, sizeof(s->spec.strategy), "none");
    snprintf(s->spec.label, sizeof(s->spec.label), "none");
    s->spec.expect_unsafe = true;
    t->outcomes[OUT_SOLD] = 130;
    t->outcomes[OUT_SOLD_OUT] = 150;
    t->outcomes[OUT_BUSY] = 10;
    t->outcomes[OUT_UNKNOWN] = 6;
    t->outcomes[OUT_ERROR] = 4;
    t->completed = 296;
    t->failed = 3;
    t->unfinished = 1;
    spread(&t->from_due[OUT_SOLD], 30, 60, 130);
    spread(&t->from_send, 10, 20, 130);
    r->audit = (lt_audit){.ledger = LEDGER_NONE};
    r->stock.remaining = -20;
    r->stock.units = r->stock.orders = 120;
    r->sellout_s = NAN;
    r->lock_wait_p50_ms = r->lock_wait_p99_ms = r->redis_per_sale = NAN;
    r->fairness = (lt_fairness){.ratio = NAN, .jain = NAN};
    finish_latencies(s);
}

/* Interrupted, its ledger unreadable; and one request in all. */
static void make_partial(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    snprintf(s->spec.strategy, sizeof(s->spec.strategy), "fair");
    snprintf(s->spec.label, sizeof(s->spec.label), "fair:wait_ms=0");
    t->issued = t->completed = 1;
    t->outcomes[OUT_SOLD] = 1;
    t->outcomes[OUT_SOLD_OUT] = 0;
    spread(&t->from_due[OUT_SOLD], 5, 5, 1);
    spread(&t->from_send, 5, 5, 1);
    spread(&t->lag, 3, 3, 1);
    r->partial = true;
    r->stop_reason = STOP_INTERRUPTED;
    r->stock_known = false;
    r->audit = (lt_audit){.ledger = LEDGER_BROKEN, .broken = "no page"};
    r->sellout_s = NAN;
    r->lock_wait_p50_ms = r->lock_wait_p99_ms = r->redis_per_sale = NAN;
    r->fairness = (lt_fairness){.users = 1, .least = 1, .most = 1, .ratio = NAN, .jain = NAN};
    finish_latencies(s);
}

static void make_known(known *k)
{
    static void (*const makers[ROWS])(sound *) = {make_rich, make_oversold, make_partial};
    char err[256];
    memset(k, 0, sizeof(*k));
    sound_make(&k->faster);
    k->faster.result.watch.count = 0;
    k->faster.tally->issued = k->faster.tally->completed = 360;
    k->plan = k->faster.plan;
    k->plan.runs = 2;
    k->plan.preset = PRESET_REFERENCE;
    k->plan.needs_control = true;
    k->comparison.plan = &k->plan;
    assert_true(threshold_parse("p99>10ms", &k->thresholds[0], err, sizeof(err)));
    assert_true(threshold_parse("sold<50", &k->thresholds[1], err, sizeof(err)));
    k->comparison.thresholds = k->thresholds;
    k->comparison.threshold_count = 2;
    k->comparison.row_count = ROWS;
    for (int i = 0; i < ROWS; i++) {
        sound *s = &k->sounds[i];
        lt_row *row = &k->comparison.rows[i];
        sound_make(s);
        s->result.watch.count = 0; /* no curve */
        makers[i](s);
        s->result.spec = row->spec = &s->spec;
        verdict_reach(&s->result, &k->plan);
        row->runs = calloc(2, sizeof(row->runs[0]));
        row->runs[row->run_count++] = s->result;
    }
    verdict_reach(&k->faster.result, &k->plan);
    k->comparison.rows[0].runs[k->comparison.rows[0].run_count++] = k->faster.result;
    comparison_rank(&k->comparison);
}

static void free_known(known *k)
{
    comparison_release(&k->comparison);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void is_as_known(const char *name, const char *text)
{
    static char expected[PAGE_MAX];
    char path[128];
    snprintf(path, sizeof(path), FOLDER "%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
    fclose(file);
    const char *a = expected, *b = text;
    for (int line = 1; *a || *b; line++) {
        size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
        if (a_len != b_len || memcmp(a, b, a_len) != 0)
            fail_msg("%s, line %d:\n  known: %.*s\n  found: %.*s", name, line, (int)a_len, a,
                     (int)b_len, b);
        a += a_len + (a[a_len] == '\n');
        b += b_len + (b[b_len] == '\n');
    }
}

static void texts_are_as_known(void **unused)
{
    (void)unused;
    static known k;
    char *text = NULL;
    size_t len;
    make_known(&k);
    FILE *out = open_memstream(&text, &len);
    for (int i = 0; i < ROWS; i++) {
        report_text(out, &k.plan, &k.comparison.rows[i]);
        fputc('\n', out);
    }
    report_table(out, &k.comparison);
    report_closing(out, &k.comparison);
    fclose(out);
    is_as_known("known.txt", text);
    free(text);
    free_known(&k);
}

static void the_result_file_is_as_known(void **unused)
{
    (void)unused;
    static known k;
    make_known(&k);
    cJSON *json = report_json(&k.comparison);
    cJSON_DeleteItemFromObject(json, "environment"); /* this machine's */
    char *text = cJSON_Print(json);
    is_as_known("known.json", text);
    free(text);
    cJSON_Delete(json);
    free_known(&k);
}

/* A run that never came to be has a verdict, a reason, and nothing more. */
static void a_run_without_figures_is_two_lines(void **unused)
{
    (void)unused;
    lt_sale_spec spec = {.label = "fair"};
    lt_plan plan = {.stock = STOCK};
    lt_result result = {.spec = &spec, .verdict = VERDICT_INVALID};
    lt_row row = {.spec = &spec, .runs = &result, .run_count = 1};
    char *text = NULL;
    size_t len;
    result_invalid(&result, "target http://a is down");
    FILE *out = open_memstream(&text, &len);
    report_text(out, &plan, &row);
    fclose(out);
    assert_string_equal(text, "INVALID  fair: this run can not be judged\n"
                              "  invalid because: target http://a is down\n");
    free(text);
}

/* Without an answer there are no latencies to show; the accounts are shown all the same. */
static void a_run_without_answers_shows_no_latencies(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t len;
    sound s;
    sound_make(&s);
    s.tally->completed = s.tally->outcomes[OUT_SOLD] = s.tally->outcomes[OUT_SOLD_OUT] = 0;
    s.tally->failed = REQUESTS;
    verdict_reach(&s.result, &s.plan);
    lt_row row = {.spec = &s.spec, .runs = &s.result, .run_count = 1};
    FILE *out = open_memstream(&text, &len);
    report_text(out, &s.plan, &row);
    fclose(out);
    assert_null(strstr(text, "Latency in ms"));
    assert_null(strstr(text, "As JMeter"));
    assert_non_null(strstr(text, "issued 300 = completed 0 + failed 300 + unfinished 0"));
    free(text);
    sound_free(&s);
}

/* With three digits, and never fewer before the point than there are. */
static void figures_have_three_digits(void **unused)
{
    (void)unused;
    static const struct {
        double value;
        const char *text;
    } table[] = {{0, "0"},       {0.5, "0.500"},   {0.9994, "0.999"}, {1, "1.00"},
                 {9.99, "9.99"}, {10, "10.0"},     {99.9, "99.9"},    {100, "100"},
                 {-20, "-20.0"}, {12345, "12345"}, {NAN, "n/a"}};
    for (size_t i = 0; i < COUNT(table); i++)
        assert_string_equal(figure_of(table[i].value).text, table[i].text);
}

/* The report of a run with these latencies, and so many answers of its two targets; to be freed. */
static char *told_of(double low_ms, double high_ms, int targets, int second)
{
    char *text = NULL;
    size_t len;
    sound s;
    sound_make(&s);
    s.plan.target_count = targets;
    histogram_free(s.tally->targets[1].latency);
    s.tally->targets[1].latency = NULL;
    sound_record(&s.tally->targets[1].latency, 1000, second);
    sound_record(&s.tally->from_due[OUT_SOLD], (int64_t)(low_ms * 1000), 1);
    sound_record(&s.tally->from_due[OUT_SOLD], (int64_t)(high_ms * 1000), 1);
    finish_latencies(&s);
    verdict_reach(&s.result, &s.plan);
    lt_row row = {.spec = &s.spec, .runs = &s.result, .run_count = 1};
    FILE *out = open_memstream(&text, &len);
    report_text(out, &s.plan, &row);
    fclose(out);
    sound_free(&s);
    return text;
}

/* How latencies are spread takes two that differ; how targets differ, two that answered. */
static void what_there_is_one_of_is_not_compared(void **unused)
{
    (void)unused;
    static const struct {
        double high_ms;
        int targets, second;
        bool spread, skew;
    } table[] = {{9, 2, 150, true, true},
                 {2, 2, 150, false, true},
                 {9, 1, 150, true, false},
                 {9, 2, 0, true, false},
                 {9, 2, 1, true, true}};
    for (size_t i = 0; i < COUNT(table); i++) {
        char *text = told_of(2, table[i].high_ms, table[i].targets, table[i].second);
        if ((strstr(text, "How the latencies are spread") != NULL) != table[i].spread ||
            (strstr(text, "  skew: ") != NULL) != table[i].skew)
            fail_msg("row %zu: %s", i, text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_known),
        cmocka_unit_test(the_result_file_is_as_known),
        cmocka_unit_test(figures_have_three_digits),
        cmocka_unit_test(what_there_is_one_of_is_not_compared),
        cmocka_unit_test(a_run_without_figures_is_two_lines),
        cmocka_unit_test(a_run_without_answers_shows_no_latencies),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
