/*
 * What loadtest says about shops that are sound, broken, dead, slow, or too small: verdict, exit
 * code, accounts, named errors.
 */
#include "tests/support/fixture.h"
#include "tests/support/http.h"
#include "tests/support/stub.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static fx_stub *stub; /* of the running case; the teardown stops it, also after a failure */

static int stop_stub(void **unused)
{
    (void)unused;
    fx_stub_stop(stub);
    stub = NULL;
    return 0;
}

/* Every request must be accounted for, whatever happened. */
static void assert_accounts_balance(const fx_load *load)
{
    double sum = fx_load_number(load, "completed") + fx_load_number(load, "failed") +
                 fx_load_number(load, "unfinished");
    assert_true(fx_load_number(load, "issued") == sum);
}

static void a_sound_shop_is_safe(void **unused)
{
    (void)unused;
    static const char *const members[] = {"stock",
                                          "users",
                                          "limit_reached",
                                          "unavailable",
                                          "latency_ms.mean",
                                          "latency_by_outcome.sold.p99",
                                          "latency_by_outcome.sold_out.p99",
                                          "latency_by_outcome.all.p999",
                                          "lock_wait_ms.p99",
                                          "sellout_s",
                                          "fairness"};
    stub = fx_stub_start(FX_ARGS("--ports", "3", "--delay-us", "2000"));
    fx_load *load = fx_load_run(
        stub, "run", FX_ARGS("--preset", "contended", "--users", "50", "--replay", "0.2"));
    assert_int_equal(load->exit_code, 0);
    assert_string_equal(fx_load_text(load, "verdict"), "SAFE");
    for (size_t i = 0; i < COUNT(members); i++) {
        if (isnan(fx_load_number(load, members[i])))
            fail_msg("%s is no number", members[i]);
    }
    assert_true(fx_load_number(load, "sold") == 1000);
    assert_true(fx_load_number(load, "sold_out") == 4000);
    assert_true(isnan(fx_load_number(load, "latency_ms.p999"))); /* 1,000 samples are too few */
    assert_true(fx_load_number(load, "replays") > 100);
    /* Kept alive: not one for each of 5,000 requests. A greeting may be repeated. */
    assert_in_range((int)fx_load_number(load, "connections"), 50, 100);
    assert_true(cJSON_GetObjectItem(load->json, "schema")->valueint == 1);
    assert_non_null(cJSON_GetObjectItem(load->json, "environment"));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(load->json, "samples")), 1);
    assert_accounts_balance(load);
    assert_non_null(strstr(load->text, "\nSAFE  sold 1,000 of 1,000, each to one buyer"));
    assert_null(strstr(load->text, "\033"));
    /* Users are sticky and evenly spread: each target answered a good part. */
    const cJSON *target;
    cJSON_ArrayForEach(target, cJSON_GetObjectItem(load->row, "targets"))
        assert_true(cJSON_GetObjectItem(target, "answers")->valuedouble > 1000);
    fx_load_free(load);
}

static void declared_negative_controls_may_break(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--defect", "oversell"));
    static const struct {
        const char *strategy, *expected;
        int exit_code;
    } table[] = {{"none", "x", 0}, {"setnx", "setnx", 0}, {"setnx", "getset", 1}};
    for (size_t i = 0; i < 3; i++) {
        fx_load *load =
            fx_load_run(stub, "run",
                        FX_ARGS("--requests", "300", "--users", "4", "--stock", "10", "--strategy",
                                table[i].strategy, "--expect-unsafe", table[i].expected));
        assert_string_equal(fx_load_text(load, "verdict"), "OVERSOLD");
        assert_int_equal(load->exit_code, table[i].exit_code);
        fx_load_free(load);
    }
}

static void refusals_with_stock_left_undersell(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--busy-every", "3"));
    fx_load *load = fx_load_run(stub, "run",
                                FX_ARGS("--strategy", "setnx:wait_ms=0", "--stock", "1000",
                                        "--requests", "900", "--users", "10"));
    assert_string_equal(fx_load_text(load, "verdict"), "UNDERSOLD");
    assert_string_equal(fx_load_text(load, "strategy"), "setnx:wait_ms=0");
    assert_int_equal(load->exit_code, 1);
    assert_true(fx_load_number(load, "busy") == 300);
    assert_true(fx_load_number(load, "undersold") == 400);
    fx_load_free(load);
}

static void a_resetting_server_gives_named_errors(void **unused)
{
    (void)unused;
    static const char *const engines[][2] = {{"--users", "20"}, {"--rate", "2000"}};
    for (int i = 0; i < 2; i++) {
        stub = fx_stub_start(FX_ARGS("--reset-every", "50"));
        fx_load *load = fx_load_run(stub, "run",
                                    FX_ARGS("--stock", "100", "--requests", "1000", engines[i][0],
                                            engines[i][1], "--details"));
        assert_int_equal(fx_load_errors(load, "wait", "reset"), 20);
        assert_true(fx_load_number(load, "failed") == 20);
        assert_true(fx_load_number(load, "unknown") == 20);
        assert_accounts_balance(load);
        assert_non_null(strstr(load->text, "the server closed the connection hard"));
        fx_load_free(load);
        stop_stub(NULL);
    }
}

static void a_dead_target_is_named(void **unused)
{
    (void)unused;
    char url[64];
    stub = fx_stub_start(NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", fx_free_port());
    fx_load *load = fx_load_run(stub, "run", FX_ARGS("--target", url, "--requests", "100"));
    assert_int_equal(load->exit_code, 3);
    assert_string_equal(fx_load_text(load, "verdict"), "INVALID");
    assert_true(fx_load_invalid_because(load, url));
    assert_true(fx_load_invalid_because(load, "down"));
    fx_load_free(load);
}

static void more_users_than_server_threads_are_no_measurement(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--serve-connections", "20"));
    fx_load *load = fx_load_run(
        stub, "run", FX_ARGS("--users", "60", "--requests", "3000", "--timeout-ms", "60000"));
    assert_int_equal(load->exit_code, 3);
    assert_string_equal(fx_load_text(load, "verdict"), "INVALID");
    assert_true(fx_load_invalid_because(load, "more users than server threads"));
    /* No connection of the twenty is given up before its user is through. One whose greeting was
     * not answered in time, on a busy machine, made room for the greeting of another. */
    assert_true(fx_load_number(load, "users_starved") >= 40);
    assert_true(fx_load_errors(load, "warm-up", "timeout") >= 20);
    assert_accounts_balance(load);
    fx_load_free(load);
}

static void a_saturated_generator_is_no_measurement(void **unused)
{
    (void)unused;
    stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(
        stub, "run",
        FX_ARGS("--stock", "0", "--rate", "2000000", "--duration", "1s", "--workers", "1"));
    assert_int_equal(load->exit_code, 3);
    assert_string_equal(fx_load_text(load, "verdict"), "INVALID");
    assert_accounts_balance(load);
    fx_load_free(load);
}

/* An answer may come while libcurl still sends: then it may not wait for another event. */
static void a_quick_answer_is_noticed_at_once(void **unused)
{
    (void)unused;
    enum { TRIES = 5, LOOK_MS = 50 };
    double p90_ms = LOOK_MS;
    stub = fx_stub_start(NULL);
    for (int i = 0; i < TRIES && p90_ms >= LOOK_MS; i++) { /* or the machine was busy */
        fx_load *load = fx_load_run(stub, "run",
                                    FX_ARGS("--users", "1", "--requests", "200", "--stock", "200"));
        p90_ms = fx_load_number(load, "latency_ms.p90");
        fx_load_free(load);
    }
    assert_true(p90_ms < LOOK_MS);
}

/* ---- limits, interruption, engines ----------------------------------------------------------- */

static void thresholds_decide_the_exit_code(void **unused)
{
    (void)unused;
    static const struct {
        const char *fail_if;
        int exit_code;
    } table[] = {{"sold_out>300", 0},
                 {"sold_out>299", 2},
                 {"p50<1us", 0},
                 {"p50>1us", 2},
                 {"p99.9>10s", 3} /* too few samples to say */};
    stub = fx_stub_start(NULL);
    for (size_t i = 0; i < COUNT(table); i++) {
        fx_load *load = fx_load_run(stub, "run",
                                    FX_ARGS("--requests", "400", "--stock", "100", "--users", "4",
                                            "--fail-if", table[i].fail_if));
        assert_int_equal(load->exit_code, table[i].exit_code);
        fx_load_free(load);
    }
    fx_load *load = fx_load_run(stub, "run", FX_ARGS("--fail-if", "speed>1"));
    assert_int_equal(load->exit_code, 64);
    assert_non_null(strstr(load->text, "unknown metric"));
    fx_load_free(load);
}

/* Whether the shop has sold at least fifty. */
static bool has_sold(void *unused)
{
    char url[128];
    fx_reply reply;
    (void)unused;
    snprintf(url, sizeof(url), "%s/stock?item=P0001", fx_stub_url(stub, 0));
    int status = fx_http("GET", url, NULL, NULL, 2000, &reply);
    cJSON *json = cJSON_Parse(reply.body);
    const cJSON *orders = cJSON_GetObjectItem(json, "orders");
    bool sold = status == 200 && cJSON_IsNumber(orders) && orders->valuedouble >= 50;
    cJSON_Delete(json);
    fx_reply_free(&reply);
    return sold;
}

static void ctrl_c_gives_a_partial_report(void **unused)
{
    (void)unused;
    static const char *const engines[][2] = {{"--users", "10"}, {"--rate", "100"}};
    for (int i = 0; i < 2; i++) {
        stub = fx_stub_start(FX_ARGS("--delay-us", "20000"));
        fx_process *process = fx_load_spawn(stub, "run",
                                            FX_ARGS("--requests", "1000000", "--stock", "100000",
                                                    engines[i][0], engines[i][1], "--details"));
        assert_true(fx_wait_until(has_sold, NULL, 20000));
        fx_process_signal(process, SIGINT);
        fx_load *load = fx_load_finish(process);
        assert_int_equal(load->exit_code, 3);
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(load->row, "partial")));
        assert_true(fx_load_number(load, "sold") >= 50);
        assert_non_null(strstr(load->text, "PARTIAL REPORT"));
        assert_accounts_balance(load);
        fx_load_free(load);
        stop_stub(NULL);
    }
}

static void what_hangs_at_the_end_is_unfinished(void **unused)
{
    (void)unused;
    static const char *const engines[][2] = {{"--users", "200"}, {"--rate", "200"}};
    for (int i = 0; i < 2; i++) {
        /* Some answers come only after two minutes: not those of the sale that is held before. */
        stub = fx_stub_start(FX_ARGS("--delay-us", "0x40,120000000x5"));
        fx_process *process =
            fx_load_spawn(stub, "run",
                          FX_ARGS("--duration", "60s", "--timeout-ms", "60000", "--stock", "100000",
                                  engines[i][0], engines[i][1], "--details"));
        assert_true(fx_wait_until(has_sold, NULL, 20000));
        fx_process_signal(process, SIGTERM);
        fx_load *load = fx_load_finish(process);
        assert_int_equal(load->exit_code, 3);
        assert_true(fx_load_number(load, "completed") >= 50);
        assert_true(fx_load_number(load, "unfinished") >= 1);
        assert_accounts_balance(load);
        fx_load_free(load);
        stop_stub(NULL);
    }
}

static void runs_end_by_time_and_by_sell_out(void **unused)
{
    (void)unused;
    stub = fx_stub_start(FX_ARGS("--delay-us", "1000"));
    fx_load *load = fx_load_run(
        stub, "run", FX_ARGS("--users", "5", "--duration", "700ms", "--stock", "100000"));
    assert_int_equal(load->exit_code, 0);
    assert_true(fx_load_number(load, "elapsed_s") >= 0.6);
    assert_string_equal(fx_load_text(load, "stopped_by"), "time over");
    fx_load_free(load);
    load = fx_load_run(stub, "run", FX_ARGS("--users", "5", "--until-sold-out", "--stock", "300"));
    assert_int_equal(load->exit_code, 0);
    assert_true(fx_load_number(load, "sold") == 300);
    assert_true(fx_load_number(load, "sold_out") <= 5);
    assert_string_equal(fx_load_text(load, "stopped_by"), "sold out");
    fx_load_free(load);
}

static fx_load *press_the_button(void)
{
    stub = fx_stub_start(FX_ARGS("--ports", "2"));
    return fx_load_run(stub, "run", FX_ARGS("--flash", "--users", "10000", "--stock", "500"));
}

/* Again where the machine was too busy for the greetings of all, and the run says so. */
static void ten_thousand_users_press_the_button(void **unused)
{
    (void)unused;
    enum { TRIES = 3, INVALID = 3 };
    fx_load *load = press_the_button();
    for (int i = 1;
         i < TRIES && load->exit_code == INVALID && !fx_load_invalid_because(load, "ulimit -n");
         i++) {
        fx_load_free(load);
        fx_stub_stop(stub);
        load = press_the_button();
    }
    if (fx_load_invalid_because(load, "ulimit -n")) {
        fx_load_free(load);
        fx_skip("the descriptor limit here is below 10,000 connections");
    }
    assert_string_equal(fx_load_text(load, "verdict"), "SAFE");
    assert_int_equal(load->exit_code, 0);
    assert_true(fx_load_number(load, "issued") == 10000);
    assert_true(fx_load_number(load, "completed") == 10000);
    assert_true(fx_load_number(load, "sold") == 500);
    assert_true(fx_load_number(load, "connections") >= 10000); /* a greeting may be repeated */
    assert_accounts_balance(load);
    fx_load_free(load);
}

static void too_few_descriptors_are_not_blamed_on_the_shop(void **unused)
{
    (void)unused;
    static const char script[] = "ulimit -n 256 && exec \"$0\" run --target \"$1\" --users \"$2\" "
                                 "--quiet --json -";
    static const char *const users[] = {"200", "2000"}; /* of either engine */
    char path[512];
    stub = fx_stub_start(NULL);
    for (int i = 0; i < 2; i++) {
        fx_load *load = fx_load_finish(
            fx_spawn(FX_ARGS("sh", "-c", script, fx_build_path("loadtest", path, sizeof(path)),
                             fx_stub_url(stub, 0), users[i]),
                     true));
        assert_int_equal(load->exit_code, 3);
        assert_true(fx_load_invalid_because(load, "this process may have 256"));
        fx_load_free(load);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void strategies_take_turns_and_are_ranked(void **unused)
{
    (void)unused;
    char dir[256], json[300], html[300], text[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(json, sizeof(json), "%s/compare.json", dir);
    snprintf(html, sizeof(html), "%s/report.html", dir);
    stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(stub, "compare",
                                FX_ARGS("--strategies", "none,atomic,setnx:wait_ms=0", "--runs",
                                        "2", "--requests", "300", "--users", "5", "--stock", "100",
                                        "--html", html, "--details"));
    assert_int_equal(load->exit_code, 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(load->json, "runs")), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(load->json, "samples")), 6);
    assert_non_null(cJSON_GetObjectItem(load->row, "range"));
    assert_non_null(strstr(load->text, "x none")); /* --details */

    /* The same result file twice: nothing changed. */
    FILE *out = fopen(json, "w");
    char *printed = cJSON_Print(load->json);
    fputs(printed, out);
    fclose(out);
    free(printed);
    fx_load_free(load);
    load = fx_load_plain(FX_ARGS("compare", json, json));
    assert_int_equal(load->exit_code, 0);
    fx_load_free(load);
    load = fx_load_plain(FX_ARGS("compare", json, html));
    assert_int_equal(load->exit_code, 64);
    assert_non_null(strstr(load->text, "is not a result file"));
    fx_load_free(load);

    snprintf(text, sizeof(text),
             "grep -q '</html>' \"$1\" && ! grep -qiE "
             "'(src|href)=.?https?:|@import|url\\(http' \"$1\"");
    assert_int_equal(fx_shell(text, html, 10000), 0);
    fx_dir_remove(dir);
}

static double number_in(const cJSON *row, const char *name)
{
    return cJSON_GetObjectItem(row, name)->valuedouble;
}

/* Each sale is held once as planned, which tells what was sold; then for that long, which tells how
 * fast, with stock in proportion to its speed. */
static void runs_of_a_length_are_ranked(void **unused)
{
    (void)unused;
    enum { TURNS = 3, STOCK = 90, REQUESTS = 300 };
    stub = fx_stub_start(FX_ARGS("--delay-us", "1000"));
    fx_load *load =
        fx_load_run(stub, "compare",
                    FX_ARGS("--strategies", "atomic,fair", "--runs", "2", "--run-length", "200ms",
                            "--requests", "300", "--users", "5", "--stock", "90"));
    assert_int_equal(load->exit_code, 0);
    assert_non_null(strstr(load->text, "stock 90, 2 runs of 0.200 s; by throughput"));
    const cJSON *samples = cJSON_GetObjectItem(load->json, "samples"), *sample, *row;
    int number = 0;
    cJSON_ArrayForEach(sample, samples) {
        bool timed = number++ % TURNS > 0;
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(sample, "timed")), timed);
        if (timed) {
            assert_string_equal(cJSON_GetObjectItem(sample, "stopped_by")->valuestring,
                                "time over");
            assert_true(number_in(sample, "elapsed_s") > 0.19);
        } else {
            assert_true(number_in(sample, "stock") == STOCK);
            assert_true(number_in(sample, "requests") == REQUESTS);
            double units = number_in(sample, "throughput_rps") * 0.2 / 2;
            const cJSON *next = cJSON_GetArrayItem(samples, number);
            assert_true(fabs(number_in(next, "stock") - units) <= 1);
        }
    }
    assert_int_equal(number, 2 * TURNS);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(load->json, "runs")) {
        const cJSON *range =
            cJSON_GetObjectItem(cJSON_GetObjectItem(row, "range"), "throughput_rps");
        assert_true(number_in(row, "stock") == STOCK && number_in(row, "sold") == STOCK);
        assert_true(number_in(row, "requests") == REQUESTS && number_in(row, "runs") == 2);
        assert_true(number_in(row, "elapsed_s") > 0.19);
        assert_true(number_in(row, "throughput_rps") >= number_in(range, "low"));
        assert_true(number_in(row, "throughput_rps") <= number_in(range, "high"));
        assert_true(number_in(row, "rank") >= 1);
    }
    fx_load_free(load);
}

/* By preset, there must be an unlocked run, and it must sell wrongly, not just slowly; if it does
 * not, the load was too mild. */
static void a_missed_negative_control_proves_nothing(void **unused)
{
    (void)unused;
    static const struct {
        const char *option, *value, *strategy, *stock;
        int exit_code;
    } table[] = {{"--defect", "none", "none", "100", 3},
                 {"--defect", "oversell", "none", "100", 0},
                 {"--busy-every", "3", "none", "400", 3}, /* undersold: no more than busy */
                 {"--defect", "none", "atomic", "100", 3}};
    for (size_t i = 0; i < COUNT(table); i++) {
        stub = fx_stub_start(FX_ARGS(table[i].option, table[i].value));
        fx_load *load = fx_load_run(stub, "compare",
                                    FX_ARGS("--preset", "contended", "--strategies",
                                            table[i].strategy, "--runs", "1", "--requests", "400",
                                            "--users", "4", "--stock", table[i].stock));
        assert_int_equal(load->exit_code, table[i].exit_code);
        fx_load_free(load);
        stop_stub(NULL);
    }
}

static void help_and_mistakes_have_their_exit_codes(void **unused)
{
    (void)unused;
    static const struct {
        const char *argument, *second;
        int exit_code;
    } table[] = {{"--help", NULL, 0},        {"--version", NULL, 0},  {"--nosuch", NULL, 64},
                 {"walk", NULL, 64},         {"verify", "--help", 0}, {"verify", "-h", 0},
                 {"verify", "--nosuch", 64}, {"verify", NULL, 64}};
    for (size_t i = 0; i < COUNT(table); i++) {
        fx_load *load = fx_load_plain(FX_ARGS(table[i].argument, table[i].second));
        assert_int_equal(load->exit_code, table[i].exit_code);
        fx_load_free(load);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sound_shop_is_safe, stop_stub),
        cmocka_unit_test_teardown(declared_negative_controls_may_break, stop_stub),
        cmocka_unit_test_teardown(refusals_with_stock_left_undersell, stop_stub),
        cmocka_unit_test_teardown(a_resetting_server_gives_named_errors, stop_stub),
        cmocka_unit_test_teardown(a_dead_target_is_named, stop_stub),
        cmocka_unit_test_teardown(more_users_than_server_threads_are_no_measurement, stop_stub),
        cmocka_unit_test_teardown(a_saturated_generator_is_no_measurement, stop_stub),
        cmocka_unit_test_teardown(a_quick_answer_is_noticed_at_once, stop_stub),
        cmocka_unit_test_teardown(thresholds_decide_the_exit_code, stop_stub),
        cmocka_unit_test_teardown(ctrl_c_gives_a_partial_report, stop_stub),
        cmocka_unit_test_teardown(what_hangs_at_the_end_is_unfinished, stop_stub),
        cmocka_unit_test_teardown(runs_end_by_time_and_by_sell_out, stop_stub),
        cmocka_unit_test_teardown(ten_thousand_users_press_the_button, stop_stub),
        cmocka_unit_test_teardown(too_few_descriptors_are_not_blamed_on_the_shop, stop_stub),
        cmocka_unit_test_teardown(strategies_take_turns_and_are_ranked, stop_stub),
        cmocka_unit_test_teardown(runs_of_a_length_are_ranked, stop_stub),
        cmocka_unit_test_teardown(a_missed_negative_control_proves_nothing, stop_stub),
        cmocka_unit_test(help_and_mistakes_have_their_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
