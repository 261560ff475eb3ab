/*
 * What a buyer counts: runs in this process against the stub, whose script says exactly what each
 * counter must come to.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/run/run.h"

#include <curl/curl.h>
#include <math.h>

enum { REQUESTS = 300, USERS = 10, STOCK = 100, WORDS_MAX = 8, SOME = -1 };

typedef struct counted {
    int64_t sold, sold_out, busy, unknown, error; /* outcomes */
    int64_t completed, failed;
    int64_t retries;
} counted;

static const struct {
    const char *stub; /* its options */
    long retries;
    counted expected;
} cases[] = {
    {"", 0, {100, 200, .completed = 300}},
    {"--lie told.user=\"x\"", 0, {100, 200, .completed = 300}},
    {"--busy-every 3", 0, {100, 100, .busy = 100, .completed = 300}},
    {"--lie told.status=422", 0, {0, 200, .error = 100, .completed = 300}},
    {"--reset-every 50", 0, {100, 194, .unknown = 6, .completed = 294, .failed = 6}},
    /* Every second of the unknown ones has bought. */
    {"--unknown-every 10", 0, {95, 175, .unknown = 30, .completed = 300}},
    /* Each is asked again until it is settled. Seven has no divisor in common with USERS: buyers in
     * step would otherwise leave every unknown answer to the same one. */
    {"--unknown-every 7", 9, {100, 200, .completed = 300, .retries = SOME}},
};

static lt_plan plan_of(const fx_stub *stub, long retries)
{
    lt_plan plan = {.item = "P0001",
                    .stock = STOCK,
                    .quantity = 1,
                    .target_count = 1,
                    .users = USERS,
                    .requests = REQUESTS,
                    .workers = 1,
                    .runs = 1,
                    .spec_count = 1,
                    .retries = retries,
                    .timeout_ms = 20000};
    plan.specs[0] = sale_spec_none();
    snprintf(plan.specs[0].strategy, sizeof(plan.specs[0].strategy), "fair");
    snprintf(plan.specs[0].label, sizeof(plan.specs[0].label), "fair");
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "%s", fx_stub_url(stub, 0));
    return plan;
}

static void is_counted(size_t row, const char *name, int64_t found, int64_t expected)
{
    if (expected == SOME ? found <= 0 : found != expected)
        fail_msg("%s (retry %ld): %s is %lld, not %lld", cases[row].stub, cases[row].retries, name,
                 (long long)found, (long long)expected);
}

static void compare(size_t row, const lt_tally *tally)
{
    const counted *c = &cases[row].expected;
    const struct {
        const char *name;
        const lt_counter *counter;
        int64_t expected;
    } counters[] = {
        {"sold", &tally->outcomes[OUT_SOLD], c->sold},
        {"sold_out", &tally->outcomes[OUT_SOLD_OUT], c->sold_out},
        {"busy", &tally->outcomes[OUT_BUSY], c->busy},
        {"unknown", &tally->outcomes[OUT_UNKNOWN], c->unknown},
        {"error", &tally->outcomes[OUT_ERROR], c->error},
        {"limit", &tally->outcomes[OUT_LIMIT], 0},
        {"unavailable", &tally->outcomes[OUT_UNAVAILABLE], 0},
        {"issued", &tally->issued, REQUESTS},
        {"completed", &tally->completed, c->completed},
        {"failed", &tally->failed, c->failed},
        {"unfinished", &tally->unfinished, 0},
        {"retries", &tally->retries, c->retries},
        {"waited", &tally->waited, 0},
        {"unsent", &tally->unsent, 0},
        {"connects", &tally->connects, SOME},
        {"sold at the target", &tally->targets[0].sold, c->sold},
        {"failed at the target", &tally->targets[0].failed, c->failed},
    };
    for (size_t i = 0; i < COUNT(counters); i++)
        is_counted(row, counters[i].name, counter_get(counters[i].counter), counters[i].expected);
    assert_int_equal(histogram_count(tally_histogram(&tally->lag)), REQUESTS);
    assert_int_equal(histogram_count(tally_histogram(&tally->from_send)), REQUESTS);
    /* A request is some 140 bytes long, and an answer not much less. */
    assert_true(counter_get(&tally->bytes_sent) >= (int64_t)REQUESTS * 100);
    assert_true(counter_get(&tally->bytes_received) >= c->completed * 100);
}

/* Of what the run as a whole came to: when all was sold, if anybody was told; and, where no Redis
 * was named, nothing of what it cost there. */
static void check_whole(size_t row, const lt_result *result)
{
    if (cases[row].expected.sold == 0)
        assert_true(isnan(result->sellout_s));
    else
        assert_true(result->sellout_s > 0 && result->sellout_s <= result->elapsed_s);
    assert_true(isnan(result->costs.sale.redis_commands));
}

static void each_counter_is_what_the_script_makes_it(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *words[WORDS_MAX] = {NULL};
        char text[128], *rest = text;
        int n = 0;
        snprintf(text, sizeof(text), "%s", cases[i].stub);
        for (char *word; (word = strsep(&rest, " ")) && *word; n++)
            words[n] = word;
        fx_stub *stub = fx_stub_start(words);
        lt_plan plan = plan_of(stub, cases[i].retries);
        lt_comparison comparison = {.plan = &plan};
        assert_true(comparison_init(&comparison));
        run_all(&comparison, true, NULL);
        compare(i, row_shown(&comparison.rows[0])->tally);
        check_whole(i, row_shown(&comparison.rows[0]));
        comparison_release(&comparison);
        fx_stub_stop(stub);
    }
}

static int set_up(void **unused)
{
    (void)unused;
    return curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK;
}

static int tear_down(void **unused)
{
    (void)unused;
    curl_global_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_counter_is_what_the_script_makes_it),
    };
    return cmocka_run_group_tests_name("buyer", tests, set_up, tear_down);
}
