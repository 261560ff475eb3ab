/*
 * The small parts of loadtest, each in a table or two: numbers, options, thresholds, JSON members,
 * schedules, backlog, lock waits, timeline.
 */
#include "tests/support/fixture.h"

#include "loadtest/base/number.h"
#include "loadtest/base/outcome.h"
#include "loadtest/cli/options.h"
#include "loadtest/load/arrivals.h"
#include "loadtest/load/backlog.h"
#include "loadtest/load/json_member.h"
#include "loadtest/service/lock_metrics.h"
#include "loadtest/stats/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void numbers_are_read_strictly(void **unused)
{
    (void)unused;
    static const char *const bad[] = {"",   " 1", "1 ",  "0x10", "1e3", "12a",
                                      "-1", "+1", "101", "nan",  "--1", "99999999999999999999"};
    long whole;
    double decimal;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(number_parse_long(bad[i], 0, 100, &whole));
    assert_true(number_parse_long("100", 0, 100, &whole));
    assert_int_equal(whole, 100);
    assert_false(number_parse_double("inf", 0, 1e300, &decimal));
    assert_false(number_parse_double("0x1p3", 0, 1e300, &decimal));
    assert_true(number_parse_double("0.25", 0, 1, &decimal));
    assert_true(decimal == 0.25);
}

static void durations_have_units(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int64_t ns; /* 0: refused */
    } table[] = {{"30", 30 * NS_PER_S},
                 {"1.5s", 1500 * NS_PER_MS},
                 {"250ms", 250 * NS_PER_MS},
                 {"2m", 120 * NS_PER_S},
                 {"10us", 10 * NS_PER_US},
                 {"0", 0},
                 {"-1s", 0},
                 {"5 s", 0},
                 {"s", 0},
                 {"1h", 3600 * NS_PER_S}};
    for (size_t i = 0; i < COUNT(table); i++) {
        int64_t ns = 0;
        assert_int_equal(number_parse_duration(table[i].text, &ns), table[i].ns != 0);
        assert_int_equal(ns, table[i].ns);
    }
}

static void members_are_found_only_outermost(void **unused)
{
    (void)unused;
    static const struct {
        const char *json, *value; /* "": not found */
    } table[] = {
        {"{\"order\":\"17\",\"user\":\"u\"}", "17"},
        {"{ \"user\" : \"order\" , \"order\" : 42 }", "42"},
        {"{\"user\":\"\\\"order\\\":\\\"x\\\"\",\"order\":\"y\"}", "y"},
        {"{\"inner\":{\"order\":\"no\"},\"order\":\"yes\"}", "yes"},
        {"{\"list\":[\"order\",{\"order\":1}]}", ""},
        {"{\"orders\":\"a\",\"xorder\":\"b\"}", ""},
        {"{\"order\":\"with \\\\ escape\"}", ""},
        {"{\"order\":\"0123456789012345\"}", ""}, /* does not fit */
        {"{\"order\":", ""},
        {"{\"order", ""},
        {"", ""},
        {"{\"order\":null}", ""},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char value[16];
        const char *json = table[i].json;
        assert_int_equal(json_member(json, strlen(json), "order", value, sizeof(value)),
                         table[i].value[0] != '\0');
        assert_string_equal(value, table[i].value);
    }
}

static void outcomes_need_status_and_code(void **unused)
{
    (void)unused;
    static const struct {
        long status;
        const char *code;
        lt_outcome outcome;
    } table[] = {
        {201, "", OUT_SOLD},
        {409, "sold_out", OUT_SOLD_OUT},
        {409, "limit_reached", OUT_LIMIT},
        {409, "", OUT_ERROR},
        {503, "busy", OUT_BUSY},
        {503, "store_unavailable", OUT_UNAVAILABLE},
        {503, "", OUT_ERROR},
        {504, "unknown", OUT_UNKNOWN},
        {504, "", OUT_UNKNOWN},
        {200, "", OUT_ERROR},
        {500, "busy", OUT_ERROR},
        {404, "sold_out", OUT_ERROR},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(outcome_of_response(table[i].status, table[i].code), table[i].outcome);
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool parse(char *line, lt_options *options, char *err, size_t err_size)
{
    char *argv[32] = {(char *)"loadtest"}, *word;
    int argc = 1;
    while ((word = strsep(&line, " ")) != NULL)
        argv[argc++] = word;
    return options_parse(argc, argv, options, err, err_size);
}

static void mistakes_on_the_command_line_are_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *words;
    } table[] = {
        {"", "expected run, compare"},
        {"walk", "expected run, compare"},
        {"run --nosuch 1", "no such option: --nosuch"},
        {"run --users", "--users needs a value"},
        {"run --users 0", "--users: \"0\" is not a number from 1"},
        {"run --users=12x", "--users: \"12x\""},
        {"run --target 127.0.0.1:7000", "needs a URL"},
        {"run --target http://h:1/path", "scheme, host and port only"},
        {"run --item a/b", "--item needs"},
        {"run --strategies a,b", "run takes one strategy"},
        {"run --strategy setnx:wait=1", "\"wait=1\" is not an option of a sale"},
        {"run --strategy setnx:wait_ms=x", "needs a whole number"},
        {"run --strategy :wait_ms=1", "is not a strategy"},
        {"run --preset huge", "contended or reference"},
        {"run --fail-if p98>1", "unknown metric"},
        {"run --fail-if p99=1", "unknown metric"},
        {"run --fail-if p99>fast", "not of the form"},
        {"run --arrivals poisson", "needs --rate"},
        {"run --rate 10 --think-ms 5", "closed model"},
        {"run --rate 10 --flash", "no --rate"},
        {"run --quiet=yes", "no such option"},
        {"compare a.json", "two result files"},
        {"compare a.json b.json c.json", "expected options"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_options options;
        char line[128], err[512] = "";
        snprintf(line, sizeof(line), "%s", table[i].line);
        if (parse(line, &options, err, sizeof(err)))
            fail_msg("accepted: %s", table[i].line);
        if (strstr(err, table[i].words) == NULL)
            fail_msg("\"%s\" gave: %s", table[i].line, err);
    }
}

static void presets_fill_in_what_was_not_given(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], first[] = "run --preset contended";
    assert_true(parse(first, &o, err, sizeof(err)));
    assert_int_equal(o.plan.stock, 1000);
    assert_int_equal(o.plan.requests, 5000);
    assert_int_equal(o.plan.users, 100);
    assert_int_equal(o.plan.think, 0);
    char second[] = "compare --preset reference --users 7 --strategies none,setnx:wait_ms=0";
    assert_true(parse(second, &o, err, sizeof(err)));
    assert_int_equal(o.plan.stock, 5000);
    assert_int_equal(o.plan.users, 7);
    assert_int_equal(o.plan.think, 10 * NS_PER_MS);
    assert_int_equal(o.runs, 3);
    assert_int_equal(o.spec_count, 2);
    assert_int_equal(o.specs[0].wait_ms, 30000);
    assert_int_equal(o.specs[1].wait_ms, 0);
    assert_string_equal(o.specs[1].strategy, "setnx");
    assert_string_equal(o.specs[1].label, "setnx:wait_ms=0");
    assert_true(o.plan.timeout_ms > 30000);
    assert_int_equal(o.plan.target_count, 3);
}

static void limits_decide_when_a_run_ends(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], first[] = "run --duration 2s", second[] = "run --flash --users 300";
    char third[] = "run --rate 50 --requests 10";
    assert_true(parse(first, &o, err, sizeof(err)));
    assert_int_equal(o.plan.requests, 0);
    assert_int_equal(o.plan.duration, 2 * NS_PER_S);
    assert_true(parse(second, &o, err, sizeof(err)));
    assert_int_equal(o.plan.model, MODEL_FLASH);
    assert_int_equal(o.plan.requests, 300);
    assert_true(parse(third, &o, err, sizeof(err)));
    assert_int_equal(o.plan.model, MODEL_OPEN);
    assert_int_equal(o.plan.users, 1000);
}

static void negative_controls_are_declared(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], line[] = "compare --strategies none,setnx,setnx:wait_ms=0,getset "
                            "--expect-unsafe getset,setnx:wait_ms=0";
    static const bool expected[] = {true, false, true, true};
    assert_true(parse(line, &o, err, sizeof(err)));
    for (int i = 0; i < 4; i++)
        assert_int_equal(options_expect_unsafe(&o, &o.specs[i]), expected[i]);
}

static void thresholds_know_their_units(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double limit; /* NAN: refused */
    } table[] = {{"p99>200ms", 200},    {"p99 > 0.2s", 200},
                 {"p99>200", 200},      {"p99.9>=1s", 1000},
                 {"p999>1", 1},         {"sellout>1500ms", 1.5},
                 {"fairness<0.2", 0.2}, {"error_rate>5%", 0.05},
                 {"errors>0", 0},       {"throughput<1000", 1000},
                 {"errors>5%", NAN},    {"p99>>1", NAN},
                 {"p99>", NAN},         {">5", NAN},
                 {"p99", NAN}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_threshold threshold;
        char err[256];
        bool good = threshold_parse(table[i].text, &threshold, err, sizeof(err));
        assert_int_equal(good, !isnan(table[i].limit));
        assert_true(!good || fabs(threshold.limit - table[i].limit) < 1e-9);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

static void constant_arrivals_keep_their_distance(void **unused)
{
    (void)unused;
    lt_plan plan = {.rate = 3000};
    lt_arrivals workers[3];
    for (int k = 0; k < 3; k++)
        workers[k] = arrivals_of(&plan, k, 3);
    for (int i = 0; i < 30000; i++) {
        lt_arrivals *worker = &workers[i % 3];
        double expected = i * 1e9 / 3000;
        assert_true(fabs((double)arrivals_next(worker) - expected) <= 1.0);
        arrivals_advance(worker);
    }
}

static void poisson_arrivals_have_rate_spread_and_seed(void **unused)
{
    (void)unused;
    lt_plan plan = {.rate = 1000, .poisson = true, .seed = 7}, other = plan;
    lt_arrivals a = arrivals_of(&plan, 0, 1), b = arrivals_of(&plan, 0, 1), c;
    other.seed = 8;
    c = arrivals_of(&other, 0, 1);
    const int n = 100000;
    double last = 0, squares = 0;
    int differing = 0;
    for (int i = 0; i < n; i++) {
        assert_int_equal(arrivals_next(&a), arrivals_next(&b));
        differing += arrivals_next(&a) != arrivals_next(&c);
        double gap = a.next_ns - last;
        assert_true(gap >= 0);
        squares += gap * gap;
        last = a.next_ns;
        arrivals_advance(&a);
        arrivals_advance(&b);
        arrivals_advance(&c);
    }
    /* The mean gap is 1 ms, within five standard deviations; E[gap^2] is 2 for exponential gaps. */
    assert_true(fabs(last / n / 1e6 - 1.0) < 5.0 / sqrt(n));
    assert_true(fabs(squares / n / 1e12 - 2.0) < 0.15);
    assert_int_equal(differing, n);
}

static void backlog_is_first_in_first_out(void **unused)
{
    (void)unused;
    lt_backlog backlog = {0};
    lt_due_request request;
    int64_t in = 0, out = 0;
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 7; i++, in++)
            assert_true(backlog_push(&backlog, (lt_due_request){.ticket = in}));
        for (int i = 0; i < 5; i++, out++) {
            assert_true(backlog_pop(&backlog, &request));
            assert_int_equal(request.ticket, out);
        }
    }
    while (backlog_pop(&backlog, &request))
        assert_int_equal(request.ticket, out++);
    assert_int_equal(out, in);
    backlog_release(&backlog);
}

/* ---- metrics and time ------------------------------------------------------------------------ */

static void lock_waits_are_the_difference_of_two_readings(void **unused)
{
    (void)unused;
    lt_lock_metrics before = {0}, after = {0};
    double ms;
    lock_metrics_parse(&before, "other_metric 1\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"0.01\"} 100\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"0.1\"} 100\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"+Inf\"} 100\n");
    /* Two instances, or two label sets: they add up. */
    lock_metrics_parse(&after, "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.01\"} 110\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.1\"} 140\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"+Inf\"} 140\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.01\"} 40\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.1\"} 60\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"+Inf\"} 60");
    assert_true(lock_metrics_quantile(&before, &after, 0.50, &ms));
    assert_true(fabs(ms - 10.0) < 1e-6); /* 50 of the 100 new ones waited up to 10 ms */
    assert_true(lock_metrics_quantile(&before, &after, 0.99, &ms));
    assert_true(fabs(ms - 98.2) < 1e-6);
    assert_false(lock_metrics_quantile(&after, &after, 0.50, &ms));
    assert_false(lock_metrics_quantile(&(lt_lock_metrics){0}, &(lt_lock_metrics){0}, 0.5, &ms));
}

static void the_timeline_zooms_out(void **unused)
{
    (void)unused;
    static const mono_ns lengths[] = {NS_PER_S, 60 * NS_PER_S, 1200 * NS_PER_S};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        lt_timeline *timeline = timeline_new();
        int count;
        double width_s;
        uint64_t total = 0;
        for (int j = 0; j < 1000; j++)
            timeline_record(timeline, OUT_SOLD, lengths[i] * j / 1000, 5 * NS_PER_MS);
        lt_timeline_bin *bins = timeline_bins(timeline, lengths[i], &count, &width_s);
        for (int j = 0; j < count; j++) {
            total += bins[j].outcomes[OUT_SOLD];
            if (bins[j].outcomes[OUT_SOLD] > 0)
                assert_true(bins[j].p99_ms > 4.0 && bins[j].p99_ms < 6.0);
        }
        assert_int_equal(total, 1000);
        assert_true(count * width_s >= clock_seconds(lengths[i]));
        free(bins);
        timeline_free(timeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(members_are_found_only_outermost),
        cmocka_unit_test(outcomes_need_status_and_code),
        cmocka_unit_test(mistakes_on_the_command_line_are_named),
        cmocka_unit_test(presets_fill_in_what_was_not_given),
        cmocka_unit_test(limits_decide_when_a_run_ends),
        cmocka_unit_test(negative_controls_are_declared),
        cmocka_unit_test(thresholds_know_their_units),
        cmocka_unit_test(constant_arrivals_keep_their_distance),
        cmocka_unit_test(poisson_arrivals_have_rate_spread_and_seed),
        cmocka_unit_test(backlog_is_first_in_first_out),
        cmocka_unit_test(lock_waits_are_the_difference_of_two_readings),
        cmocka_unit_test(the_timeline_zooms_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
