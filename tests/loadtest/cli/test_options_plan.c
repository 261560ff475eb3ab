/*
 * Where each option goes: the plan of a command line, member by member, against that of the same
 * line without the option. What is not said in a row must not have changed.
 */
#include "tests/support/fixture.h"

#include "loadtest/cli/options.h"

#include <stdlib.h>
#include <string.h>

enum { DUMP_MAX = 8192 };

static bool parse(const char *line, lt_options *options, char *err, size_t err_len)
{
    static char copy[4096];
    char *argv[256] = {(char *)"loadtest"}, *rest = copy, *word;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    while ((word = strsep(&rest, " ")) != NULL)
        argv[argc++] = word;
    return options_parse(argc, argv, options, err, err_len);
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static void dump_specs(const lt_plan *plan, FILE *to)
{
    for (int i = 0; i < plan->spec_count; i++) {
        const lt_sale_spec *s = &plan->specs[i];
        fprintf(to, "spec%d=%s,%s,%s,%ld,%ld,%ld,%ld,%ld,%d\n", i, s->label, s->strategy,
                s->durability, s->lease_ms, s->wait_ms, s->hold_ms, s->per_user_limit, s->segments,
                s->expect_unsafe);
    }
    for (int i = 0; i < plan->redis_count; i++)
        fprintf(to, "redis%d=%s\n", i, plan->redis_info[i]);
    for (int i = 0; i < plan->target_count; i++)
        fprintf(to, "target%d=%s\n", i, plan->targets[i]);
}

/* Every member as a line. */
static void dump(const lt_options *o, char *ret)
{
    const lt_plan *p = &o->plan;
    FILE *to = fmemopen(ret, DUMP_MAX, "w");
    fprintf(to, "command=%d\nruns=%d\nrun_length=%lld\npreset=%d\n", (int)o->command, p->runs,
            (long long)p->run_length, (int)p->preset);
    fprintf(to, "accept_counts=%d\nneeds_control=%d\ntoken=%s\nitem=%s\n", p->accept_counts,
            p->needs_control, or_none(p->admin_token), or_none(p->item));
    fprintf(to, "stock=%ld\nquantity=%ld\nreserve_s=%ld\nconfirm=%g\ncancel=%g\n", p->stock,
            p->quantity, p->reserve_s, p->confirm, p->cancel);
    fprintf(to, "model=%d\nusers=%d\nrequests=%lld\nduration=%lld\nuntil_sold_out=%d\n",
            (int)p->model, p->users, (long long)p->requests, (long long)p->duration,
            p->until_sold_out);
    fprintf(to, "think=%lld\nrate=%g\npoisson=%d\nseed=%llu\nrotate=%d\nsame_names=%d\n",
            (long long)p->think, p->rate, p->poisson, (unsigned long long)p->seed, p->rotate,
            p->same_names);
    fprintf(to, "timeout_ms=%ld\nretries=%ld\nreplay=%g\nexpect_failover=%d\nworkers=%d\n",
            p->timeout_ms, p->retries, p->replay, p->expect_failover, p->workers);
    fprintf(to, "json=%s\nhtml=%s\nhgrm=%s\nlog=%s\nhistory=%s\n", or_none(o->json_path),
            or_none(o->html_path), or_none(o->hgrm_path), or_none(o->log_path),
            or_none(o->history_path));
    fprintf(to, "diff0=%s\ndiff1=%s\nchart=%s\nquiet=%d\ndetails=%d\nthresholds=%d\n",
            or_none(o->diff[0]), or_none(o->diff[1]), or_none(o->chart_path), o->quiet, o->details,
            o->threshold_count);
    dump_specs(p, to);
    fclose(to);
}

/* The lines of `now` that are not in `before`, with blanks between. */
static void added(const char *before, char *now, char *ret, size_t size)
{
    ret[0] = '\0';
    for (char *line; (line = strsep(&now, "\n")) && *line;) {
        char whole[600], start[600];
        snprintf(whole, sizeof(whole), "\n%s\n", line);
        snprintf(start, sizeof(start), "%s\n", line);
        if (!strstr(before, whole) && strncmp(before, start, strlen(start)) != 0)
            snprintf(ret + strlen(ret), size - strlen(ret), "%s%s", *ret ? " " : "", line);
    }
}

static const char *const plain = "run --workers 2"; /* which would depend on the machine */

static const struct {
    const char *base, *words, *changes;
} rows[] = {
    {"run --workers 2", "--workers 1", "workers=1"},
    {"run --workers 2", "--workers 64", "workers=64"},
    {"run --workers 2", "--target http://h:1", "target0=http://h:1"},
    {"run --workers 2", "--target https://h --target http://g:2/",
     "target0=https://h target1=http://g:2"},
    {"run --workers 2", "--strategy setnx", "spec0=setnx,setnx,,-1,-1,-1,-1,-1,0"},
    {"run --workers 2", "--strategy none", "spec0=none,none,,-1,-1,-1,-1,-1,1"},
    {"run --workers 2", "--strategy setnx --expect-unsafe setnx",
     "spec0=setnx,setnx,,-1,-1,-1,-1,-1,1"},
    {"run --workers 2", "--strategy setnx --expect-unsafe a,setnx,b",
     "spec0=setnx,setnx,,-1,-1,-1,-1,-1,1"},
    {"run --workers 2", "--strategy setnx --expect-unsafe setnxx,setn",
     "spec0=setnx,setnx,,-1,-1,-1,-1,-1,0"},
    {"run --workers 2", "--strategy setnx:wait_ms=7 --expect-unsafe setnx:wait_ms=7",
     "spec0=setnx:wait_ms=7,setnx,,-1,7,-1,-1,-1,1"},
    {"run --workers 2", "--runs 5", "runs=5"},
    {"run --workers 2", "--item Q_1-x", "item=Q_1-x"},
    {"run --workers 2", "--stock 0", "stock=0"},
    {"run --workers 2", "--quantity 3", "quantity=3"},
    {"run --workers 2", "--lease-ms 1", "spec0=combined,combined,,1,-1,-1,-1,-1,0"},
    {"run --workers 2", "--wait-ms 2", "spec0=combined,combined,,-1,2,-1,-1,-1,0"},
    {"run --workers 2", "--wait-ms 10000", "spec0=combined,combined,,-1,10000,-1,-1,-1,0"},
    {"run --workers 2", "--wait-ms 10001",
     "timeout_ms=15001 spec0=combined,combined,,-1,10001,-1,-1,-1,0"},
    {"run --workers 2", "--hold-ms 3", "spec0=combined,combined,,-1,-1,3,-1,-1,0"},
    {"run --workers 2", "--per-user-limit 4", "spec0=combined,combined,,-1,-1,-1,4,-1,0"},
    {"run --workers 2", "--segments 5", "spec0=combined,combined,,-1,-1,-1,-1,5,0"},
    {"run --workers 2", "--durability disk", "spec0=combined,combined,disk,-1,-1,-1,-1,-1,0"},
    {"run --workers 2", "--admin-token t", "token=t"},
    {"run --workers 2", "--users 7", "users=7"},
    {"run --workers 2", "--think-ms 2.5", "think=2500000"},
    {"run --workers 2", "--think-ms 0", ""},
    {"run --workers 2", "--rate 10", "model=1 users=1000 rate=10"},
    {"run --workers 2", "--rate 10 --users 5", "model=1 users=5 rate=10"},
    {"run --workers 2", "--rate 10 --arrivals poisson", "model=1 users=1000 rate=10 poisson=1"},
    {"run --workers 2", "--rate 10 --arrivals constant", "model=1 users=1000 rate=10"},
    {"run --workers 2", "--seed 9", "seed=9"},
    {"run --workers 2", "--flash", "model=2 requests=100"},
    {"run --workers 2", "--flash --users 8", "model=2 users=8 requests=8"},
    {"run --workers 2", "--flash --requests 9", "model=2 requests=9"},
    {"run --workers 2", "--requests 1", "requests=1"},
    {"run --workers 2", "--duration 2s", "requests=0 duration=2000000000"},
    {"run --workers 2", "--duration 2s --requests 6", "requests=6 duration=2000000000"},
    {"run --workers 2", "--until-sold-out", "requests=0 until_sold_out=1"},
    {"run --workers 2", "--rotate", "rotate=1"},
    {"run --workers 2", "--same-names", "same_names=1"},
    {"run --workers 2", "--timeout-ms 8", "timeout_ms=8"},
    {"run --workers 2", "--retry 3", "retries=3"},
    {"run --workers 2", "--replay 0.25", "replay=0.25"},
    {"run --workers 2", "--expect-failover", "expect_failover=1"},
    {"run --workers 2", "--json a", "json=a"},
    {"run --workers 2", "--html a", "html=a"},
    {"run --workers 2", "--hgrm a", "hgrm=a"},
    {"run --workers 2", "--log a", "log=a"},
    {"run --workers 2", "--history a", "history=a"},
    {"run --workers 2", "--redis-info h:1 --redis-info h:2", "redis0=h:1 redis1=h:2"},
    {"run --workers 2", "--accept-counts", "accept_counts=1"},
    {"run --workers 2", "--fail-if p99>1s", "thresholds=1"},
    {"run --workers 2", "--details", "details=1"},
    {"run --workers 2", "--quiet", "quiet=1"},
    {"run --workers 2", "--preset contended", "preset=1"},
    {"run --workers 2", "--preset reference", "preset=2 stock=5000 think=10000000"},
    {"run --workers 2", "--preset reference --stock 3 --think-ms 0 --requests 2 --users 4",
     "preset=2 stock=3 users=4 requests=2"},
    {"run --workers 2", "--reserve-s 60",
     "reserve_s=60 confirm=0.7 cancel=0.1 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"run --workers 2", "--reserve-s 60 --per-user-limit 1",
     "reserve_s=60 confirm=0.7 cancel=0.1 spec0=combined,combined,,-1,-1,-1,1,-1,0"},
    {"run --workers 2", "--reserve-s 60 --confirm 0.95",
     "reserve_s=60 confirm=0.95 cancel=0.05 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"run --workers 2", "--reserve-s 60 --cancel 0.5",
     "reserve_s=60 confirm=0.5 cancel=0.5 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"run --workers 2", "--reserve-s 60 --cancel 0",
     "reserve_s=60 confirm=0.7 cancel=0 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"run --workers 2", "--reserve-s 60 --confirm 0",
     "reserve_s=60 confirm=0 cancel=0.1 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"run --workers 2", "--reserve-s 60 --confirm 0.5 --cancel 0.5",
     "reserve_s=60 confirm=0.5 cancel=0.5 spec0=combined,combined,,-1,-1,-1,1000000000,-1,0"},
    {"compare --workers 2", "--runs 1", "runs=1"},
    {"compare --workers 2", "--preset contended", "preset=1 needs_control=1"},
    {"compare --workers 2", "--run-length 1s", "run_length=1000000000"},
    {"compare --workers 2 --strategies a,b", "--wait-ms 1",
     "timeout_ms=15000 spec0=a,a,,-1,1,-1,-1,-1,0 spec1=b,b,,-1,1,-1,-1,-1,0"},
    {"compare --workers 2 --strategies a", "--wait-ms 30001",
     "timeout_ms=35001 spec0=a,a,,-1,30001,-1,-1,-1,0"},
};

static void each_option_has_its_place(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[512], err[512] = "", before[DUMP_MAX], now[DUMP_MAX], changes[1024];
        lt_options options;
        assert_true(parse(rows[i].base, &options, err, sizeof(err)));
        dump(&options, before);
        snprintf(line, sizeof(line), "%s %s", rows[i].base, rows[i].words);
        if (!parse(line, &options, err, sizeof(err)))
            fail_msg("%s: %s", line, err);
        dump(&options, now);
        added(before, now, changes, sizeof(changes));
        if (strcmp(changes, rows[i].changes) != 0)
            fail_msg("%s: %s", line, changes);
    }
}

static void what_is_not_said_is_filled_in(void **unused)
{
    (void)unused;
    char err[512] = "", text[DUMP_MAX];
    lt_options options;
    assert_true(parse(plain, &options, err, sizeof(err)));
    dump(&options, text);
    assert_string_equal(
        text, "command=0\nruns=1\nrun_length=0\npreset=0\naccept_counts=0\nneeds_control=0\n"
              "token=none\nitem=P0001\nstock=1000\nquantity=1\nreserve_s=0\nconfirm=-1\n"
              "cancel=-1\nmodel=0\nusers=100\nrequests=5000\nduration=0\nuntil_sold_out=0\n"
              "think=0\nrate=0\npoisson=0\nseed=1\nrotate=0\nsame_names=0\ntimeout_ms=15000\n"
              "retries=0\nreplay=0\nexpect_failover=0\nworkers=2\njson=none\nhtml=none\n"
              "hgrm=none\nlog=none\nhistory=none\ndiff0=none\ndiff1=none\nchart=none\nquiet=0\n"
              "details=0\nthresholds=0\nspec0=combined,combined,,-1,-1,-1,-1,-1,0\n"
              "target0=http://127.0.0.1:7000\ntarget1=http://127.0.0.1:7001\n"
              "target2=http://127.0.0.1:7002\n");
    assert_true(parse("compare --preset reference", &options, err, sizeof(err)));
    assert_int_equal(options.plan.runs, 3);
    assert_int_equal(options.plan.timeout_ms, 35000);
    assert_true(options.plan.needs_control);
    static const char *const names[] = {"none", "reentrant", "combined", "atomic"};
    assert_int_equal(options.plan.spec_count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(options.plan.specs[i].strategy, names[i]);
        assert_int_equal(options.plan.specs[i].wait_ms, 30000);
        assert_int_equal(options.plan.specs[i].expect_unsafe, i == 0);
    }
    assert_true(parse("compare --preset contended --reserve-s 9", &options, err, sizeof(err)));
    assert_false(options.plan.needs_control); /* none does not reserve */
    static const char *const reserving[] = {"fenced", "combined", "atomic", "batched"};
    assert_int_equal(options.plan.spec_count, COUNT(reserving));
    for (size_t i = 0; i < COUNT(reserving); i++)
        assert_string_equal(options.plan.specs[i].strategy, reserving[i]);
}

/* The rest of the line is not looked at, once help is asked for. */
static void the_first_word_is_the_command(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *has;
    } cases[] = {
        {"run", "command=0\n"},
        {"compare", "command=1\n"},
        {"compare a b", "command=2\n"},
        {"compare a b", "diff0=a\ndiff1=b\n"},
        {"compare --fail-if p99>+5% a b", "thresholds=1\n"},
        {"chart a --html h", "command=3\n"},
        {"chart --html=h a", "html=h\n"},
        {"chart a --html h", "chart=a\n"},
        {"help", "command=4\n"},
        {"--help", "command=4\n"},
        {"run --help", "command=4\n"},
        {"--help --nosuch", "command=4\n"},
        {"--version", "command=5\n"},
        {"run --version --nosuch", "command=5\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512] = "", text[DUMP_MAX];
        lt_options options;
        if (!parse(cases[i].line, &options, err, sizeof(err)))
            fail_msg("%s: %s", cases[i].line, err);
        dump(&options, text);
        if (!strstr(text, cases[i].has))
            fail_msg("%s: %s", cases[i].line, text);
    }
}

/* As many as fit, and one more. */
static void lists_have_a_longest_length(void **unused)
{
    (void)unused;
    static const struct {
        const char *start, *word, *said;
        int most;
    } lists[] = {
        {"run", " --target http://h", "too many targets", PLAN_TARGETS_MAX},
        {"run", " --redis-info h:1", "too many --redis-info", PLAN_TARGETS_MAX},
        {"run", " --fail-if p99>1s", "too many --fail-if", THRESHOLDS_MAX},
        {"compare --strategies a", ",a", "too many strategies", PLAN_SALES_MAX - 1},
    };
    for (size_t i = 0; i < COUNT(lists); i++) {
        char line[4096], err[512] = "";
        lt_options options;
        snprintf(line, sizeof(line), "%s", lists[i].start);
        for (int n = 0; n < lists[i].most; n++)
            strncat(line, lists[i].word, sizeof(line) - strlen(line) - 1);
        if (!parse(line, &options, err, sizeof(err)))
            fail_msg("%s: %s", lists[i].word, err);
        strncat(line, lists[i].word, sizeof(line) - strlen(line) - 1);
        assert_false(parse(line, &options, err, sizeof(err)));
        assert_string_equal(err, lists[i].said);
    }
}

/* Each numeric option at its ends, and one step beyond. */
static void numbers_are_held_to_their_limits(void **unused)
{
    (void)unused;
    static const struct {
        const char *option, *low, *below, *high, *above;
    } limits[] = {
        {"--runs", "1", "0", "99", "100"},
        {"--stock", "0", "-1", "1000000000", "1000000001"},
        {"--quantity", "1", "0", "1000000", "1000001"},
        {"--lease-ms", "0", "-1", "86400000", "86400001"},
        {"--wait-ms", "0", "-1", "86400000", "86400001"},
        {"--hold-ms", "0", "-1", "86400000", "86400001"},
        {"--per-user-limit", "0", "-1", "1000000000", "1000000001"},
        {"--segments", "1", "0", "1024", "1025"},
        {"--users", "1", "0", "60000", "60001"},
        {"--think-ms", "0", "-0.1", "3600000", "3600000.1"},
        {"--rate", "0.001", "0.0009", "10000000", "10000000.1"},
        {"--seed", "0", "-1", "4611686018427387904", "9223372036854775808"},
        {"--requests", "1", "0", "1000000000", "1000000001"},
        {"--timeout-ms", "1", "0", "3600000", "3600001"},
        {"--retry", "0", "-1", "100", "101"},
        {"--replay", "0", "-0.1", "1", "1.1"},
        {"--workers", "1", "0", "64", "65"},
        {"--duration", "1us", "0", "7h", "169h"},
        {"--reserve-s", "1", "0", "43200", "43201"},
    };
    for (size_t i = 0; i < COUNT(limits); i++) {
        const char *values[] = {limits[i].low, limits[i].high, limits[i].below, limits[i].above};
        for (int j = 0; j < 4; j++) {
            char line[128], err[512] = "";
            lt_options options;
            snprintf(line, sizeof(line), "run %s %s", limits[i].option, values[j]);
            bool good = parse(line, &options, err, sizeof(err));
            if (good != (j < 2) || (!good && !strstr(err, limits[i].option)))
                fail_msg("%s: %s, %s", line, good ? "accepted" : "refused", err);
        }
    }
}

/* A run whose option has a value of so many letters. */
static bool takes(const char *option, const char *start, size_t length, lt_options *options)
{
    char line[1024], err[256];
    int at = snprintf(line, sizeof(line), "run %s%s", option, start);
    for (size_t i = strlen(start); i < length; i++)
        at += snprintf(line + at, sizeof(line) - (size_t)at, "a");
    return parse(line, options, err, sizeof(err));
}

/* The longest that is accepted is kept whole. */
static void texts_have_their_room(void **unused)
{
    (void)unused;
    static const char *const schemes[] = {"http://", "https://"};
    static const size_t lengths[] = {0, 1, 2, 64, 65};
    lt_options options;
    for (size_t i = 0; i < COUNT(schemes); i++) {
        size_t len = strlen(schemes[i]);
        assert_false(takes("--target=", schemes[i], len, &options));
        assert_true(takes("--target=", schemes[i], len + 1, &options));
        assert_int_equal(strlen(options.plan.targets[0]), len + 1);
        assert_true(takes("--target=", schemes[i], PLAN_TARGET_MAX, &options));
        assert_int_equal(options.plan.target_count, 1);
        assert_int_equal(strlen(options.plan.targets[0]), PLAN_TARGET_MAX);
        assert_false(takes("--target=", schemes[i], PLAN_TARGET_MAX + 1, &options));
    }
    for (size_t i = 0; i < COUNT(lengths); i++)
        assert_int_equal(takes("--item=", "", lengths[i], &options), i >= 1 && i <= 3);
    for (size_t len = 0; len <= 40; len++)
        assert_int_equal(takes("--durability=", "", len, &options), len >= 1 && len < 32);
}

/* Also for a second. */
static void who_reserves_compares_strategies_that_can(void **unused)
{
    (void)unused;
    lt_options options;
    char err[256];
    assert_true(parse("compare", &options, err, sizeof(err)));
    assert_string_equal(options.plan.specs[0].strategy, "none");
    assert_true(parse("compare --reserve-s 1", &options, err, sizeof(err)));
    assert_string_equal(options.plan.specs[0].strategy, "fenced");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_has_its_place),
        cmocka_unit_test(what_is_not_said_is_filled_in),
        cmocka_unit_test(the_first_word_is_the_command),
        cmocka_unit_test(lists_have_a_longest_length),
        cmocka_unit_test(numbers_are_held_to_their_limits),
        cmocka_unit_test(texts_have_their_room),
        cmocka_unit_test(who_reserves_compares_strategies_that_can),
    };
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
