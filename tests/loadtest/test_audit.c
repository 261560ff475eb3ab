/*
 * Requests whose outcome is unknown: asked for one by one, for as long as it takes, against what
 * the ledger lists.
 */
#include "tests/loadtest/run/waiter_service.h"
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/service/audit.h"

#define ARGS(...)    ((const char *const[]){__VA_ARGS__, NULL})
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void what_became_of_the_unknown(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--unknown-every 10", "", "SAFE", NULL},
        {"--unknown-every 10 --final-after-ms 1500", "", "SAFE", NULL},
        {"--unknown-every 200 --final-after-ms 1000", "", "SAFE", NULL},          /* a single one */
        {"--unknown-every 10 --lie found.request=\"another\"", "", "SAFE", NULL}, /* no answer */
        {"--unknown-every 10 --lie found.user=\"mallory\"", "", "LOST", "not as said"},
        {"--unknown-every 10 --lie found.user=\"mallory\"", "--same-names", "LOST", "not as said"},
        {"--unknown-every 10 --lie found.item=\"P0002\"", "", "LOST", "not as said"},
        {"--unknown-every 10 --lie found.sale=\"s9\"", "", "LOST", "not as said"},
        {"--unknown-every 10 --lie found.quantity=2", "", "LOST", "not as said"},
        {"--unknown-every 10 --lie missing.status=200", "", "LOST", "not as said"},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* Asked for as long as the terms of this sale allow a request to be under way; then, when the
 * answer never becomes final, nothing can be said. Two shops at a time, for it takes its time. */
static void patience_follows_the_terms_of_the_sale(void **unused)
{
    (void)unused;
    static const struct {
        const char *final_after_ms, *wait_ms;
        int exit_code;
    } table[] = {{"28000", "26000", 0}, {"1000000", "0", 3}};
    fx_stub *stubs[2];
    fx_process *runs[2];
    for (int i = 0; i < 2; i++) {
        stubs[i] = fx_stub_start(
            ARGS("--unknown-every", "100", "--final-after-ms", table[i].final_after_ms));
        runs[i] = fx_load_spawn(stubs[i], "run",
                                ARGS("--stock", "100", "--requests", "200", "--users", "10",
                                     "--wait-ms", table[i].wait_ms));
    }
    for (int i = 0; i < 2; i++) {
        fx_load *load = fx_load_finish(runs[i]);
        assert_int_equal(load->exit_code, table[i].exit_code);
        assert_true(fx_load_number(load, "unknown") == 2);
        assert_true(fx_load_invalid_because(load, "stay unknown") == (i == 1));
        fx_load_free(load);
        fx_stub_stop(stubs[i]);
    }
}

/* Five times a second at most: who is in trouble needs no further load. The answers here say
 * nothing, and the last question is for the ledger. */
static void an_open_outcome_is_not_asked_for_all_the_time(void **unused)
{
    (void)unused;
    enum { PATIENCE_MS = 1000, QUESTIONS_MOST = PATIENCE_MS / 200 + 1 };
    waiter_service service;
    service_start(&service);
    atomic_store(&service.may_answer, true);
    lt_plan plan = {.item = "P0001", .quantity = 1, .target_count = 1, .users = 1, .requests = 1};
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "%s", service.url);
    lt_sale_spec spec = {.strategy = "fair"};
    lt_run_state state = {.plan = &plan, .key_prefix = "k", .sale = "s1"};
    int64_t ticket;
    assert_true(run_state_init(&state, 1));
    assert_true(run_state_ticket(&state, 0, &ticket));
    tally_keep_receipt(&state.tallies.items[0],
                       (lt_receipt){.ticket = ticket, .kind = RECEIPT_UNKNOWN, .remaining = -1});
    lt_http *http = http_new(NULL);
    mono_ns before = clock_now();
    lt_audit audit = audit_check(http, &state, &spec, PATIENCE_MS * NS_PER_MS);
    assert_true(clock_now() - before >= PATIENCE_MS * NS_PER_MS);
    assert_in_range(atomic_load(&service.asked), 2, QUESTIONS_MOST + 1);
    assert_int_equal(audit.unknown, 1);
    assert_int_equal(audit.ledger, LEDGER_BROKEN);
    assert_string_equal(audit.broken, "not a page of orders (page 1)");
    http_free(http);
    run_state_release(&state);
    service_stop(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_outcome_is_not_asked_for_all_the_time),
        cmocka_unit_test(what_became_of_the_unknown),
        cmocka_unit_test(patience_follows_the_terms_of_the_sale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
