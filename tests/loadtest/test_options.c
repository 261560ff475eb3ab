/*
 * The command line: what is refused, what is filled in.
 */
#include "tests/support/fixture.h"

#include "loadtest/cli/options.h"

#include <math.h>
#include <string.h>

static bool parse(char *line, lt_options *options, char *err, size_t err_len)
{
    char *argv[32] = {(char *)"loadtest"}, *word;
    int argc = 1;
    while ((word = strsep(&line, " ")) != NULL)
        argv[argc++] = word;
    return options_parse(argc, argv, options, err, err_len);
}

typedef struct mistake {
    const char *line, *words; /* and what is said of it */
} mistake;

static void are_named(const mistake *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lt_options options;
        char line[128], err[512] = "";
        snprintf(line, sizeof(line), "%s", table[i].line);
        if (parse(line, &options, err, sizeof(err)))
            fail_msg("accepted: %s", table[i].line);
        if (strstr(err, table[i].words) == NULL)
            fail_msg("\"%s\" gave: %s", table[i].line, err);
    }
}

static void mistakes_on_the_command_line_are_named(void **unused)
{
    (void)unused;
    static const mistake table[] = {
        {"", "expected run, compare"},
        {"walk", "expected run, compare"},
        {"--quiet", "the first word must be run, compare, chart or verify"},
        {"--quiet --users", "--users needs a value"},
        {"run --nosuch 1", "no such option: --nosuch"},
        {"run --users", "--users needs a value"},
        {"run --users 0", "--users: \"0\" is not a number from 1"},
        {"run --users=12x", "--users: \"12x\""},
        {"run --target 127.0.0.1:7000", "needs a URL"},
        {"run --target http://", "needs a URL"},
        {"run --target http:///", "needs a URL"},
        {"run --target http://h:1/path", "scheme, host and port only"},
        {"run --target http://h:1//", "scheme, host and port only"},
        {"run --target http://h:1?", "scheme, host and port only"},
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
        {"run --run-length 1s", "--run-length is for compare"},
        {"compare --run-length 1s --rate 10", "closed model"},
        {"compare --run-length 1s --flash", "closed model"},
        {"compare --run-length 1s --duration 3s", "a number of requests"},
        {"compare --run-length 1s --until-sold-out", "a number of requests"},
        {"compare --run-length 0s", "--run-length can not be"},
        {"run --quiet=yes", "no such option"},
        {"compare a.json", "two result files"},
        {"chart", "a bench file and --html FILE"},
        {"chart a.json", "a bench file and --html FILE"},
        {"chart --html a.html", "a bench file and --html FILE"},
        {"chart a.json b.json --html a.html", "expected options"},
        {"chart a.json --html a.html --users 5", "no --users here"},
        {"--json=b.json chart a.json --html a.html", "no --json=b.json here"},
        {"compare a.json b.json c.json", "expected options"},
        {"compare a.json b.json --users 5", "runs nothing: no --users here"},
        {"--quiet compare a.json b.json --fail-if p99>1", "no --quiet here"},
        {"compare --fail-if p99>+10%", "--fail-if p99>+10% is a change"},
        {"run --fail-if throughput<-5%", "for compare BEFORE AFTER"},
    };
    are_named(table, COUNT(table));
}

static void presets_fill_in_what_was_not_given(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], first[] = "run --preset contended";
    assert_true(parse(first, &o, err, sizeof(err)));
    assert_int_equal(o.plan.stock, 1000);
    assert_int_equal(o.plan.requests, 5000);
    assert_int_equal(o.plan.run_length, 0);
    assert_int_equal(o.plan.users, 100);
    assert_int_equal(o.plan.think, 0);
    char second[] = "compare --preset reference --users 7 --strategies none,setnx:wait_ms=0";
    assert_true(parse(second, &o, err, sizeof(err)));
    assert_int_equal(o.plan.stock, 5000);
    assert_int_equal(o.plan.users, 7);
    assert_int_equal(o.plan.think, 10 * NS_PER_MS);
    assert_int_equal(o.plan.runs, 3);
    assert_int_equal(o.plan.spec_count, 2);
    assert_int_equal(o.plan.specs[0].wait_ms, 30000);
    assert_int_equal(o.plan.specs[1].wait_ms, 0);
    assert_string_equal(o.plan.specs[1].strategy, "setnx");
    assert_string_equal(o.plan.specs[1].label, "setnx:wait_ms=0");
    assert_true(o.plan.timeout_ms > 30000);
    assert_int_equal(o.plan.target_count, 3);
    char third[] = "run --preset reference --think-ms 0 --stock 0";
    assert_true(parse(third, &o, err, sizeof(err)));
    assert_int_equal(o.plan.think, 0);
    assert_int_equal(o.plan.stock, 0);
}

static void mistakes_about_reservations_are_named(void **unused)
{
    (void)unused;
    static const mistake table[] = {
        {"run --confirm 0.5", "are for orders that --reserve-s has reserved"},
        {"run --cancel 0", "are for orders that --reserve-s has reserved"},
        {"run --reserve-s 0", "--reserve-s: \"0\" is not a number from 1"},
        {"run --reserve-s 43201", "from 1 to 43200"},
        {"run --reserve-s 9 --confirm 1.1", "--confirm: \"1.1\" is not a number from 0 to 1"},
        {"run --reserve-s 9 --confirm 0.6 --cancel 0.5", "no more than 1 together"},
        {"run --reserve-s 9 --strategy fair", "fair does not reserve; fenced,combined,atomic"},
        {"compare --reserve-s 9 --strategies atomic,none", "none does not reserve"},
        {"run --reserve-s 9 --per-user-limit 0", "a --per-user-limit of 1 or more"},
        {"run --reserve-s 9 --strategy atomic:per_user_limit=0", "a --per-user-limit of 1 or more"},
    };
    are_named(table, COUNT(table));
}

static void what_is_not_said_of_reservations(void **unused)
{
    (void)unused;
    static const struct {
        const char *line;
        double confirm, cancel;
        long limit;
    } table[] = {{"run --reserve-s 9", 0.7, 0.1, 1000000000},
                 {"run --reserve-s 9 --confirm 1", 1, 0, 1000000000},
                 {"run --reserve-s 9 --cancel 0.5", 0.5, 0.5, 1000000000},
                 {"run --reserve-s 9 --confirm 0 --cancel 0 --per-user-limit 3", 0, 0, 3}};
    lt_options o;
    char err[512];
    for (size_t i = 0; i < COUNT(table); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s", table[i].line);
        assert_true(parse(line, &o, err, sizeof(err)));
        assert_int_equal(lround(o.plan.confirm * 1000), lround(table[i].confirm * 1000));
        assert_int_equal(lround(o.plan.cancel * 1000), lround(table[i].cancel * 1000));
        assert_int_equal(o.plan.specs[0].per_user_limit, table[i].limit);
    }
    char several[] = "compare --preset contended --reserve-s 9", none[] = "run";
    assert_true(parse(several, &o, err, sizeof(err)));
    assert_int_equal(o.plan.spec_count, 4);
    assert_string_equal(o.plan.specs[0].strategy, "fenced");
    assert_false(o.plan.needs_control);
    assert_true(parse(none, &o, err, sizeof(err)));
    assert_int_equal(o.plan.reserve_s, 0);
    assert_int_equal(o.plan.specs[0].per_user_limit, SALE_NOT_GIVEN);
}

/* A buyer waits 5 s longer than the longest lock, and 15 s at least. */
static void buyers_outwait_the_lock(void **unused)
{
    (void)unused;
    static const struct {
        const char *line;
        long timeout_ms;
    } table[] = {{"run", 15000},
                 {"run --wait-ms 10001", 15001},
                 {"run --wait-ms 9999", 15000},
                 {"compare --strategies a:wait_ms=20000,b:wait_ms=40000,c:wait_ms=30000", 45000},
                 {"run --wait-ms 20000 --timeout-ms 7", 7}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_options o;
        char line[128], err[512] = "";
        snprintf(line, sizeof(line), "%s", table[i].line);
        if (!parse(line, &o, err, sizeof(err)))
            fail_msg("%s: %s", table[i].line, err);
        assert_int_equal(o.plan.timeout_ms, table[i].timeout_ms);
    }
}

/* Of each text as many letters as there may be, and one more. */
static void texts_have_a_longest_length(void **unused)
{
    (void)unused;
    static const struct {
        const char *before;
        size_t letters;
        const char *words;
    } table[] = {{"run --item ", 64, "--item needs 1 to 64"},
                 {"run --durability ", 31, "--durability can not be"},
                 {"run --target http://", PLAN_TARGET_MAX - 7, "scheme, host and port only"}};
    for (size_t i = 0; i < COUNT(table); i++) {
        for (size_t more = 0; more < 3; more++) {
            lt_options o;
            size_t letters = more == 2 ? 0 : table[i].letters + more;
            char line[512], err[512] = "";
            int length = snprintf(line, sizeof(line), "%s", table[i].before);
            memset(line + length, 'a', letters);
            line[(size_t)length + letters] = '\0';
            if (parse(line, &o, err, sizeof(err)) != (more == 0) ||
                (more == 1 && !strstr(err, table[i].words)))
                fail_msg("%s and %zu letters: %s", table[i].before, letters, err);
        }
    }
}

static void limits_decide_when_a_run_ends(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], first[] = "run --duration 2s", second[] = "run --flash --users 300";
    char third[] = "run --rate 50 --requests 10", fourth[] = "run",
         fifth[] = "run --until-sold-out";
    assert_true(parse(first, &o, err, sizeof(err)));
    assert_int_equal(o.plan.requests, 0);
    assert_int_equal(o.plan.duration, 2 * NS_PER_S);
    assert_true(parse(second, &o, err, sizeof(err)));
    assert_int_equal(o.plan.model, MODEL_FLASH);
    assert_int_equal(o.plan.requests, 300);
    assert_true(parse(third, &o, err, sizeof(err)));
    assert_int_equal(o.plan.model, MODEL_OPEN);
    assert_int_equal(o.plan.users, 1000);
    assert_true(parse(fourth, &o, err, sizeof(err)));
    assert_int_equal(o.plan.requests, 5000);
    assert_true(parse(fifth, &o, err, sizeof(err)));
    assert_int_equal(o.plan.requests, 0);
}

/* What is given wins; then the preset; then what the model has. */
static void the_load_is_what_was_given(void **unused)
{
    (void)unused;
    static const struct {
        const char *line;
        lt_model model;
        long stock, requests, users, think_ms, runs;
    } table[] = {
        {"run", MODEL_CLOSED, 1000, 5000, 100, 0, 1},
        {"compare", MODEL_CLOSED, 1000, 5000, 100, 0, 3},
        {"run --rate 9", MODEL_OPEN, 1000, 5000, 1000, 0, 1},
        {"run --flash", MODEL_FLASH, 1000, 100, 100, 0, 1},
        {"run --flash --requests 9", MODEL_FLASH, 1000, 9, 100, 0, 1},
        {"run --flash --users 9", MODEL_FLASH, 1000, 9, 9, 0, 1},
        {"run --flash --duration 1s", MODEL_FLASH, 1000, 100, 100, 0, 1},
        {"run --duration 1s", MODEL_CLOSED, 1000, 0, 100, 0, 1},
        {"run --until-sold-out", MODEL_CLOSED, 1000, 0, 100, 0, 1},
        {"run --duration 1s --requests 8", MODEL_CLOSED, 1000, 8, 100, 0, 1},
        {"run --stock 7 --requests 8 --users 9 --think-ms 6 --runs 5", MODEL_CLOSED, 7, 8, 9, 6, 5},
        {"run --think-ms 0", MODEL_CLOSED, 1000, 5000, 100, 0, 1},
        {"run --preset contended", MODEL_CLOSED, 1000, 5000, 100, 0, 1},
        {"run --preset contended --flash", MODEL_FLASH, 1000, 5000, 100, 0, 1},
        {"run --preset contended --rate 9", MODEL_OPEN, 1000, 5000, 100, 0, 1},
        {"run --preset contended --duration 1s", MODEL_CLOSED, 1000, 5000, 100, 0, 1},
        {"run --preset reference", MODEL_CLOSED, 5000, 5000, 100, 10, 1},
        {"run --preset reference --think-ms 0", MODEL_CLOSED, 5000, 5000, 100, 0, 1},
        {"compare --preset reference --stock 7 --requests 8 --users 9 --think-ms 6 --runs 2",
         MODEL_CLOSED, 7, 8, 9, 6, 2},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_options o;
        char line[128], err[512] = "";
        snprintf(line, sizeof(line), "%s", table[i].line);
        if (!parse(line, &o, err, sizeof(err)))
            fail_msg("%s: %s", table[i].line, err);
        if (o.plan.model != table[i].model || o.plan.stock != table[i].stock ||
            o.plan.requests != table[i].requests || o.plan.users != table[i].users ||
            o.plan.think != table[i].think_ms * NS_PER_MS || o.plan.runs != table[i].runs)
            fail_msg("%s: stock %ld, requests %ld, %d users, %d runs", table[i].line, o.plan.stock,
                     o.plan.requests, o.plan.users, o.plan.runs);
    }
}

/* As many sales as fit, and one more; a name counts whole. */
static void a_list_of_strategies_has_its_limit(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512];
    for (int more = 0; more < 2; more++) {
        char line[1024] = "compare --strategies a";
        for (int i = 1; i < PLAN_SALES_MAX + more; i++)
            strncat(line, ",b", sizeof(line) - strlen(line) - 1);
        bool good = parse(line, &o, err, sizeof(err));
        assert_int_equal(good, more == 0);
        assert_true(good ? o.plan.spec_count == PLAN_SALES_MAX
                         : strstr(err, "too many strategies") != NULL);
    }
    char line[] = "compare --strategies ab,abc,b,bc --expect-unsafe xab,abc,,c";
    static const bool unsafe[] = {false, true, false, false};
    assert_true(parse(line, &o, err, sizeof(err)));
    for (int i = 0; i < 4; i++)
        assert_int_equal(o.plan.specs[i].expect_unsafe, unsafe[i]);
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
        assert_int_equal(o.plan.specs[i].expect_unsafe, expected[i]);
}

static void a_trailing_slash_is_no_path(void **unused)
{
    (void)unused;
    lt_options o;
    char err[512], line[] = "run --target http://h:1/ --target=https://h/ --target http://h";
    assert_true(parse(line, &o, err, sizeof(err)));
    assert_int_equal(o.plan.target_count, 3);
    assert_string_equal(o.plan.targets[0], "http://h:1");
    assert_string_equal(o.plan.targets[1], "https://h");
    assert_string_equal(o.plan.targets[2], "http://h");
}

static void help_has_a_short_name(void **unused)
{
    (void)unused;
    static const char *const lines[] = {"-h", "--help", "run -h", "compare --users 5 -h"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        lt_options o;
        char line[64], err[512] = "";
        snprintf(line, sizeof(line), "%s", lines[i]);
        if (!parse(line, &o, err, sizeof(err)) || o.command != COMMAND_HELP)
            fail_msg("%s: %s", lines[i], err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_on_the_command_line_are_named),
        cmocka_unit_test(presets_fill_in_what_was_not_given),
        cmocka_unit_test(mistakes_about_reservations_are_named),
        cmocka_unit_test(what_is_not_said_of_reservations),
        cmocka_unit_test(buyers_outwait_the_lock),
        cmocka_unit_test(texts_have_a_longest_length),
        cmocka_unit_test(limits_decide_when_a_run_ends),
        cmocka_unit_test(the_load_is_what_was_given),
        cmocka_unit_test(a_list_of_strategies_has_its_limit),
        cmocka_unit_test(negative_controls_are_declared),
        cmocka_unit_test(a_trailing_slash_is_no_path),
        cmocka_unit_test(help_has_a_short_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
